//! `common::merge_affine_dequantize_with_consecutive_ops`: ops that only move the elements of a compressed weight move its data.
//!
//! A `transpose`, `reshape`, `expand_dims` or `squeeze` that alone reads a `constexpr_affine_dequantize` is carried out on the
//! quantised data; with scales along an axis, only a `transpose`, which takes the axis along. The weight stays compressed.
//! A weight that is an output, or has another user, stays, as does one that would become a number of rank 0.

use coremill_interp::evaluate;
use coremill_mil::{Arg, Const, Function, OpArgs, OpId, OpKind, Program, Type};
use coremill_tensor::Data;

use crate::conv_fusion::follower;
use crate::matching::const_ints;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::quantization::affine_dequantize;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::merge_affine_dequantize_with_consecutive_ops",
    summary: "Carries out transposes and reshapes of a compressed weight on its data",
    options: &[],
    spec: include_str!("../../specs/common/merge_affine_dequantize_with_consecutive_ops.mil"),
    make: |_: &Options| Box::new(MergeAffineDequantize),
};

struct MergeAffineDequantize;

impl Pass for MergeAffineDequantize {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for MergeAffineDequantize {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ConstexprAffineDequantize]
    }

    fn find(&self, f: &Function, weight: OpId) -> Option<Patch> {
        use OpKind::{ExpandDims, Reshape, Squeeze, Transpose};
        let mover = follower(f, weight, &[Transpose, Reshape, ExpandDims, Squeeze])?;
        let attribute = |name: &str| f.op(weight).attributes.get(name);
        let data = attribute("quantized_data")?;
        let (scale, zero_point) = (attribute("scale")?, attribute("zero_point")?);
        let axis = attribute("axis")?.as_i64()?;
        let per_tensor = [scale, zero_point].iter().all(|c| c.as_data().is_some_and(|d| d.rank() == 0));
        let out = f.op(mover).output();
        let rank = f.ty(out).rank().filter(|&rank| rank > 0)? as i64;
        // Without scales along it the axis says nothing, but it must be one of the new shape.
        let in_place = if (-rank..rank).contains(&axis) { axis } else { 0 };
        let axis = if per_tensor { in_place } else { moved_axis(f, mover, axis)? };
        let moved = moved(f, mover, data)?;
        let mut patch = Patch::before(f, mover, "moved_weight");
        let name = f.value(out).name.clone();
        let new = affine_dequantize(name, moved, zero_point.clone(), scale.clone(), i32::try_from(axis).ok()?);
        let new = patch.make(new);
        patch.replace_op(f, mover, new);
        patch.erase(weight);
        Some(patch)
    }
}

/// Where a transpose puts the axis.
fn moved_axis(f: &Function, mover: OpId, axis: i64) -> Option<i64> {
    if f.kind(mover) != OpKind::Transpose {
        return None;
    }
    let perm = const_ints(f, mover, "perm")?;
    let rank = perm.len() as i64;
    let place = perm.iter().position(|p| p.rem_euclid(rank) == axis.rem_euclid(rank))?;
    Some(place as i64)
}

/// The op on the data.
fn moved(f: &Function, mover: OpId, data: &Const) -> Option<Const> {
    let ty = data.ty();
    let mut args = OpArgs::of(f, mover);
    let x = args.inputs.iter_mut().find(|(name, _)| *name == "x")?;
    x.1 = std::iter::once(Arg::new(&ty, Some(data))).collect();
    let moved = evaluate(&args).ok()?.pop()?;
    // The kernel must agree with the types of the program.
    let (Type::Tensor(declared), Some(made)) = (f.ty(f.op(mover).output()), moved.as_data().map(Data::shape)) else {
        return None;
    };
    let fits = declared.shape.to_known().is_some_and(|s| s == made);
    fits.then_some(moved)
}
