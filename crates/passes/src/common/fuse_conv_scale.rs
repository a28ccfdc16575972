//! `common::fuse_conv_scale`: a constant that a convolution is multiplied with, or divided by, goes into its weight.
//!
//! For `conv` and `conv_transpose`; the constant has one number, or one for each output channel, and broadcasting must
//! not grow the result. Weight and bias must be plain constants, and the convolution must have no other use and be no
//! output. A constant that is divided by a convolution is another function and stays, and so does a division by zero.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::conv_fusion::{CONVS, conv_of, follower, per_channel_of};
use crate::matching::operand_beside;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_conv_scale",
    summary: "Moves a constant factor or divisor of a convolution into its weight and bias",
    options: &[],
    spec: include_str!("../../specs/common/fuse_conv_scale.mil"),
    make: |_: &Options| Box::new(FuseConvScale),
};

struct FuseConvScale;

impl Pass for FuseConvScale {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseConvScale {
    fn roots(&self) -> &'static [OpKind] {
        CONVS
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let conv = conv_of(f, op)?;
        let outer = follower(f, op, &[OpKind::Mul, OpKind::RealDiv])?;
        let result = f.op(op).output();
        let divides = f.kind(outer) == OpKind::RealDiv;
        if divides && f.op(outer).arg("x") != Some(result) {
            return None;
        }
        let mut factors = per_channel_of(f, &conv, operand_beside(f, outer, result)?)?;
        if divides {
            factors.iter_mut().for_each(|v| *v = 1.0 / *v);
        }
        if factors.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let bias = conv.bias_values()?.into_iter().zip(&factors).map(|(b, s)| b * s).collect();
        let (weight, bias) = (conv.scaled_weight(&factors)?, conv.new_bias(bias)?);
        let mut patch = Patch::before(f, outer, "conv_and_factor");
        let name = f.value(f.op(outer).output()).name.clone();
        let fused = patch.make(conv.remade(f, name, Some(weight), bias));
        patch.replace_op(f, outer, fused);
        patch.erase(op);
        Some(patch)
    }
}
