//! Ops that rearrange elements.

use coremill_mil::{Const, OpKind};
use coremill_tensor::Data;

use super::{Family, movement, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[
    (OpKind::ExpandDims, same_elements),
    (OpKind::Reshape, same_elements),
    (OpKind::SliceByIndex, slice_by_index),
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
    let turned = x.permuted(&perm);
    one(turned.ok_or_else(|| EvalError::Unsupported(format!("`transpose` of {}", x.dtype())))?)
}

/// `begin` to `end` by `stride` on each axis, counted from the back where negative. A mask stands for the whole
/// way on its side; `squeeze_mask` takes one element and drops the axis.
fn slice_by_index(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    let rank = x.rank();
    let (begin, end) = (args.ints("begin")?, args.ints("end")?);
    let stride = if args.0.is_given("stride") { args.ints("stride")? } else { vec![1; rank] };
    let mask = |name| if args.0.is_given(name) { args.ints(name) } else { Ok(vec![0; rank]) };
    let (begin_mask, end_mask, squeeze) = (mask("begin_mask")?, mask("end_mask")?, mask("squeeze_mask")?);
    if [&begin, &end, &stride, &begin_mask, &end_mask, &squeeze].iter().any(|v| v.len() != rank) {
        return Err(EvalError::bad("a list of another length than the rank"));
    }
    let mut axes = Vec::with_capacity(rank);
    for (axis, &extent) in x.shape().iter().enumerate() {
        let n = i64::try_from(extent).map_err(|_| EvalError::bad("an extent above 2^63"))?;
        let step = if squeeze[axis] != 0 { 1 } else { stride[axis] };
        // A walk forward stays within 0..=n, one backward within -1..n.
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let from_back = |i: i64| if i < 0 { i.saturating_add(n) } else { i };
        let first = if step > 0 { low } else { high };
        let last = if step > 0 { high } else { low };
        let start = if begin_mask[axis] != 0 { first } else { from_back(begin[axis]).clamp(low, high) };
        let stop = if squeeze[axis] != 0 {
            start + 1
        } else if end_mask[axis] != 0 {
            last
        } else {
            from_back(end[axis]).clamp(low, high)
        };
        if step == 0 {
            return Err(EvalError::bad("a stride of 0"));
        }
        let count = (stop - start + step - step.signum()) / step;
        axes.push((start, step, usize::try_from(count).unwrap_or(0)));
    }
    let full: Vec<usize> = axes.iter().map(|a| a.2).collect();
    if axes.iter().all(|(_, step, _)| *step == 1) {
        let begin: Vec<usize> = axes.iter().map(|a| usize::try_from(a.0).unwrap_or(0)).collect();
        return kept(movement::part(x, &begin, &full)?, &squeeze);
    }
    let strides = movement::strides(x.shape());
    let taken = movement::pick(x, &full, |index| {
        let place = |(i, (start, step, _)): (&usize, &(i64, i64, usize))| {
            usize::try_from(start + step * i64::try_from(*i).ok()?).ok()
        };
        let place: Vec<usize> = index.iter().zip(&axes).map(place).collect::<Option<_>>()?;
        place.iter().zip(x.shape()).all(|(i, n)| i < n).then(|| movement::flat(&place, &strides))
    })?;
    kept(taken, &squeeze)
}

/// Without the axes that are squeezed.
fn kept(taken: Data, squeeze: &[i64]) -> Result<Vec<Const>, EvalError> {
    let kept: Vec<usize> = taken.shape().iter().zip(squeeze).filter(|(_, s)| **s == 0).map(|(n, _)| *n).collect();
    one(taken.reshaped(&kept).ok_or_else(|| EvalError::bad("`squeeze_mask` on an axis of several elements"))?)
}
