//! Integer expressions over symbols, for extents that depend on the input.
//!
//! An expression is kept as a canonical sum of products, so two that are equal by the ring laws compare
//! equal; what the ring laws don't cover (`//`, `Mod`, `Max`, `Min`, ...) is an atom with canonical
//! arguments. It promises that equality is sound (equal means the same number for every binding), not that
//! it is complete. No crate serves here: computer-algebra crates carry rationals, floats and their own
//! licence terms, and this needs a few ring operations with checked 64-bit coefficients.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

mod parse;
pub use parse::ParseSymError;

/// A canonical integer expression. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymExpr(Arc<Sum>);

/// Terms by monomial; no zero coefficient is kept. The empty monomial holds the constant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Sum(BTreeMap<Monomial, i64>);

/// Atoms and their powers, sorted; powers are at least 1.
type Monomial = Vec<(Atom, u32)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Atom {
    Symbol(Arc<str>),
    Call(Function, Vec<SymExpr>),
}

/// The functions that are atoms, with the name that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Function {
    FloorDiv,
    Mod,
    Max,
    Min,
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Function::FloorDiv => "FloorDiv",
            Function::Mod => "Mod",
            Function::Max => "Max",
            Function::Min => "Min",
        }
    }

    fn eval(self, a: i64, b: i64) -> Option<i64> {
        match self {
            // Floors, as Python and torch do; the divisor decides the sign of the remainder.
            Function::FloorDiv => {
                let q = a.checked_div(b)?;
                if a % b != 0 && (a < 0) != (b < 0) { q.checked_sub(1) } else { Some(q) }
            }
            Function::Mod => {
                let r = a.checked_rem(b)?;
                if r != 0 && (r < 0) != (b < 0) { r.checked_add(b) } else { Some(r) }
            }
            Function::Max => Some(a.max(b)),
            Function::Min => Some(a.min(b)),
        }
    }
}

impl SymExpr {
    /// A number.
    pub fn constant(n: i64) -> SymExpr {
        let mut s = Sum::default();
        s.add_term(Vec::new(), n);
        SymExpr(Arc::new(s))
    }

    /// A symbol.
    pub fn symbol(name: &str) -> SymExpr {
        SymExpr::atom(Atom::Symbol(name.into()))
    }

    fn atom(a: Atom) -> SymExpr {
        SymExpr(Arc::new(Sum(BTreeMap::from([(vec![(a, 1)], 1)]))))
    }

    /// The number, where the expression is one.
    pub fn as_const(&self) -> Option<i64> {
        match self.0.0.len() {
            0 => Some(0),
            1 => self.0.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The name, where the expression is one symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        let (m, &c) = self.0.0.first_key_value()?;
        match (m.as_slice(), c, self.0.0.len()) {
            ([(Atom::Symbol(s), 1)], 1, 1) => Some(s),
            _ => None,
        }
    }

    /// Sum; `None` on overflow. The same holds for the other operations.
    pub fn add(&self, o: &SymExpr) -> Option<SymExpr> {
        let mut s = (*self.0).clone();
        for (m, &c) in &o.0.0 {
            s.add_checked(m.clone(), c)?;
        }
        Some(SymExpr(Arc::new(s)))
    }

    /// Difference.
    pub fn sub(&self, o: &SymExpr) -> Option<SymExpr> {
        self.add(&o.mul(&SymExpr::constant(-1))?)
    }

    /// Product. An expression of more than 256 terms is refused, so that hostile input can't grow one.
    pub fn mul(&self, o: &SymExpr) -> Option<SymExpr> {
        if self.0.0.len().saturating_mul(o.0.0.len()) > 256 {
            return None;
        }
        let mut s = Sum::default();
        for (ma, &ca) in &self.0.0 {
            for (mb, &cb) in &o.0.0 {
                s.add_checked(join(ma, mb)?, ca.checked_mul(cb)?)?;
            }
        }
        Some(SymExpr(Arc::new(s)))
    }

    /// Quotient, floored. Exact where every term divides (`(4*s0) // 2` is `2*s0`).
    pub fn floor_div(&self, o: &SymExpr) -> Option<SymExpr> {
        if o.as_const() == Some(0) {
            return None;
        }
        if let Some(q) = self.divide_exactly(o) {
            return Some(q);
        }
        self.call(Function::FloorDiv, o)
    }

    /// Remainder with the sign of the divisor.
    pub fn modulo(&self, o: &SymExpr) -> Option<SymExpr> {
        if o.as_const() == Some(0) {
            return None;
        }
        if self.divide_exactly(o).is_some() {
            return Some(SymExpr::constant(0));
        }
        self.call(Function::Mod, o)
    }

    /// The greater.
    pub fn maximum(&self, o: &SymExpr) -> Option<SymExpr> {
        if self == o { Some(self.clone()) } else { self.call(Function::Max, o) }
    }

    /// The lesser.
    pub fn minimum(&self, o: &SymExpr) -> Option<SymExpr> {
        if self == o { Some(self.clone()) } else { self.call(Function::Min, o) }
    }

    fn call(&self, f: Function, o: &SymExpr) -> Option<SymExpr> {
        if let (Some(a), Some(b)) = (self.as_const(), o.as_const()) {
            return f.eval(a, b).map(SymExpr::constant);
        }
        let mut args = vec![self.clone(), o.clone()];
        if matches!(f, Function::Max | Function::Min) {
            args.sort();
        }
        Some(SymExpr::atom(Atom::Call(f, args)))
    }

    /// The quotient by a single term, when every term is a multiple of it.
    fn divide_exactly(&self, o: &SymExpr) -> Option<SymExpr> {
        let (dm, &dc) = o.0.0.first_key_value()?;
        if o.0.0.len() != 1 {
            return None;
        }
        let mut s = Sum::default();
        for (m, &c) in &self.0.0 {
            if c.checked_rem(dc)? != 0 {
                return None;
            }
            s.add_checked(quotient(m, dm)?, c.checked_div(dc)?)?;
        }
        Some(SymExpr(Arc::new(s)))
    }

    /// The value under `bind`, which gives each symbol's. `None` where a symbol is unbound, on overflow
    /// and on division by zero.
    pub fn eval(&self, bind: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        self.0.0.iter().try_fold(0i64, |sum, (m, &c)| {
            let term = m.iter().try_fold(c, |p, (a, k)| p.checked_mul(a.eval(bind)?.checked_pow(*k)?))?;
            sum.checked_add(term)
        })
    }

    /// The expression with symbols replaced where `f` has a replacement.
    pub fn substitute(&self, f: &dyn Fn(&str) -> Option<SymExpr>) -> Option<SymExpr> {
        let mut sum = SymExpr::constant(0);
        for (m, &c) in &self.0.0 {
            let mut term = SymExpr::constant(c);
            for (a, k) in m {
                let base = a.substitute(f)?;
                for _ in 0..*k {
                    term = term.mul(&base)?;
                }
            }
            sum = sum.add(&term)?;
        }
        Some(sum)
    }

    /// The symbols that occur, sorted, each once.
    pub fn symbols(&self) -> Vec<Arc<str>> {
        let mut out = Vec::new();
        self.collect_symbols(&mut out);
        out.sort();
        out.dedup();
        out
    }

    fn collect_symbols(&self, out: &mut Vec<Arc<str>>) {
        for (atom, _) in self.0.0.keys().flatten() {
            match atom {
                Atom::Symbol(s) => out.push(s.clone()),
                Atom::Call(_, args) => args.iter().for_each(|a| a.collect_symbols(out)),
            }
        }
    }
}

impl Atom {
    fn eval(&self, bind: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        match self {
            Atom::Symbol(s) => bind(s),
            Atom::Call(f, args) => match args.as_slice() {
                [a, b] => f.eval(a.eval(bind)?, b.eval(bind)?),
                _ => None,
            },
        }
    }

    fn substitute(&self, f: &dyn Fn(&str) -> Option<SymExpr>) -> Option<SymExpr> {
        match self {
            Atom::Symbol(s) => Some(f(s).unwrap_or_else(|| SymExpr::atom(self.clone()))),
            Atom::Call(g, args) => match args.as_slice() {
                [a, b] => {
                    let (a, b) = (a.substitute(f)?, b.substitute(f)?);
                    match g {
                        Function::FloorDiv => a.floor_div(&b),
                        Function::Mod => a.modulo(&b),
                        Function::Max => a.maximum(&b),
                        Function::Min => a.minimum(&b),
                    }
                }
                _ => None,
            },
        }
    }
}

impl Sum {
    fn add_term(&mut self, m: Monomial, c: i64) {
        if c != 0 {
            self.0.insert(m, c);
        }
    }

    fn add_checked(&mut self, m: Monomial, c: i64) -> Option<()> {
        let sum = self.0.get(&m).copied().unwrap_or(0).checked_add(c)?;
        if sum == 0 {
            self.0.remove(&m);
        } else {
            self.0.insert(m, sum);
        }
        Some(())
    }
}

fn join(a: &Monomial, b: &Monomial) -> Option<Monomial> {
    let mut powers: BTreeMap<&Atom, u32> = BTreeMap::new();
    for (atom, k) in a.iter().chain(b) {
        let p = powers.entry(atom).or_default();
        *p = p.checked_add(*k)?;
    }
    // Powers this high occur in no model; refusing them bounds `substitute`.
    (powers.values().all(|&k| k <= 16)).then(|| powers.into_iter().map(|(a, k)| (a.clone(), k)).collect())
}

fn quotient(m: &Monomial, d: &Monomial) -> Option<Monomial> {
    let mut out = m.clone();
    for (atom, k) in d {
        let at = out.iter().position(|(a, _)| a == atom)?;
        let left = out[at].1.checked_sub(*k)?;
        if left == 0 {
            out.remove(at);
        } else {
            out[at].1 = left;
        }
    }
    Some(out)
}

impl fmt::Display for SymExpr {
    /// Terms with symbols first, the constant last, as torch prints them: `2*s0 + 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.0.is_empty() {
            return f.write_str("0");
        }
        let (consts, terms): (Vec<_>, Vec<_>) = self.0.0.iter().partition(|(m, _)| m.is_empty());
        for (i, (m, c)) in terms.into_iter().chain(consts).enumerate() {
            match (i, *c < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            let c = c.unsigned_abs();
            if c != 1 || m.is_empty() {
                write!(f, "{c}")?;
            }
            for (k, (atom, power)) in m.iter().enumerate() {
                if k > 0 || c != 1 {
                    f.write_str("*")?;
                }
                match atom {
                    Atom::Symbol(s) => f.write_str(s)?,
                    Atom::Call(g, args) => {
                        write!(f, "{}(", g.name())?;
                        for (j, a) in args.iter().enumerate() {
                            write!(f, "{}{a}", if j > 0 { ", " } else { "" })?;
                        }
                        f.write_str(")")?;
                    }
                }
                if *power != 1 {
                    write!(f, "**{power}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for SymExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SymExpr {
    type Err = ParseSymError;
    fn from_str(s: &str) -> Result<SymExpr, ParseSymError> {
        parse::parse(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn e(s: &str) -> SymExpr {
        s.parse().unwrap()
    }

    #[test]
    fn ring_laws_hold() {
        assert_eq!(e("2*s0 + 1 + s0"), e("1 + 3*s0"));
        assert_eq!(e("(s0 + 1)*(s0 - 1)"), e("s0**2 - 1"));
        assert_eq!(e("s0 - s0").as_const(), Some(0));
        assert_eq!(e("(4*s0)//2"), e("2*s0"));
        assert_eq!(e("Mod(6*s0, 3)"), e("0"));
        assert_ne!(e("(s0 + 1)//2"), e("s0//2"));
    }

    #[test]
    fn prints_what_it_parses() {
        for s in ["0", "2*s0 + 1", "-s0", "s0**2 - 1", "FloorDiv(s0 + 1, 2)", "Max(1, u0)", "Mod(s0, 2) + 3"] {
            assert_eq!(e(s).to_string(), s);
        }
    }

    #[test]
    fn evaluates_as_python_does() {
        let v = |s: &str, n: i64| e(s).eval(&|_| Some(n));
        assert_eq!(v("s0//2", -3), Some(-2));
        assert_eq!(v("Mod(s0, 3)", -1), Some(2));
        assert_eq!(v("s0//(s0 - 4)", 4), None);
        assert_eq!(v("Max(s0, 7) - Min(s0, 7)", 3), Some(4));
        assert_eq!(e("9223372036854775807*s0").mul(&e("2")), None);
    }

    #[test]
    fn substitutes() {
        let half = |s: &str| (s == "s0").then(|| e("2*n"));
        assert_eq!(e("s0//2 + s1").substitute(&half).unwrap(), e("n + s1"));
    }
}
