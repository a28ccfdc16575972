//! Ops that rearrange elements.

use coremill_mil::{Const, OpKind};

use super::{Family, movement, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[
    (OpKind::ExpandDims, same_elements),
    (OpKind::Reshape, same_elements),
    (OpKind::Squeeze, squeeze),
    (OpKind::Transpose, transpose),
];

/// The elements in the same order under the shape that type inference gives.
fn same_elements(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    let shape = args.result_shape()?;
    one(x.reshaped(&shape).ok_or_else(|| EvalError::bad(format!("{:?} does not become {shape:?}", x.shape())))?)
}

/// Like [`same_elements`], for strings too.
fn squeeze(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    match args.value("x")? {
        Const::Strings(_, v) => Ok(vec![Const::Strings(args.result_shape()?, v.clone())]),
        _ => same_elements(args),
    }
}

fn transpose(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    let rank = x.rank() as i64;
    let mut perm = Vec::with_capacity(x.rank());
    for p in args.ints("perm")? {
        let axis = usize::try_from(if p < 0 { p.saturating_add(rank) } else { p }).ok();
        match axis.filter(|a| *a < x.rank() && !perm.contains(a)) {
            Some(a) => perm.push(a),
            None => return Err(EvalError::bad("`perm` is no permutation of the axes")),
        }
    }
    if perm.len() != x.rank() {
        return Err(EvalError::bad("`perm` does not name every axis"));
    }
    one(movement::transpose(x, &perm)?)
}
