//! `common::fuse_conv_bias`: a constant added to a convolution, or taken from it, goes into its bias.
//!
//! `conv(x) + c` and `conv(x) - c` change the bias, for `conv` and `conv_transpose` of rank 3 to 5. With a `transpose`
//! between, which then follows the convolution, `c - transpose(conv(x))` is fused too, and turns the sign of the weight.
//! `c` has one number, or one for each output channel; broadcasting must not grow the result. The bias must be a plain
//! constant, and so must the weight where it changes. What is between must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::conv_fusion::{CHANNELS, CONVS, Conv, conv_of, follower, per_channel};
use crate::matching::operand_beside;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_conv_bias",
    summary: "Moves a constant that is added to a convolution into its bias",
    options: &[],
    spec: include_str!("../../specs/common/fuse_conv_bias.mil"),
    make: |_: &Options| Box::new(FuseConvBias),
};

struct FuseConvBias;

impl Pass for FuseConvBias {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseConvBias {
    fn roots(&self) -> &'static [OpKind] {
        CONVS
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let conv = conv_of(f, op)?;
        let next = follower(f, op, &[OpKind::Add, OpKind::Sub, OpKind::Transpose])?;
        if f.kind(next) == OpKind::Transpose { through_transpose(f, &conv, next) } else { directly(f, &conv, next) }
    }
}

/// An addition or subtraction of a constant: the constant, and the signs of the two sides.
struct Addition {
    values: Vec<f64>,
    of_conv: f64,
    of_constant: f64,
}

fn addition(f: &Function, op: OpId, result: ValueId, axis: usize, channels: usize) -> Option<Addition> {
    let rank = f.ty(result).rank().filter(|r| (3..=5).contains(r))?;
    let constant = f.const_value(operand_beside(f, op, result)?)?.as_data()?;
    let values = per_channel(constant, rank, axis, channels)?;
    let is_sub = f.kind(op) == OpKind::Sub;
    let from_left = f.op(op).arg("x") == Some(result);
    Some(Addition {
        values,
        of_conv: if is_sub && !from_left { -1.0 } else { 1.0 },
        of_constant: if is_sub && from_left { -1.0 } else { 1.0 },
    })
}

/// The bias after the addition.
fn new_bias(conv: &Conv<'_>, a: &Addition) -> Option<Const> {
    let sums = conv.bias_values()?.into_iter().zip(&a.values).map(|(b, c)| a.of_conv * b + a.of_constant * c);
    conv.new_bias(sums.collect())
}

fn directly(f: &Function, conv: &Conv<'_>, outer: OpId) -> Option<Patch> {
    let a = addition(f, outer, f.op(conv.op).output(), CHANNELS, conv.channels).filter(|a| a.of_conv > 0.0)?;
    let mut patch = Patch::before(f, outer, "conv_and_constant");
    let name = f.value(f.op(outer).output()).name.clone();
    let fused = patch.make(conv.remade(f, name, None, new_bias(conv, &a)?));
    patch.replace_op(f, outer, fused);
    patch.erase(conv.op);
    Some(patch)
}

fn through_transpose(f: &Function, conv: &Conv<'_>, transpose: OpId) -> Option<Patch> {
    let outer = follower(f, transpose, &[OpKind::Add, OpKind::Sub])?;
    let perm = f.const_arg(transpose, "perm")?.as_i64s()?;
    let rank = perm.len() as i64;
    let axis = perm.iter().position(|&p| p.rem_euclid(rank) == CHANNELS as i64)?;
    let a = addition(f, outer, f.op(transpose).output(), axis, conv.channels)?;
    let weight = match a.of_conv < 0.0 {
        true => Some(conv.scaled_weight(&vec![-1.0; conv.channels])?),
        false => conv.folded_weight(f),
    };
    let mut patch = Patch::before(f, outer, "transposed_conv_and_constant");
    let inner = f.value(f.op(conv.op).output()).name.clone();
    let fused = patch.make(conv.remade(f, inner, weight, new_bias(conv, &a)?));
    let name = f.value(f.op(outer).output()).name.clone();
    let turned = patch.make(NewPatchOp::new(OpKind::Transpose, name).input("x", fused).same(f, transpose, "perm"));
    patch.replace_op(f, outer, turned);
    patch.erase(transpose);
    patch.erase(conv.op);
    Some(patch)
}
