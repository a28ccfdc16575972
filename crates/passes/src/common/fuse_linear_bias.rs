//! `common::fuse_linear_bias`: a constant added to a `linear`, or taken from it, goes into its bias.
//!
//! `linear(x) + c` and `linear(x) - c` change the bias; `c - linear(x)` turns the sign of weight and bias too. `c` has
//! one element per output feature on its last axis, and broadcasting must not grow the result. Weight and bias
//! must be plain constants: a compressed weight stays as it is. The linear must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::matching::{float_const, operand_beside, same_type};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_linear_bias",
    summary: "Moves a constant that is added to a linear op into its bias",
    options: &[],
    spec: include_str!("../../specs/common/fuse_linear_bias.mil"),
    make: |_: &Options| Box::new(FuseLinearBias),
};

struct FuseLinearBias;

impl Pass for FuseLinearBias {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseLinearBias {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Linear]
    }

    fn find(&self, f: &Function, linear: OpId) -> Option<Patch> {
        let result = f.op(linear).output();
        let outer = f.only_user(result).filter(|&op| matches!(f.kind(op), OpKind::Add | OpKind::Sub))?;
        let out = f.op(outer).output();
        if f.block_of(outer) != f.block_of(linear) || !same_type(f, result, out) {
            return None;
        }
        let addend = f.const_value(operand_beside(f, outer, result)?)?.as_data()?;
        let bias = f.const_arg(linear, "bias").and_then(Const::as_data)?;
        let weight = f.const_arg(linear, "weight").and_then(Const::as_data)?;
        if addend.len() != bias.len() || addend.shape().last() != bias.shape().last() {
            return None;
        }
        let is_sub = f.kind(outer) == OpKind::Sub;
        let from_left = f.op(outer).arg("x") == Some(result);
        let of_bias = if is_sub && !from_left { -1.0 } else { 1.0 };
        let of_addend = if is_sub && from_left { -1.0 } else { 1.0 };
        let sums = bias.to_f64s()?.into_iter().zip(addend.to_f64s()?).map(|(b, a)| of_bias * b + of_addend * a);
        let new_bias = float_const(bias.dtype(), bias.shape(), sums.collect())?;
        let mut new = NewPatchOp::new(OpKind::Linear, f.value(out).name.clone()).same(f, linear, "x");
        new = if of_bias < 0.0 {
            let turned = weight.to_f64s()?.into_iter().map(|w| -w).collect();
            new.literal("weight", float_const(weight.dtype(), weight.shape(), turned)?)
        } else {
            new.same(f, linear, "weight")
        };
        let mut patch = Patch::before(f, outer, "linear_and_constant");
        let fused = patch.make(new.literal("bias", new_bias));
        patch.replace_op(f, outer, fused);
        patch.erase(linear);
        Some(patch)
    }
}
