//! `common::fuse_elementwise_to_batchnorm`: `x * gamma + beta` per channel is a `batch_norm`.
//!
//! For `x` of rank 4 with `C > 1` channels and constants `gamma` and `beta` of shape `[1, C, 1, 1]` or `[C, 1, 1]`. `x` must
//! have these `C` channels for certain: where broadcasting makes them, it is no normalisation. The product must have no
//! other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};
use coremill_tensor::Data;

use crate::conv_fusion::{CHANNELS, follower};
use crate::matching::{float_const, operand_beside};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_elementwise_to_batchnorm",
    summary: "Fuses a product and a sum with constants per channel into batch_norm",
    options: &[],
    spec: include_str!("../../specs/common/fuse_elementwise_to_batchnorm.mil"),
    make: |_: &Options| Box::new(FuseElementwiseToBatchnorm),
};

struct FuseElementwiseToBatchnorm;

impl Pass for FuseElementwiseToBatchnorm {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// The constant operand and the other one.
fn split(f: &Function, op: OpId) -> Option<(&Data, ValueId)> {
    let (x, y) = (f.op(op).arg("x")?, f.op(op).arg("y")?);
    match (f.const_value(x), f.const_value(y)) {
        (None, Some(c)) => Some((c.as_data()?, x)),
        (Some(c), None) => Some((c.as_data()?, y)),
        _ => None,
    }
}

/// Is it of shape `[1, C, 1, 1]` or `[C, 1, 1]`?
fn is_vector(c: &Data, channels: usize) -> bool {
    matches!(c.shape(), [1, n, 1, 1] | [n, 1, 1] if *n == channels)
}

impl Rewrite for FuseElementwiseToBatchnorm {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Mul]
    }

    fn find(&self, f: &Function, mul: OpId) -> Option<Patch> {
        let (gamma, x) = split(f, mul)?;
        let add = follower(f, mul, &[OpKind::Add])?;
        let beta = f.const_value(operand_beside(f, add, f.op(mul).output())?)?.as_data()?;
        let ty = f.ty(x).as_tensor().filter(|t| t.rank() == 4 && t.dtype.is_float())?;
        let channels = ty.shape.get(CHANNELS)?.known()? as usize;
        if channels < 2 || !is_vector(gamma, channels) || !is_vector(beta, channels) {
            return None;
        }
        let per_channel = |values: Vec<f64>| float_const(ty.dtype, &[channels], values);
        let flat = |c: &Data| c.reshaped(&[channels]).map(Const::Tensor);
        let mut patch = Patch::before(f, add, "mul_and_add_per_channel");
        let new = NewPatchOp::new(OpKind::BatchNorm, f.value(f.op(add).output()).name.clone())
            .input("x", x)
            .literal("mean", per_channel(vec![0.0; channels])?)
            .literal("variance", per_channel(vec![1.0; channels])?)
            .literal("gamma", flat(gamma)?)
            .literal("beta", flat(beta)?);
        let fused = patch.make(new);
        patch.replace_op(f, add, fused);
        patch.erase(mul);
        Some(patch)
    }
}
