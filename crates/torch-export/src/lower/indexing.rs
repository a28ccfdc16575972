//! Elements by index.

use coremill_mil::{Const, OpKind};
use coremill_tensor::DType;

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family =
    &[("embedding.default", embedding), ("gather.default", gather), ("index_select.default", index_select)];

/// Rows of `weight`. `padding_idx` matters to training only. The indices are cast even where they are `int32`
/// already, as the peer does; `common::cast_optimization` takes that away.
fn embedding(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (weight, indices) = (n.value("weight")?, n.value("indices")?);
    let dtype = Const::string(DType::Int32.name());
    let indices = n.inner(OpKind::Cast, "indices").input("x", indices).literal("dtype", dtype).one()?;
    Ok(n.op(OpKind::Gather).input("x", weight).input("indices", indices).literal("axis", Const::int32(0)).one()?.into())
}

/// Element `index[i][j]` along `dim`, for each place of `index`.
fn gather(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, indices, axis) = (n.value("self")?, n.value("index")?, n.int("dim")? as i32);
    // Torch takes an index smaller than the tensor on the other axes; MIL wants them alike.
    let (xs, is) = (n.shape(x)?, n.shape(indices)?);
    let along = xs.axis(i64::from(axis)).ok_or_else(|| NodeError::unsupported("a `dim` outside the rank"))?;
    let differs = |(i, (a, b)): (usize, (&coremill_tensor::Dim, &coremill_tensor::Dim))| i != along && a != b;
    if xs.rank() != is.rank() || xs.iter().zip(is.iter()).enumerate().any(differs) {
        return Err(NodeError::unsupported("an index of other extents than the tensor's"));
    }
    let op = n.op(OpKind::GatherAlongAxis).input("x", x).input("indices", indices);
    Ok(op.literal("axis", Const::int32(axis)).one()?.into())
}

fn index_select(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, indices, axis) = (n.value("self")?, n.value("index")?, n.int("dim")? as i32);
    Ok(n.op(OpKind::Gather).input("x", x).input("indices", indices).literal("axis", Const::int32(axis)).one()?.into())
}
