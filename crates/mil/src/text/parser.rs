//! The parser: programs, functions, blocks, ops. It goes on behind a statement that has a problem, so that one run
//! reports many; a value whose definition had a problem is known by name and gives no further ones.

use std::borrow::Cow;

use coremill_tensor::Data;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::BlobResolver;
use super::error::{ParseError, Problem};
use super::lexer::{Tok, Token, token};
use crate::{Attributes, BlockId, Const, Function, NewOp, OpKind, Opset, Place, Program, Type, ValueId};

/// Types, constants and blocks may nest this deeply.
const MAX_DEPTH: usize = 48;

/// After this many problems reading ends.
const MAX_PROBLEMS: usize = 20;

/// A problem was noted; the construct is given up.
#[derive(Debug)]
pub(super) struct Failed;

pub(super) type Result_<T> = Result<T, Failed>;

/// The parser's state: the current token, and what was found so far.
pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) tok: Token<'a>,
    pub(super) blobs: &'a dyn BlobResolver,
    depth: usize,
    problems: Vec<Problem>,
}

/// The values that can be seen, by identifier.
#[derive(Default)]
struct Scope<'a> {
    names: FxHashMap<&'a str, Seen>,
    /// What inner blocks covered or added, to put back at their ends.
    undo: Vec<(&'a str, Option<Seen>)>,
    depth: usize,
}

/// A value (`None`: its definition had a problem) and the depth of the block that defines it.
type Seen = (Option<ValueId>, usize);

/// An argument: a value, or a literal that becomes one.
enum Argument {
    Value(ValueId),
    Literal(Const),
}

/// A result: identifier, type.
type Declared<'a> = (&'a str, Type);

pub(super) fn parse(text: &str, blobs: &dyn BlobResolver) -> Result<Program, ParseError> {
    let mut p = Parser { text, tok: token(text, 0), blobs, depth: 0, problems: Vec::new() };
    let program = p.program();
    match program {
        Ok(program) if p.problems.is_empty() => Ok(program),
        _ => Err(ParseError { problems: p.problems }),
    }
}

// ---- tokens and problems ----------------------------------------------------------------------------------------

impl<'a> Parser<'a> {
    pub(super) fn bump(&mut self) {
        self.tok = token(self.text, self.tok.end);
    }

    fn peek(&self) -> Tok<'a> {
        token(self.text, self.tok.end).tok
    }

    pub(super) fn is(&self, p: u8) -> bool {
        self.tok.tok == Tok::Punct(p)
    }

    pub(super) fn eat(&mut self, p: u8) -> bool {
        let found = self.is(p);
        if found {
            self.bump();
        }
        found
    }

    /// `place` tells where, as the rest of a sentence.
    pub(super) fn expect(&mut self, p: u8, place: &str) -> Result_<()> {
        if self.eat(p) { Ok(()) } else { Err(self.unexpected(&format!("`{}` {place}", char::from(p)))) }
    }

    /// Takes a comma (true) or sees that the list ends (false).
    pub(super) fn comma_or(&mut self, end: u8) -> Result_<bool> {
        if self.eat(b',') {
            return Ok(true);
        }
        if self.is(end) { Ok(false) } else { Err(self.unexpected(&format!("`,` or `{}`", char::from(end)))) }
    }

    /// Notes that something else was expected than what is there.
    pub(super) fn unexpected(&mut self, expected: &str) -> Failed {
        let found = match self.tok.tok {
            Tok::End => "the end of the text".to_owned(),
            Tok::Bad(why) => why.to_owned(),
            Tok::Dots => "`...`, which stands for what was left out when the text was printed".to_owned(),
            _ => {
                let found = self.text.get(self.tok.start..self.tok.end).unwrap_or("");
                let short: String = found.chars().take(40).collect();
                format!("`{short}{}`", if short.len() < found.len() { "..." } else { "" })
            }
        };
        self.fail(self.tok, format!("expected {expected}, found {found}"))
    }

    /// Notes a problem with a token.
    pub(super) fn fail(&mut self, at: Token<'a>, message: String) -> Failed {
        self.fail_at(at.start, at.end, message)
    }

    pub(super) fn fail_at(&mut self, start: usize, end: usize, message: String) -> Failed {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::at(self.text, start, end, message));
        }
        if self.problems.len() >= MAX_PROBLEMS {
            self.tok = token(self.text, self.text.len());
        }
        Failed
    }

    /// Runs one level deeper, so that hostile text cannot exhaust the stack.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result_<T>) -> Result_<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(self.tok, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// The text from here to the next `,` or `]` that is not in parentheses, and goes there.
    pub(super) fn raw_until_dim_end(&mut self) -> &'a str {
        let start = self.tok.start;
        let rest = self.text.get(start..).unwrap_or("");
        let mut depth = 0usize;
        let mut len = rest.len();
        for (i, b) in rest.bytes().enumerate() {
            match b {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => len = i,
                b']' | b'\n' | b'>' | b';' => len = i,
                _ => continue,
            }
            if len == i {
                break;
            }
        }
        self.tok = token(self.text, start + len);
        rest.get(..len).unwrap_or("").trim()
    }

    /// Goes behind the end of a statement that had a problem: the next `;` that is not in a nested block, or before
    /// the `}` that ends this block.
    fn skip_statement(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.tok.tok {
                Tok::End => return,
                Tok::Punct(b'{') => depth += 1,
                Tok::Punct(b'}') if depth == 0 => return,
                Tok::Punct(b'}') => depth -= 1,
                Tok::Punct(b';') if depth == 0 => return self.bump(),
                _ => {}
            }
            self.bump();
        }
    }

    fn ident(&mut self, what: &str) -> Result_<&'a str> {
        let Tok::Ident(name) = self.tok.tok else { return Err(self.unexpected(what)) };
        self.bump();
        Ok(name)
    }

    /// A name of the signature, of an op, parameter or attribute: a word, or a string where it is none.
    fn name(&mut self, what: &str) -> Result_<String> {
        match self.tok.tok {
            Tok::Ident(name) => {
                self.bump();
                Ok(name.to_owned())
            }
            Tok::Str(_) => self.string(),
            _ => Err(self.unexpected(what)),
        }
    }
}

// ---- program and functions --------------------------------------------------------------------------------------

impl<'a> Parser<'a> {
    fn program(&mut self) -> Result_<Program> {
        let mut program = Program { version: 1, ..Program::default() };
        let has_header = self.tok.tok == Tok::Ident("program");
        if has_header {
            self.bump();
            self.expect(b'(', "after `program`")?;
            let at = self.tok;
            match at.tok {
                Tok::Number(s) if s == "1" || s.starts_with("1.") => self.bump(),
                _ => return Err(self.unexpected("a version of MIL text that is known here, 1.0 or 1.3")),
            }
            self.expect(b')', "after the version")?;
            program.attributes = self.attributes()?;
            self.expect(b'{', "before the functions")?;
        }
        while self.tok.tok == Tok::Ident("func") {
            let start = self.tok;
            let (name, f) = self.function()?;
            if program.functions.insert(name.clone(), f).is_some() {
                self.fail(start, format!("there is already a function `{name}`"));
            }
        }
        if has_header {
            if !self.is(b'}') {
                return Err(self.unexpected("`func` or `}`"));
            }
            self.bump();
        }
        if self.tok.tok != Tok::End {
            let expected = match (has_header, program.functions.is_empty()) {
                (true, _) => "the end of the text",
                (false, true) => "`program` or `func`",
                (false, false) => "`func` or the end of the text",
            };
            return Err(self.unexpected(expected));
        }
        if program.functions.is_empty() {
            return Err(self.unexpected("`func`: a program has at least one function"));
        }
        Ok(program)
    }

    fn function(&mut self) -> Result_<(String, Function)> {
        self.bump();
        let name = self.name("the name of the function")?;
        self.expect(b'<', "before the opset")?;
        let at = self.tok;
        let word = self.ident("an opset")?;
        let opset = word.parse::<Opset>().ok().or_else(|| Opset::from_proto_name(word));
        let Some(opset) = opset else {
            let known = "ios15, ios16, ios17 and ios18";
            return Err(self.fail(at, format!("`{word}` is not an opset that is known here: there are {known}")));
        };
        self.expect(b'>', "after the opset")?;
        let mut f = Function::new(opset);
        let mut scope = Scope::default();
        self.expect(b'(', "before the inputs of the function")?;
        while !self.is(b')') && (f.inputs().is_empty() || self.comma_or(b')')?) {
            let ty = self.ty()?;
            let at = self.tok;
            let (public, local) = self.public_name("the name of the input")?;
            let v = f.add_input(f.body(), public, ty);
            self.define(&mut scope, at, local, Some(v));
        }
        self.expect(b')', "after the inputs")?;
        f.attributes = self.attributes()?;
        self.expect(b'{', "before the ops of the function")?;
        let body = f.body();
        self.statements(&mut f, body, &mut scope)?;
        self.expect(b'(', "before the outputs")?;
        let (mut outputs, mut count) = (Vec::new(), 0);
        while !self.is(b')') && (count == 0 || self.comma_or(b')')?) {
            count += 1;
            let at = self.tok;
            let (public, local) = self.public_name("the name of an output")?;
            if let Ok(v) = self.lookup(&scope, at, local) {
                outputs.push((public, v));
            }
        }
        self.expect(b')', "after the outputs")?;
        f.set_outputs(outputs);
        *f.block_attributes_mut(body) = self.attributes()?;
        self.expect(b';', "after the function")?;
        Ok((name, f))
    }

    /// `name`, or `public = name`.
    fn public_name(&mut self, what: &str) -> Result_<(String, &'a str)> {
        if let (Tok::Ident(name), true) = (self.tok.tok, self.peek() != Tok::Punct(b'=')) {
            self.bump();
            return Ok((name.to_owned(), name));
        }
        let public = self.name(what)?;
        self.expect(b'=', "after a public name that is not the value's")?;
        Ok((public, self.ident("the name of a value")?))
    }

    /// Attributes in brackets, where there are any.
    fn attributes(&mut self) -> Result_<Attributes> {
        let mut all = IndexMap::new();
        if !self.eat(b'[') {
            return Ok(Attributes::new());
        }
        while !self.is(b']') && (all.is_empty() || self.comma_or(b']')?) {
            let at = self.tok;
            let name = self.name("the name of an attribute")?;
            self.expect(b'=', "after the name of an attribute")?;
            let value = self.typed_constant()?;
            if all.insert(name.clone(), value).is_some() {
                return Err(self.fail(at, format!("the attribute `{name}` is given twice")));
            }
        }
        self.expect(b']', "after the attributes")?;
        Ok(all.into_iter().collect())
    }
}

// ---- blocks and ops -----------------------------------------------------------------------------------------------

impl<'a> Parser<'a> {
    /// Ops, then `}` and `->`.
    fn statements(&mut self, f: &mut Function, block: BlockId, scope: &mut Scope<'a>) -> Result_<()> {
        while !self.is(b'}') && self.tok.tok != Tok::End {
            let mut results = Vec::new();
            if self.statement(f, block, scope, &mut results).is_err() {
                for (at, (name, _)) in results {
                    self.define(scope, at, name, None);
                }
                self.skip_statement();
            }
        }
        self.expect(b'}', "after the ops")?;
        if self.tok.tok != Tok::Arrow {
            return Err(self.unexpected("`->` and the outputs of the block"));
        }
        self.bump();
        Ok(())
    }

    /// `T a, T b = op(x = y)[attributes] {blocks};`. The results are left in `results` when it fails.
    fn statement(
        &mut self,
        f: &mut Function,
        block: BlockId,
        scope: &mut Scope<'a>,
        results: &mut Vec<(Token<'a>, Declared<'a>)>,
    ) -> Result_<()> {
        let is_op = matches!(self.tok.tok, Tok::Ident(_) | Tok::Str(_)) && self.peek() == Tok::Punct(b'(');
        if !is_op {
            loop {
                let ty = self.ty()?;
                let at = self.tok;
                results.push((at, (self.ident("the name of a result")?, ty)));
                if !self.eat(b',') {
                    break;
                }
            }
            self.expect(b'=', "after the results")?;
        }
        let type_name = self.name("the type of an op")?;
        let kind = OpKind::from_name(&type_name).unwrap_or(OpKind::Unknown);
        let mut new = NewOp::new(kind);
        new.unknown_type = (kind == OpKind::Unknown).then_some(type_name);
        let inputs = self.inputs(scope)?;
        let at = self.tok;
        new.attributes = self.attributes()?;
        if let Some(name) = new.attributes.remove("name") {
            match name.as_str() {
                Some(name) => new.name = Some(name.to_owned()),
                None => return Err(self.fail(at, "the attribute `name` must be a string".to_owned())),
            }
        }
        new.outputs = results.iter().map(|(_, (name, ty))| ((*name).to_owned(), ty.clone())).collect();
        let wish = results.first().map_or("", |(_, (name, _))| name);
        for (param, args) in inputs {
            let mut values = SmallVec::new();
            for (i, arg) in args.into_iter().enumerate() {
                values.push(match arg {
                    Argument::Value(v) => v,
                    Argument::Literal(c) => f.insert_const(Place::End(block), format!("{wish}_{param}_{i}"), c),
                });
            }
            new.inputs.push((Cow::Owned(param), values));
        }
        let op = f.insert(Place::End(block), new);
        while self.is(b'{') || self.is(b'(') {
            self.nested(|p| {
                let inner = f.add_block(op);
                p.block(f, inner, scope)
            })?;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';', "after the op")?;
        let values = f.op(op).outputs().to_vec();
        for ((at, (name, _)), v) in results.drain(..).zip(values) {
            self.define(scope, at, name, Some(v));
        }
        Ok(())
    }

    /// A nested block; what it defines is not seen behind it.
    fn block(&mut self, f: &mut Function, block: BlockId, scope: &mut Scope<'a>) -> Result_<()> {
        let before = scope.undo.len();
        scope.depth += 1;
        let result = self.block_inner(f, block, scope);
        scope.depth -= 1;
        while scope.undo.len() > before {
            match scope.undo.pop() {
                Some((name, Some(old))) => scope.names.insert(name, old),
                Some((name, None)) => scope.names.remove(name),
                None => break,
            };
        }
        result
    }

    fn block_inner(&mut self, f: &mut Function, block: BlockId, scope: &mut Scope<'a>) -> Result_<()> {
        if self.eat(b'(') {
            while !self.is(b')') && (f.block(block).inputs().is_empty() || self.comma_or(b')')?) {
                let ty = self.ty()?;
                let at = self.tok;
                let name = self.ident("the name of a block's input")?;
                let v = f.add_input(block, name, ty);
                self.define(scope, at, name, Some(v));
            }
            self.expect(b')', "after the inputs of the block")?;
        }
        self.expect(b'{', "before the ops of the block")?;
        self.statements(f, block, scope)?;
        self.expect(b'(', "before the outputs of the block")?;
        let (mut outputs, mut count) = (Vec::new(), 0);
        while !self.is(b')') && (count == 0 || self.comma_or(b')')?) {
            count += 1;
            let at = self.tok;
            let name = self.ident("the name of a value")?;
            outputs.extend(self.lookup(scope, at, name));
        }
        self.expect(b')', "after the outputs of the block")?;
        f.set_outputs_of(block, &outputs);
        *f.block_attributes_mut(block) = self.attributes()?;
        Ok(())
    }

    fn inputs(&mut self, scope: &Scope<'a>) -> Result_<IndexMap<String, Vec<Argument>>> {
        let mut all = IndexMap::new();
        self.expect(b'(', "before the arguments")?;
        while !self.is(b')') && (all.is_empty() || self.comma_or(b')')?) {
            let at = self.tok;
            let name = self.name("the name of a parameter")?;
            self.expect(b'=', "after the name of a parameter")?;
            let mut args = Vec::new();
            if self.eat(b'(') {
                while !self.is(b')') && (args.is_empty() || self.comma_or(b')')?) {
                    args.push(self.argument(scope)?);
                }
                self.expect(b')', "after the values of a list")?;
            } else {
                args.push(self.argument(scope)?);
            }
            if all.insert(name.clone(), args).is_some() {
                return Err(self.fail(at, format!("the parameter `{name}` is given twice")));
            }
        }
        self.expect(b')', "after the arguments")?;
        Ok(all)
    }

    fn argument(&mut self, scope: &Scope<'a>) -> Result_<Argument> {
        let at = self.tok;
        match at.tok {
            Tok::Ident(_) if matches!(self.peek(), Tok::Punct(b'<' | b'(')) => {
                Ok(Argument::Literal(self.typed_constant()?))
            }
            Tok::Ident(word @ ("true" | "false")) if !scope.names.contains_key(word) => {
                self.bump();
                Ok(Argument::Literal(Const::bool(word == "true")))
            }
            Tok::Ident(name) => {
                self.bump();
                Ok(Argument::Value(self.lookup(scope, at, name)?))
            }
            Tok::Str(_) => Ok(Argument::Literal(Const::string(self.string()?))),
            Tok::Number(s) => {
                let Ok(n) = s.parse::<i32>() else {
                    let why = "only an int32 may stand without its type; write `fp32(...)`, `fp16(...)` or such";
                    return Err(self.fail(at, why.to_owned()));
                };
                self.bump();
                Ok(Argument::Literal(Const::Tensor(Data::scalar(n))))
            }
            _ => Err(self.unexpected("a value, a constant with its type, or a list `(a, b)`")),
        }
    }

    // ---- names ----------------------------------------------------------------------------------------------------

    fn define(&mut self, scope: &mut Scope<'a>, at: Token<'a>, name: &'a str, v: Option<ValueId>) {
        let old = scope.names.insert(name, (v, scope.depth));
        if scope.depth > 0 {
            scope.undo.push((name, old));
        }
        if old.is_some_and(|(old, depth)| depth == scope.depth && old.is_some() && v.is_some()) {
            self.fail(at, format!("there is already a value `{name}` in this block"));
        }
    }

    fn lookup(&mut self, scope: &Scope<'a>, at: Token<'a>, name: &str) -> Result_<ValueId> {
        match scope.names.get(name) {
            Some((Some(v), _)) => Ok(*v),
            Some((None, _)) => Err(Failed),
            None => {
                Err(self.fail(at, format!("there is no value `{name}` here; values are defined before their uses")))
            }
        }
    }
}
