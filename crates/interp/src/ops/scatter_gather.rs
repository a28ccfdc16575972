//! Elements by index.

use coremill_mil::{Const, OpKind};

use super::movement::{flat, from_front, pick, strides};
use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[(OpKind::Gather, gather), (OpKind::GatherAlongAxis, gather_along_axis)];

/// Slices of `x` along `axis`, by index; leading `batch_dims` axes run along in both.
fn gather(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let (x, indices) = (args.data("x")?, args.data("indices")?);
    let axis = axis(args, x.rank())?;
    let batch = if args.0.is_given("batch_dims") { args.int("batch_dims")? } else { 0 };
    let batch = usize::try_from(batch).ok().filter(|&b| b <= axis && b <= indices.rank());
    let batch = batch.ok_or_else(|| EvalError::bad("`batch_dims` is outside the ranks"))?;
    let at = args.ints("indices")?;
    let shape: Vec<usize> = [&x.shape()[..axis], &indices.shape()[batch..], &x.shape()[axis + 1..]].concat();
    let (xs, is) = (strides(x.shape()), strides(indices.shape()));
    let within = indices.rank() - batch;
    let extent = x.shape()[axis];
    one(pick(x, &shape, |index| {
        let (before, rest) = index.split_at(axis);
        let (inner, after) = rest.split_at(within);
        let position = flat(&before[..batch], &is) + flat(inner, &is[batch..]);
        let found = from_front(*at.get(position)?, extent)?;
        Some(flat(before, &xs) + found * xs[axis] + flat(after, &xs[axis + 1..]))
    })?)
}

/// The element of `x` at the same place but for `axis`, where `indices` says which.
fn gather_along_axis(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let (x, indices) = (args.data("x")?, args.data("indices")?);
    let axis = axis(args, x.rank())?;
    let at = args.ints("indices")?;
    if indices.rank() != x.rank() {
        return Err(EvalError::bad("`x` and `indices` are of different ranks"));
    }
    let (xs, is) = (strides(x.shape()), strides(indices.shape()));
    one(pick(x, indices.shape(), |index| {
        let found = from_front(*at.get(flat(index, &is))?, x.shape()[axis])?;
        let mut place = index.to_vec();
        place[axis] = found;
        let inside = place.iter().zip(x.shape()).all(|(i, n)| i < n);
        inside.then(|| flat(&place, &xs))
    })?)
}

fn axis(args: &Args<'_, '_>, rank: usize) -> Result<usize, EvalError> {
    let axis = if args.0.is_given("axis") { args.int("axis")? } else { 0 };
    from_front(axis, rank).ok_or_else(|| EvalError::bad("`axis` is outside the rank"))
}
