//! One extent of a shape.

use std::fmt;

use crate::SymExpr;

/// One extent: a number, an expression over symbols, or nothing known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A known extent.
    Known(u64),
    /// An expression over symbols, never a plain number (see [`Dim::from_expr`]).
    Sym(SymExpr),
    /// Nothing is known; what MIL files spell `?`. Two unknown extents are not known to be the same.
    Unknown,
}

impl Dim {
    /// The extent an expression stands for: a number where it is constant and fits, else symbolic.
    /// A negative constant is no extent and becomes [`Dim::Unknown`].
    pub fn from_expr(e: SymExpr) -> Dim {
        match e.as_const() {
            Some(n) => u64::try_from(n).map_or(Dim::Unknown, Dim::Known),
            None => Dim::Sym(e),
        }
    }

    /// A fresh-looking symbolic extent of this name.
    pub fn symbol(name: &str) -> Dim {
        Dim::Sym(SymExpr::symbol(name))
    }

    /// The number, where it is one.
    pub fn known(&self) -> Option<u64> {
        match self {
            Dim::Known(n) => Some(*n),
            _ => None,
        }
    }

    /// Is it a number?
    pub fn is_known(&self) -> bool {
        matches!(self, Dim::Known(_))
    }

    /// The extent as an expression; `None` when nothing is known.
    pub fn to_expr(&self) -> Option<SymExpr> {
        match self {
            Dim::Known(n) => i64::try_from(*n).ok().map(SymExpr::constant),
            Dim::Sym(e) => Some(e.clone()),
            Dim::Unknown => None,
        }
    }

    /// Are the two the same extent? `None` when that is not known.
    pub fn same(&self, other: &Dim) -> Option<bool> {
        match (self, other) {
            (Dim::Known(a), Dim::Known(b)) => Some(a == b),
            (Dim::Sym(a), Dim::Sym(b)) if a == b => Some(true),
            _ => None,
        }
    }

    /// May the two be the same extent, for all that is known?
    pub fn compatible(&self, other: &Dim) -> bool {
        self.same(other) != Some(false)
    }

    /// The result of `f` on both as expressions, unknown where either is or where it overflows.
    pub fn combine(&self, other: &Dim, f: impl FnOnce(&SymExpr, &SymExpr) -> Option<SymExpr>) -> Dim {
        match (self.to_expr(), other.to_expr()) {
            (Some(a), Some(b)) => f(&a, &b).map_or(Dim::Unknown, Dim::from_expr),
            _ => Dim::Unknown,
        }
    }

    /// Product of the two.
    pub fn mul(&self, other: &Dim) -> Dim {
        if self.known() == Some(0) || other.known() == Some(0) {
            return Dim::Known(0);
        }
        self.combine(other, |a, b| a.mul(b))
    }

    /// Sum of the two.
    pub fn add(&self, other: &Dim) -> Dim {
        self.combine(other, |a, b| a.add(b))
    }
}

impl From<u64> for Dim {
    fn from(n: u64) -> Dim {
        Dim::Known(n)
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim::Known(n as u64)
    }
}

impl From<SymExpr> for Dim {
    fn from(e: SymExpr) -> Dim {
        Dim::from_expr(e)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(n) => write!(f, "{n}"),
            Dim::Sym(e) => write!(f, "{e}"),
            Dim::Unknown => f.write_str("?"),
        }
    }
}
