//! Reductions.

use coremill_mil::{Const, OpKind};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("mean.dim", |n| reduce(n, OpKind::ReduceMean)),
    ("mean.default", |n| reduce(n, OpKind::ReduceMean)),
    ("sum.dim_IntList", |n| reduce(n, OpKind::ReduceSum)),
    ("sum.default", |n| reduce(n, OpKind::ReduceSum)),
    ("amax.default", |n| reduce(n, OpKind::ReduceMax)),
    ("amin.default", |n| reduce(n, OpKind::ReduceMin)),
];

/// Over the axes of `dim`, or over all.
fn reduce(n: &mut NodeCx<'_, '_>, kind: OpKind) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let x = if kind == OpKind::ReduceMean { n.as_float(x)? } else { n.as_number(x)? };
    let rank = n.shape(x)?.rank();
    let mut axes: Vec<i32> = n.ints_or("dim", &[])?.into_iter().map(|a| a as i32).collect();
    if axes.is_empty() {
        axes = (0..rank as i32).collect();
    }
    if axes.is_empty() {
        return Ok(x.into());
    }
    let keep = n.bool_or("keepdim", false)?;
    let op = n.op(kind).input("x", x).literal("axes", Const::int32s(&axes));
    Ok(op.literal("keep_dims", Const::bool(keep)).one()?.into())
}
