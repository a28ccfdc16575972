//! `mil_backend::fuse_activation_silu`: `x * sigmoid(x)` is `silu(x)`.
//!
//! The product may have its factors in either order. The sigmoid must have no other use.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "mil_backend::fuse_activation_silu",
    summary: "Fuses x * sigmoid(x) into silu(x)",
    options: &[],
    spec: include_str!("../../specs/mil_backend/fuse_activation_silu.mil"),
    make: |_: &Options| Box::new(FuseActivationSilu),
};

struct FuseActivationSilu;

impl Pass for FuseActivationSilu {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseActivationSilu {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Sigmoid]
    }

    fn find(&self, f: &Function, sigmoid: OpId) -> Option<Patch> {
        let (x, gate) = (f.op(sigmoid).arg("x")?, f.op(sigmoid).output());
        let mul = f.only_user(gate).filter(|&op| f.kind(op) == OpKind::Mul)?;
        let factors = (f.op(mul).arg("x")?, f.op(mul).arg("y")?);
        if factors != (x, gate) && factors != (gate, x) {
            return None;
        }
        let mut patch = Patch::before(f, mul, "x_times_sigmoid_x");
        let name = f.value(f.op(mul).output()).name.clone();
        let silu = patch.make(NewPatchOp::new(OpKind::Silu, name).input("x", x));
        patch.replace_op(f, mul, silu);
        patch.erase(sigmoid);
        Some(patch)
    }
}
