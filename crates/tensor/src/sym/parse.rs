//! The spelling of expressions: what sympy prints and Python reads.
//!
//! `+ - * // **`, parentheses, `FloorDiv CleanDiv PythonMod Mod Max Min`; an exponent is a number, and
//! true division is read only where it is exact.

use super::SymExpr;

/// Text that is not an expression this crate represents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no integer expression over symbols: {what} at byte {at}")]
pub struct ParseSymError {
    /// The whole text.
    pub text: String,
    /// Byte offset of the problem.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Nesting deeper than this is refused, so that hostile text can't exhaust the stack.
const MAX_DEPTH: usize = 64;

pub(super) fn parse(text: &str) -> Result<SymExpr, ParseSymError> {
    let mut p = Parser { text, at: 0, depth: 0 };
    let e = p.sum()?;
    p.skip_space();
    if p.at != text.len() { Err(p.error("unexpected text")) } else { Ok(e) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Result_ = Result<SymExpr, ParseSymError>;

impl Parser<'_> {
    fn error(&self, what: &'static str) -> ParseSymError {
        ParseSymError { text: self.text.to_owned(), at: self.at, what }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn checked(&self, e: Option<SymExpr>) -> Result_ {
        e.ok_or_else(|| self.error("too large, or divided by zero"))
    }

    fn sum(&mut self) -> Result_ {
        let mut e = self.product()?;
        loop {
            if self.eat("+") {
                let r = self.product()?;
                e = self.checked(e.add(&r))?;
            } else if self.eat("-") {
                let r = self.product()?;
                e = self.checked(e.sub(&r))?;
            } else {
                return Ok(e);
            }
        }
    }

    fn product(&mut self) -> Result_ {
        let mut e = self.unary()?;
        loop {
            if self.eat("//") {
                let r = self.unary()?;
                e = self.checked(e.floor_div(&r))?;
            } else if self.eat("/") {
                let r = self.unary()?;
                e = e.divide_exactly(&r).ok_or_else(|| self.error("a division that is not exact"))?;
            } else if self.eat("%") {
                let r = self.unary()?;
                e = self.checked(e.modulo(&r))?;
            } else if !self.rest().trim_start().starts_with("**") && self.eat("*") {
                let r = self.unary()?;
                e = self.checked(e.mul(&r))?;
            } else {
                return Ok(e);
            }
        }
    }

    fn unary(&mut self) -> Result_ {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let e = if self.eat("-") {
            let e = self.unary()?;
            self.checked(e.mul(&SymExpr::constant(-1)))
        } else {
            self.power()
        };
        self.depth -= 1;
        e
    }

    fn power(&mut self) -> Result_ {
        let base = self.primary()?;
        if !self.eat("**") {
            return Ok(base);
        }
        let k = self.unary()?.as_const().filter(|k| (0..=16).contains(k));
        let k = k.ok_or_else(|| self.error("a power that is no number from 0 to 16"))?;
        let mut e = SymExpr::constant(1);
        for _ in 0..k {
            e = self.checked(e.mul(&base))?;
        }
        Ok(e)
    }

    fn primary(&mut self) -> Result_ {
        if self.eat("(") {
            let e = self.sum()?;
            return if self.eat(")") { Ok(e) } else { Err(self.error("a missing `)`")) };
        }
        self.skip_space();
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let word: String = self.rest().chars().take_while(|&c| is_word(c)).collect();
        let start = self.at;
        self.at += word.len();
        match word.chars().next() {
            None => Err(self.error("a missing number or symbol")),
            Some(c) if c.is_ascii_digit() => word
                .parse()
                .map(SymExpr::constant)
                .map_err(|_| ParseSymError { at: start, ..self.error("no 64-bit number") }),
            Some(_) if self.eat("(") => self.call(&word, start),
            Some(_) => Ok(SymExpr::symbol(&word)),
        }
    }

    fn call(&mut self, name: &str, start: usize) -> Result_ {
        let mut args = vec![self.sum()?];
        while self.eat(",") {
            args.push(self.sum()?);
        }
        if !self.eat(")") {
            return Err(self.error("a missing `)`"));
        }
        let fold = |args: &[SymExpr], f: fn(&SymExpr, &SymExpr) -> Option<SymExpr>| {
            let (first, rest) = args.split_first()?;
            rest.iter().try_fold(first.clone(), |a, b| f(&a, b))
        };
        match (name, args.as_slice()) {
            ("FloorDiv" | "CleanDiv", [a, b]) => self.checked(a.floor_div(b)),
            ("Mod" | "PythonMod", [a, b]) => self.checked(a.modulo(b)),
            ("Max", _) => self.checked(fold(&args, SymExpr::maximum)),
            ("Min", _) => self.checked(fold(&args, SymExpr::minimum)),
            _ => Err(ParseSymError { at: start, ..self.error("an unknown function") }),
        }
    }
}
