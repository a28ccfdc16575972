//! The printer.

use rustc_hash::FxHashMap;

use super::literal::{self, put};
use super::{Names, PrintOptions, Spelling};
use crate::{BlockId, Const, Function, OpId, OpKind, Opset, Program, ValueId};

/// Remarks to show under ops, such as what a verifier found.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    by_op: FxHashMap<OpId, Vec<String>>,
    /// Remarks on the function as a whole, shown above it.
    pub function: Vec<String>,
}

impl Notes {
    /// No remarks.
    pub fn new() -> Notes {
        Notes::default()
    }

    /// Adds a remark under an op.
    pub fn add(&mut self, op: OpId, text: impl Into<String>) {
        self.by_op.entry(op).or_default().push(text.into());
    }

    /// Is there any?
    pub fn is_empty(&self) -> bool {
        self.by_op.is_empty() && self.function.is_empty()
    }
}

/// A program as text, in the layout of a compiled model's `model.mil`: no line break at the end.
pub fn print(program: &Program, options: &PrintOptions<'_>) -> String {
    let opset = program.opset().unwrap_or(Opset::Ios15);
    let options = PrintOptions { spelling: Some(options.spelling.unwrap_or(Spelling::of(opset))), ..*options };
    let terse = options.spelling == Some(Spelling::V1_3);
    let mut out = format!("program({})\n", if terse { "1.3" } else { "1.0" });
    if !program.attributes.is_empty() {
        literal::attributes(&mut out, &program.attributes, terse, options.elide_above);
        out.push('\n');
    }
    out.push_str("{\n");
    for (name, f) in &program.functions {
        out.push_str(&print_function(name, f, &options));
    }
    out.push('}');
    out
}

/// One function as text, with a line break at the end. It reads back without a program around it.
pub fn print_function(name: &str, f: &Function, options: &PrintOptions<'_>) -> String {
    print_annotated(name, f, options, &Notes::new())
}

/// One function as text with remarks under ops, as comments: the text still reads back.
///
/// With [`PrintOptions::context`] only the ops around those with remarks are shown.
pub fn print_annotated(name: &str, f: &Function, options: &PrintOptions<'_>, notes: &Notes) -> String {
    let names = Names::of(f);
    let mut p = Printer::new(f, &names, options, notes);
    p.function(name);
    p.out
}

/// One op as text, without its nested blocks, on one line. `names` are those of the whole function.
pub fn print_op(f: &Function, op: OpId, names: &Names, options: &PrintOptions<'_>) -> String {
    let notes = Notes::new();
    let mut p = Printer::new(f, names, options, &notes);
    p.op_head(op);
    if !f.op(op).blocks().is_empty() {
        p.out.push_str(" {...}");
    }
    p.out.push(';');
    p.out
}

/// Spaces before `func`; a block's end and its ops are set in twice as deep each.
const INDENT: usize = 4;

struct Printer<'a> {
    out: String,
    f: &'a Function,
    names: &'a Names,
    options: &'a PrintOptions<'a>,
    notes: &'a Notes,
    terse: bool,
}

impl<'a> Printer<'a> {
    fn new(f: &'a Function, names: &'a Names, options: &'a PrintOptions<'a>, notes: &'a Notes) -> Printer<'a> {
        let terse = options.spelling.unwrap_or(Spelling::of(f.opset)) == Spelling::V1_3;
        Printer { out: String::new(), f, names, options, notes, terse }
    }

    fn put(&mut self, args: std::fmt::Arguments<'_>) {
        put(&mut self.out, args);
    }

    fn line_start(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn function(&mut self, name: &str) {
        for note in &self.notes.function {
            self.note(INDENT, note);
        }
        self.line_start(INDENT);
        self.out.push_str("func ");
        literal::name(&mut self.out, name);
        self.put(format_args!("<{}>(", self.f.opset));
        for (i, &v) in self.f.inputs().iter().enumerate() {
            self.comma(i);
            literal::ty(&mut self.out, self.f.ty(v), self.terse);
            self.out.push(' ');
            self.public_as(&self.f.value(v).name, v);
        }
        self.out.push(')');
        if !self.f.attributes.is_empty() {
            self.out.push(' ');
            literal::attributes(&mut self.out, &self.f.attributes, self.terse, self.options.elide_above);
        }
        self.out.push_str(" {\n");
        let body = self.f.body();
        self.ops(body, 3 * INDENT);
        self.line_start(2 * INDENT);
        self.out.push_str("} -> (");
        for (i, (name, v)) in self.f.output_names().iter().zip(self.f.outputs()).enumerate() {
            self.comma(i);
            self.public_as(name, v);
        }
        self.out.push(')');
        self.block_attributes(body);
        self.out.push_str(";\n");
    }

    fn comma(&mut self, i: usize) {
        if i > 0 {
            self.out.push_str(", ");
        }
    }

    /// A value under its public name, with its identifier where that is another.
    fn public_as(&mut self, public: &str, v: ValueId) {
        literal::name(&mut self.out, public);
        let local = self.names.get(v);
        if public != local {
            self.put(format_args!(" = {local}"));
        }
    }

    fn block_attributes(&mut self, block: BlockId) {
        let attributes = &self.f.block(block).attributes;
        literal::attributes(&mut self.out, attributes, self.terse, self.options.elide_above);
    }

    fn ops(&mut self, block: BlockId, indent: usize) {
        let ops: Vec<OpId> = self.f.ops_in(block).collect();
        let shown = self.shown(&ops);
        let mut hidden = 0;
        for (&op, show) in ops.iter().zip(shown) {
            if !show {
                hidden += 1;
                continue;
            }
            self.hidden(&mut hidden, indent);
            self.line_start(indent);
            self.op_head(op);
            self.nested(op, indent);
            self.out.push(';');
            if self.options.origins {
                self.origin(op);
            }
            self.out.push('\n');
            for note in self.notes.by_op.get(&op).into_iter().flatten() {
                self.note(indent, note);
            }
        }
        self.hidden(&mut hidden, indent);
    }

    fn hidden(&mut self, count: &mut usize, indent: usize) {
        if *count > 0 {
            self.line_start(indent);
            self.put(format_args!("// ... {count} ops\n"));
            *count = 0;
        }
    }

    /// Which ops of a block to show: all, or those near a remark.
    fn shown(&self, ops: &[OpId]) -> Vec<bool> {
        let Some(context) = self.options.context.filter(|_| !self.notes.is_empty()) else {
            return vec![true; ops.len()];
        };
        let mut shown = vec![false; ops.len()];
        let mut from = 0;
        for (i, op) in ops.iter().enumerate() {
            if self.notes.by_op.contains_key(op) || !self.f.op(*op).blocks().is_empty() {
                let end = i.saturating_add(context).saturating_add(1).min(ops.len());
                from = from.max(i.saturating_sub(context));
                shown[from.min(end)..end].fill(true);
                from = end;
            }
        }
        shown
    }

    fn note(&mut self, indent: usize, text: &str) {
        for (i, line) in text.lines().enumerate() {
            self.line_start(indent);
            self.put(format_args!("// {} {line}\n", if i == 0 { "->" } else { "  " }));
        }
    }

    fn origin(&mut self, op: OpId) {
        let origin = &self.f.op(op).origin;
        let clean = |s: &str| s.replace(['\n', '\r'], " ");
        if let Some(s) = &origin.source {
            self.put(format_args!(" // from {} = {}", clean(&s.name), clean(&s.target)));
            if !s.module_path.is_empty() {
                self.put(format_args!(" in {}", clean(&s.module_path)));
            }
        }
        let passes = origin.passes();
        if !passes.is_empty() {
            let passes: Vec<String> = passes.into_iter().map(clean).collect();
            self.put(format_args!("{} by {}", if origin.source.is_some() { ";" } else { " //" }, passes.join(", ")));
        }
    }

    fn op_head(&mut self, id: OpId) {
        let op = self.f.op(id);
        for (i, &v) in op.outputs().iter().enumerate() {
            self.comma(i);
            if !self.options.names_only {
                literal::ty(&mut self.out, self.f.ty(v), self.terse);
                self.out.push(' ');
            }
            self.out.push_str(self.names.get(v));
        }
        if !op.outputs().is_empty() {
            self.out.push_str(" = ");
        }
        literal::name(&mut self.out, op.type_name());
        self.out.push('(');
        for (i, (name, args)) in op.inputs().enumerate() {
            self.comma(i);
            literal::name(&mut self.out, name);
            self.out.push_str(" = ");
            let many = args.len() != 1;
            if many {
                self.out.push('(');
            }
            for (k, v) in args.enumerate() {
                self.comma(k);
                self.out.push_str(self.names.get(v));
            }
            if many {
                self.out.push(')');
            }
        }
        self.out.push(')');
        if !self.options.names_only || op.kind == OpKind::Const {
            self.op_attributes(id);
        }
    }

    /// `name` stands where the alphabet puts it: files sort attributes.
    fn op_attributes(&mut self, id: OpId) {
        let op = self.f.op(id);
        let mut name = op.name.as_deref().filter(|_| !self.options.names_only);
        if name.is_none() && op.attributes.is_empty() {
            return;
        }
        self.out.push('[');
        let mut count = 0;
        for (attribute, c) in op.attributes.iter() {
            if let Some(name) = name.take_if(|_| attribute > "name") {
                self.op_name(name, &mut count);
            }
            self.comma(count);
            count += 1;
            literal::name(&mut self.out, attribute);
            self.out.push_str(" = ");
            self.op_constant(id, attribute, c);
        }
        if let Some(name) = name {
            self.op_name(name, &mut count);
        }
        self.out.push(']');
    }

    fn op_name(&mut self, name: &str, count: &mut usize) {
        self.comma(*count);
        *count += 1;
        self.out.push_str("name = ");
        literal::constant(&mut self.out, &Const::string(name), self.terse, None);
    }

    fn op_constant(&mut self, id: OpId, attribute: &str, c: &Const) {
        let blob = match (self.options.blobs, c) {
            (Some(place), Const::Tensor(d)) => place(id, attribute, d),
            _ => None,
        };
        let Some(blob) = blob else {
            return literal::constant(&mut self.out, c, self.terse, self.options.elide_above);
        };
        literal::ty(&mut self.out, &c.ty(), self.terse);
        let (string, uint64) =
            if self.terse { ("string", "uint64") } else { ("tensor<string, []>", "tensor<uint64, []>") };
        self.put(format_args!("(BLOBFILE(path = {string}("));
        literal::string(&mut self.out, &blob.path);
        self.put(format_args!("), offset = {uint64}({})))", blob.offset));
    }

    fn nested(&mut self, op: OpId, indent: usize) {
        for (i, &b) in self.f.op(op).blocks().iter().enumerate() {
            self.out.push_str(if i > 0 { ", " } else { " " });
            let block = self.f.block(b);
            if !block.inputs().is_empty() {
                self.out.push('(');
                for (i, &v) in block.inputs().iter().enumerate() {
                    self.comma(i);
                    if !self.options.names_only {
                        literal::ty(&mut self.out, self.f.ty(v), self.terse);
                        self.out.push(' ');
                    }
                    self.out.push_str(self.names.get(v));
                }
                self.out.push_str(") ");
            }
            self.out.push_str("{\n");
            self.ops(b, indent + 2 * INDENT);
            self.line_start(indent + INDENT);
            self.out.push_str("} -> (");
            for (i, v) in block.outputs().enumerate() {
                self.comma(i);
                self.out.push_str(self.names.get(v));
            }
            self.out.push(')');
            self.block_attributes(b);
        }
    }
}
