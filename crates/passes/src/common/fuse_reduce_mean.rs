//! `common::fuse_reduce_mean`: a sum divided by the number of its terms is a mean.
//!
//! `reduce_sum(x)` times `1 / n`, or divided by `n`, for a float `x` whose extents along the constant axes are known and
//! have the product `n`. The factor must be that number but for the rounding of its element type. The sum must have no
//! other use and be no output.

use coremill_mil::{Function, OpId, OpKind, Program};
use coremill_tensor::DType;

use crate::conv_fusion::follower;
use crate::matching::{const_ints, operand_beside, scalar};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_reduce_mean",
    summary: "Fuses reduce_sum and a division by the number of terms into reduce_mean",
    options: &[],
    spec: include_str!("../../specs/common/fuse_reduce_mean.mil"),
    make: |_: &Options| Box::new(FuseReduceMean),
};

struct FuseReduceMean;

impl Pass for FuseReduceMean {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// The number of elements of `x` along the axes, where that is known.
pub(crate) fn count_along(f: &Function, op: OpId) -> Option<f64> {
    let shape = f.ty(f.op(op).arg("x")?).shape()?;
    let axes = const_ints(f, op, "axes").filter(|a| !a.is_empty())?;
    axes.iter().try_fold(1.0, |n, &a| Some(n * shape.get(shape.axis(a)?)?.known()? as f64))
}

/// Is `factor` one over `n`, but for the rounding of a number of this type?
pub(crate) fn is_reciprocal(factor: f64, n: f64, dtype: DType) -> bool {
    let rounding = if dtype == DType::Fp16 { 1e-3 } else { 1e-6 };
    (factor * n - 1.0).abs() <= rounding
}

impl Rewrite for FuseReduceMean {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ReduceSum]
    }

    fn find(&self, f: &Function, sum: OpId) -> Option<Patch> {
        let count = count_along(f, sum)?;
        let result = f.op(sum).output();
        let dtype = f.ty(result).dtype().filter(|d| d.is_float())?;
        let outer = follower(f, sum, &[OpKind::Mul, OpKind::RealDiv])?;
        let divides = f.kind(outer) == OpKind::RealDiv;
        if divides && f.op(outer).arg("x") != Some(result) {
            return None;
        }
        let number = scalar(f, operand_beside(f, outer, result)?)?;
        let factor = if divides { 1.0 / number } else { number };
        let out = f.op(outer).output();
        if !is_reciprocal(factor, count, dtype) || f.ty(out).rank() != f.ty(result).rank() {
            return None;
        }
        let mut patch = Patch::before(f, outer, "sum_over_count");
        let new = NewPatchOp::new(OpKind::ReduceMean, f.value(out).name.clone()).same_but(f, sum, &[]);
        let mean = patch.make(new);
        patch.replace_op(f, outer, mean);
        patch.erase(sum);
        Some(patch)
    }
}
