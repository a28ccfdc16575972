//! `common::guard_negative_gather_indices`: a negative index of a gather is counted from the end by explicit ops.
//!
//! From ios17 on `gather` and `gather_nd` take no negative indices. Signed `indices` become `select(indices >= 0, indices,
//! indices + size)`, where `size` is the extent of `x` along the axis, or, for `gather_nd`, the extents of the dimensions
//! that the indices run over, which come after the batch dimensions. Unsigned indices stay, and so do those that are
//! guarded already.

use coremill_mil::{Const, Function, OpId, OpKind, Opset, Program, Type, ValueId};
use coremill_tensor::DType;

use crate::index_ops::IndexOps;
use crate::matching::is_about;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::guard_negative_gather_indices",
    summary: "Makes negative indices of gathers count from the end, which ios17 and later do not do",
    options: &[],
    spec: include_str!("../../specs/common/guard_negative_gather_indices.mil"),
    make: |_: &Options| Box::new(GuardNegativeGatherIndices),
};

struct GuardNegativeGatherIndices;

impl Pass for GuardNegativeGatherIndices {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for GuardNegativeGatherIndices {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Gather, OpKind::GatherNd]
    }

    fn find(&self, f: &Function, gather: OpId) -> Option<Patch> {
        let (x, indices) = (f.op(gather).arg("x")?, f.op(gather).arg("indices")?);
        let dtype = f.ty(indices).dtype()?;
        if f.opset < Opset::Ios17 || !dtype.is_signed_int() || is_guarded(f, indices) {
            return None;
        }
        let axis = match (f.kind(gather), f.op(gather).arg("axis")) {
            (OpKind::GatherNd, _) => None,
            (_, None) => Some(0),
            (_, Some(_)) => Some(i32::try_from(f.const_arg(gather, "axis")?.as_i64()?).ok()?),
        };
        let mut patch = Patch::before(f, gather, "signed_indices");
        let base = f.value(f.op(gather).output()).name.clone();
        let mut m = IndexOps { patch: &mut patch, base: &base };
        let signed = if dtype == DType::Int32 { indices.into() } else { m.cast(indices.into(), "int32") };
        let positive = m.is_positive(signed);
        // `shape` takes no integers but int32; what it gives does not depend on the elements.
        let plain = matches!(f.ty(x).dtype()?, DType::Fp16 | DType::Fp32 | DType::Int32 | DType::Bool);
        let for_shape = if plain { x.into() } else { m.cast(x.into(), "bool") };
        let shape = m.make(OpKind::Shape, "shape", |op| op.input("x", for_shape));
        let size = match axis {
            Some(axis) => m.at(shape, axis),
            None => {
                let of_indices = m.make(OpKind::Shape, "indices_shape", |op| op.input("x", signed));
                let last = m.at(of_indices, i32::try_from(f.ty(indices).rank()?).ok()? - 1);
                let axes = Const::int32s(&[0]);
                let count = m.make(OpKind::ExpandDims, "count", |op| op.input("x", last).literal("axes", axes));
                let begin = Const::int32s(&[batch_dims(f, gather)?]);
                // Known from the type of the indices, before anything is folded.
                let length = f.ty(indices).shape()?.iter().last()?.clone();
                let ty = Type::tensor(DType::Int32, vec![length]);
                m.make(OpKind::SliceBySize, "sizes", |op| {
                    op.input("x", shape).literal("begin", begin).input("size", count).types(vec![ty])
                })
            }
        };
        let guarded = m.guarded(signed, positive, size);
        let new = NewPatchOp::new(f.kind(gather), base.clone()).same_but(f, gather, &["indices"]);
        let new = patch.make(new.input("indices", guarded));
        patch.replace_op(f, gather, new);
        Some(patch)
    }
}

fn batch_dims(f: &Function, gather: OpId) -> Option<i32> {
    match f.op(gather).arg("batch_dims") {
        Some(_) => i32::try_from(f.const_arg(gather, "batch_dims")?.as_i64()?).ok(),
        None => Some(0),
    }
}

/// Are the indices what this pass makes of indices?
fn is_guarded(f: &Function, indices: ValueId) -> bool {
    let guard = || {
        let select = f.producer_of(indices, OpKind::Select)?;
        let compare = f.producer_of(f.op(select).arg("cond")?, OpKind::GreaterEqual)?;
        let (of, to) = (f.op(compare).arg("x")?, f.op(compare).arg("y")?);
        Some(is_about(f, to, 0.0) && f.op(select).arg("a") == Some(of))
    };
    guard().unwrap_or(false)
}
