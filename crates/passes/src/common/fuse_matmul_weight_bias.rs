//! `common::fuse_matmul_weight_bias`: a product with a constant matrix, and a constant added, are a `linear`.
//!
//! `matmul(x, w) + b` and `matmul(x, w) - b` with a constant `w` of rank 2, which nothing else reads, and a constant `b`
//! with one number for each column of `w` along the last axis. The weight of a `linear` is transposed, which `transpose` ops say
//! that constant folding takes away. The product must have no other use and be no output. A weight on the left side has
//! its outputs along the other axis, where `linear` has no bias: it stays.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::conv_fusion::{follower, per_channel};
use crate::matching::{float_const, operand_beside};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_matmul_weight_bias",
    summary: "Fuses a matmul with a constant and the addition of a constant into linear",
    options: &[],
    spec: include_str!("../../specs/common/fuse_matmul_weight_bias.mil"),
    make: |_: &Options| Box::new(FuseMatmulWeightBias),
};

struct FuseMatmulWeightBias;

impl Pass for FuseMatmulWeightBias {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseMatmulWeightBias {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Matmul]
    }

    fn find(&self, f: &Function, matmul: OpId) -> Option<Patch> {
        let (x, weight) = (f.op(matmul).arg("x")?, f.op(matmul).arg("y")?);
        let result = f.op(matmul).output();
        let outer = follower(f, matmul, &[OpKind::Add, OpKind::Sub])?;
        let is_sub = f.kind(outer) == OpKind::Sub;
        let rank = f.ty(x).rank().filter(|&r| r >= 2)?;
        let w = f.const_value(weight)?.as_data().filter(|w| w.rank() == 2)?;
        let fits = f.const_value(x).is_none() && f.only_user(weight) == Some(matmul);
        if !fits || f.ty(result).rank() != Some(rank) || (is_sub && f.op(outer).arg("x") != Some(result)) {
            return None;
        }
        let (transpose_x, transpose_y) = (flag(f, matmul, "transpose_x")?, flag(f, matmul, "transpose_y")?);
        let columns = *w.shape().get(usize::from(!transpose_y))?;
        let addend = f.const_value(operand_beside(f, outer, result)?)?.as_data().filter(|b| b.len() == columns)?;
        if addend.shape().last() != Some(&columns) {
            return None;
        }
        let sign = if is_sub { -1.0 } else { 1.0 };
        let bias = per_channel(addend, rank, rank - 1, columns)?.into_iter().map(|v| sign * v).collect();
        let bias = float_const(w.dtype(), &[columns], bias)?;
        let mut patch = Patch::before(f, outer, "matmul_and_constant");
        let name = f.value(f.op(outer).output()).name.clone();
        let x = if transpose_x { transpose(&mut patch, x, rank, &format!("{name}_x")) } else { x.into() };
        let weight =
            if transpose_y { weight.into() } else { transpose(&mut patch, weight, 2, &format!("{name}_weight")) };
        let new = NewPatchOp::new(OpKind::Linear, name).input("x", x).input("weight", weight).literal("bias", bias);
        let fused = patch.make(new);
        patch.replace_op(f, outer, fused);
        patch.erase(matmul);
        Some(patch)
    }
}

fn flag(f: &Function, op: OpId, name: &str) -> Option<bool> {
    match f.op(op).arg(name) {
        Some(_) => f.const_arg(op, name)?.as_bool(),
        None => Some(false),
    }
}

/// The last two axes change places.
fn transpose(patch: &mut Patch, v: ValueId, rank: usize, name: &str) -> PatchValue {
    let mut perm: Vec<i32> = (0..rank as i32).collect();
    perm.swap(rank - 2, rank - 1);
    patch.make(NewPatchOp::new(OpKind::Transpose, name).input("x", v).literal("perm", Const::int32s(&perm)))
}
