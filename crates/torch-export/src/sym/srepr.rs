//! From sympy's `srepr` to the infix form that sympy prints.
//!
//! It does not compute: `FloorDiv(s0, Integer(2))` becomes `FloorDiv(s0, 2)`, and what it has no operator
//! for keeps its name.

/// Nesting deeper than this is not read, so that hostile text can't exhaust the stack.
const MAX_DEPTH: usize = 64;

/// The infix form of an `srepr` text. `None` when it is none (an infix text often is not, and is best used as it is).
pub(crate) fn infix(text: &str) -> Option<String> {
    let mut p = Parser { rest: text.trim(), depth: 0 };
    let e = p.expr()?;
    p.rest.trim().is_empty().then_some(e.text)
}

/// An infix text and how tightly it binds.
struct Piece {
    text: String,
    binds: Binding,
}

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Relation,
    Sum,
    Product,
    Power,
    Atom,
}

impl Piece {
    fn atom(text: impl Into<String>) -> Piece {
        Piece { text: text.into(), binds: Binding::Atom }
    }

    fn number(text: String) -> Piece {
        let binds = if text.starts_with('-') { Binding::Sum } else { Binding::Atom };
        Piece { text, binds }
    }

    /// The text, in parentheses where it binds less tightly than its place.
    fn at(&self, place: Binding) -> String {
        if self.binds < place { format!("({})", self.text) } else { self.text.clone() }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(r) => {
                self.rest = r;
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !f(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn quoted(&mut self) -> Option<String> {
        let quote = if self.eat("'") { '\'' } else { self.eat("\"").then_some('"')? };
        let text = self.take_while(|c| c != quote).to_owned();
        self.rest = self.rest.strip_prefix(quote)?;
        Some(text)
    }

    fn expr(&mut self) -> Option<Piece> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.trim_start();
        let name = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let piece = match name {
            "true" | "false" | "True" | "False" | "oo" | "zoo" | "nan" => Piece::atom(name),
            "" => return None,
            _ if !self.eat("(") => return None,
            "Symbol" | "Dummy" => Piece::atom(self.leaf()?),
            "Integer" | "Float" => Piece::number(self.leaf()?),
            "Rational" => self.rational()?,
            _ => call(name, self.arguments()?),
        };
        self.depth -= 1;
        Some(piece)
    }

    /// The first argument as text; keyword arguments (assumptions, precision) are left out.
    fn leaf(&mut self) -> Option<String> {
        let quoted = self.quoted();
        let text = match quoted {
            Some(t) => t,
            None => self.take_while(|c| c != ',' && c != ')').trim().to_owned(),
        };
        self.take_while(|c| c != ')');
        self.eat(")").then_some(text)
    }

    fn rational(&mut self) -> Option<Piece> {
        let p = self.take_while(|c| c == '-' || c.is_ascii_digit()).to_owned();
        if !self.eat(",") {
            return None;
        }
        self.rest = self.rest.trim_start();
        let q = self.take_while(|c| c.is_ascii_digit());
        let text = format!("{p}/{q}");
        self.eat(")").then_some(Piece { text, binds: Binding::Product })
    }

    fn arguments(&mut self) -> Option<Vec<Piece>> {
        let mut args = Vec::new();
        if self.eat(")") {
            return Some(args);
        }
        loop {
            self.rest = self.rest.trim_start();
            let keyword = self.rest.find(['=', '(', ',', ')']).filter(|&i| self.rest[i..].starts_with('='));
            if keyword.is_some() {
                self.take_while(|c| c != ',' && c != ')');
            } else {
                args.push(self.expr()?);
            }
            if self.eat(")") {
                return Some(args);
            }
            if !self.eat(",") {
                return None;
            }
        }
    }
}

fn call(name: &str, args: Vec<Piece>) -> Piece {
    let join = |op: &str, binds: Binding, place: Binding| {
        let text = args.iter().map(|a| a.at(place)).collect::<Vec<_>>().join(op);
        Piece { text, binds }
    };
    let relation = |op: &str| join(op, Binding::Relation, Binding::Sum);
    match (name, args.as_slice()) {
        ("Add", [_, ..]) => join(" + ", Binding::Sum, Binding::Product),
        ("Mul", [_, ..]) => product(&args),
        ("Pow" | "PowByNatural", [b, k]) => {
            let text = format!("{}**{}", b.at(Binding::Atom), k.at(Binding::Atom));
            Piece { text, binds: Binding::Power }
        }
        ("LShift", [a, k]) => {
            Piece { text: format!("{}*2**{}", a.at(Binding::Power), k.at(Binding::Atom)), binds: Binding::Product }
        }
        ("RShift", [a, k]) => Piece::atom(format!("FloorDiv({}, 2**{})", a.text, k.at(Binding::Atom))),
        ("ModularIndexing", [a, d, m]) => Piece::atom(format!("Mod(FloorDiv({}, {}), {})", a.text, d.text, m.text)),
        ("Identity", [a]) => Piece { text: a.text.clone(), binds: a.binds },
        ("GreaterThan", [_, _]) => relation(" >= "),
        ("StrictGreaterThan", [_, _]) => relation(" > "),
        ("LessThan", [_, _]) => relation(" <= "),
        ("StrictLessThan", [_, _]) => relation(" < "),
        ("Equality", [_, _]) => relation(" == "),
        ("Unequality", [_, _]) => relation(" != "),
        ("And", [_, ..]) => join(" & ", Binding::Relation, Binding::Atom),
        ("Or", [_, ..]) => join(" | ", Binding::Relation, Binding::Atom),
        _ => Piece::atom(format!("{name}({})", join(", ", Binding::Relation, Binding::Relation).text)),
    }
}

/// A product, rational factors last: division is exact only after the multiplication.
fn product(args: &[Piece]) -> Piece {
    let is_ratio =
        |p: &&Piece| p.binds == Binding::Product && p.text.split_once('/').is_some_and(|(a, _)| !a.contains('*'));
    let mut text = args.iter().filter(|p| !is_ratio(p)).map(|a| a.at(Binding::Power)).collect::<Vec<_>>().join("*");
    for ratio in args.iter().filter(is_ratio) {
        let sep = if text.is_empty() { "" } else { "*" };
        text = match ratio.text.split_once('/') {
            Some(("1", q)) if !text.is_empty() => format!("{text}/{q}"),
            _ => format!("{text}{sep}{}", ratio.text),
        };
    }
    Piece { text, binds: Binding::Product }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::SymInt;

    fn s(text: &str) -> String {
        infix(text).unwrap()
    }

    #[test]
    fn reads_what_torch_writes() {
        let s77 = "Symbol('s77', positive=True, integer=True)";
        assert_eq!(s(s77), "s77");
        assert_eq!(s(&format!("Add(Mul(Integer(2), {s77}), Integer(-1))")), "2*s77 + (-1)");
        assert_eq!(s(&format!("Pow({s77}, Integer(2))")), "s77**2");
        assert_eq!(s(&format!("Mul(Integer(3), Max(Integer(1), {s77}))")), "3*Max(1, s77)");
        assert_eq!(s(&format!("FloorDiv(Add({s77}, Integer(9)), Integer(4))")), "FloorDiv(s77 + 9, 4)");
        assert_eq!(s(&format!("GreaterThan({s77}, Integer(0))")), "s77 >= 0");
        assert_eq!(s(&format!("Mul(Rational(1, 2), {s77}, Add({s77}, Integer(1)))")), "s77*(s77 + 1)/2");
        let t = format!("TruncToInt(Mul(Float('0.69999999999999996', precision=53), ToFloat({s77})))");
        assert_eq!(s(&t), "TruncToInt(0.69999999999999996*ToFloat(s77))");
    }

    #[test]
    fn what_has_no_expression_stays_text() {
        let t = "TruncToInt(ToFloat(Symbol('s0', integer=True)))";
        assert_eq!(
            SymInt::from_text(t, Some(3)),
            SymInt::Opaque { text: "TruncToInt(ToFloat(s0))".into(), hint: Some(3) }
        );
        let two = SymInt::from_text("Mul(Integer(2), Symbol('s0', integer=True))", None);
        assert!(two.same(&SymInt::from_text("s0 + s0", Some(4))));
        assert!(matches!(
            SymInt::from_text("Mul(Rational(1, 2), Mul(Integer(4), Symbol('s0')))", None),
            SymInt::Expr { .. }
        ));
        assert_eq!(SymInt::from_text("Integer(7)", None), SymInt::Int(7));
        assert_eq!(SymInt::from_text("s0//2", None).to_string(), "FloorDiv(s0, 2)");
    }

    #[test]
    fn hostile_text_is_no_expression() {
        for t in [
            "",
            "(",
            "Add(",
            "Symbol('",
            "Integer(1",
            "Rational(1)",
            "Add(=",
            ")))",
            "Symbol(é)x",
            &"Add(".repeat(100_000),
        ] {
            assert_eq!(infix(t), None, "{t:.20}");
        }
    }
}
