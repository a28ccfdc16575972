//! `common::fuse_gelu_sigmoid_approximation`: `x * sigmoid(1.702 * x)` is `gelu` in mode `SIGMOID_APPROXIMATION`.
//!
//! For a float `x`, with the operands of both products in either order. What is between must have no other use and be no
//! output. The approximation is that of Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016).

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::matching::{only_user_of_kind, operand_beside, operand_beside_scalar};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_gelu_sigmoid_approximation",
    summary: "Fuses x * sigmoid(1.702 * x) into gelu",
    options: &[],
    spec: include_str!("../../specs/common/fuse_gelu_sigmoid_approximation.mil"),
    make: |_: &Options| Box::new(FuseGeluSigmoidApproximation),
};

struct FuseGeluSigmoidApproximation;

impl Pass for FuseGeluSigmoidApproximation {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// The factor of the approximation.
const SLOPE: f64 = 1.702;

impl Rewrite for FuseGeluSigmoidApproximation {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Sigmoid]
    }

    fn find(&self, f: &Function, sigmoid: OpId) -> Option<Patch> {
        let scale = f.producer_of(f.op(sigmoid).arg("x")?, OpKind::Mul)?;
        let x = operand_beside_scalar(f, scale, SLOPE)?;
        let outer = only_user_of_kind(f, f.op(sigmoid).output(), OpKind::Mul)?;
        let out = f.op(outer).output();
        let is_private = f.only_user(f.op(scale).output()) == Some(sigmoid);
        let is_product = operand_beside(f, outer, f.op(sigmoid).output()) == Some(x);
        let same = f.ty(x).shape().zip(f.ty(out).shape()).is_some_and(|(a, b)| a.rank() == b.rank());
        if !is_private || !is_product || !same || !f.ty(x).dtype()?.is_float() {
            return None;
        }
        let mut patch = Patch::before(f, outer, "x_sigmoid_of_x");
        let new = NewPatchOp::new(OpKind::Gelu, f.value(out).name.clone()).input("x", x);
        let gelu = patch.make(new.literal("mode", Const::string("SIGMOID_APPROXIMATION")));
        patch.replace_op(f, outer, gelu);
        patch.erase(sigmoid);
        patch.erase(scale);
        Some(patch)
    }
}
