//! Symbolic numbers: what `sym_int_values` and the sizes of tensors hold.
//!
//! Torch writes sympy's `srepr` (`Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1))`), older
//! versions the infix form. Both become [`SymExpr`] where it can say them; the rest (`TruncToInt`, `ToFloat`,
//! ...) stays text, an extent of which nothing is known.

use std::fmt;

use coremill_tensor::{Dim, SymExpr};

mod srepr;

pub(crate) use srepr::infix;

/// An integer that may be symbolic.
#[derive(Clone, Debug, PartialEq)]
pub enum SymInt {
    /// A number.
    Int(i64),
    /// An expression over the program's symbols.
    Expr {
        /// The expression.
        expr: SymExpr,
        /// Its value for the example inputs of the export.
        hint: Option<i64>,
    },
    /// An expression that [`SymExpr`] can't say.
    Opaque {
        /// The expression, infix where it could be read.
        text: String,
        /// Its value for the example inputs of the export.
        hint: Option<i64>,
    },
}

impl SymInt {
    /// From the schema's `expr_str`.
    pub fn from_text(text: &str, hint: Option<i64>) -> SymInt {
        let text = infix(text).unwrap_or_else(|| text.to_owned());
        match text.parse::<SymExpr>() {
            Ok(e) => match e.as_const() {
                Some(n) => SymInt::Int(n),
                None => SymInt::Expr { expr: e, hint },
            },
            Err(_) => SymInt::Opaque { text, hint },
        }
    }

    /// The number, where it is one.
    pub fn known(&self) -> Option<i64> {
        match self {
            SymInt::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The expression; `None` when it is opaque.
    pub fn expr(&self) -> Option<SymExpr> {
        match self {
            SymInt::Int(n) => Some(SymExpr::constant(*n)),
            SymInt::Expr { expr, .. } => Some(expr.clone()),
            SymInt::Opaque { .. } => None,
        }
    }

    /// As an extent: opaque and negative ones are unknown.
    pub fn dim(&self) -> Dim {
        self.expr().map_or(Dim::Unknown, Dim::from_expr)
    }

    /// Its value for the example inputs of the export, where the file has it.
    pub fn hint(&self) -> Option<i64> {
        match self {
            SymInt::Int(n) => Some(*n),
            SymInt::Expr { hint, .. } | SymInt::Opaque { hint, .. } => *hint,
        }
    }

    /// Are the two surely the same number? Hints do not count.
    pub fn same(&self, other: &SymInt) -> bool {
        match (self, other) {
            (SymInt::Opaque { text: a, .. }, SymInt::Opaque { text: b, .. }) => a == b,
            _ => self.expr().is_some_and(|a| other.expr() == Some(a)),
        }
    }
}

impl fmt::Display for SymInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymInt::Int(n) => write!(f, "{n}"),
            SymInt::Expr { expr, .. } => write!(f, "{expr}"),
            SymInt::Opaque { text, .. } => f.write_str(text),
        }
    }
}

/// A boolean that may be symbolic.
#[derive(Clone, Debug, PartialEq)]
pub enum SymBool {
    /// A boolean.
    Bool(bool),
    /// An expression, infix where it could be read (`u0 >= 0`).
    Expr(String),
}

/// A float that may be symbolic.
#[derive(Clone, Debug, PartialEq)]
pub enum SymFloat {
    /// A number.
    Float(f64),
    /// An expression, infix where it could be read.
    Expr {
        /// The expression.
        text: String,
        /// Its value for the example inputs of the export.
        hint: Option<f64>,
    },
}

impl fmt::Display for SymBool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymBool::Bool(b) => write!(f, "{b}"),
            SymBool::Expr(t) => f.write_str(t),
        }
    }
}

impl fmt::Display for SymFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymFloat::Float(v) => write!(f, "{v:?}"),
            SymFloat::Expr { text, .. } => f.write_str(text),
        }
    }
}
