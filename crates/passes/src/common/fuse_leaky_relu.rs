//! `common::fuse_leaky_relu`: `maximum(alpha * x, x)` is `leaky_relu(x, alpha)`.
//!
//! For a float `x` and one constant `alpha` from 0 to 1, with the operands of both ops in either order. The product
//! must have no other use and be no output, and the result must have the type of `x`.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::{only_user_of_kind, operand_beside, same_type, scalar};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_leaky_relu",
    summary: "Fuses maximum(alpha * x, x) into leaky_relu",
    options: &[],
    spec: include_str!("../../specs/common/fuse_leaky_relu.mil"),
    make: |_: &Options| Box::new(FuseLeakyRelu),
};

struct FuseLeakyRelu;

impl Pass for FuseLeakyRelu {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseLeakyRelu {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Mul]
    }

    fn find(&self, f: &Function, mul: OpId) -> Option<Patch> {
        let (a, b) = (f.op(mul).arg("x")?, f.op(mul).arg("y")?);
        let is_slope = |v: ValueId| scalar(f, v).is_some_and(|s| (0.0..=1.0).contains(&s));
        let (slope, x) = if is_slope(a) { (a, b) } else { (b, a) };
        let product = f.op(mul).output();
        let maximum = only_user_of_kind(f, product, OpKind::Maximum)?;
        let out = f.op(maximum).output();
        let fits = same_type(f, x, out) && f.ty(x).dtype().is_some_and(|d| d.is_float());
        if !is_slope(slope) || operand_beside(f, maximum, product) != Some(x) || !fits {
            return None;
        }
        let alpha = f.const_value(slope)?.as_data()?.reshaped(&[])?;
        let mut patch = Patch::before(f, maximum, "maximum_of_x_and_alpha_x");
        let new = NewPatchOp::new(OpKind::LeakyRelu, f.value(out).name.clone()).input("x", x);
        let new = patch.make(new.literal("alpha", Const::Tensor(alpha)));
        patch.replace_op(f, maximum, new);
        patch.erase(mul);
        Some(patch)
    }
}
