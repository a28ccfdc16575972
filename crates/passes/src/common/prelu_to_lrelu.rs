//! `common::prelu_to_lrelu`: a `prelu` with one slope for all channels is a `leaky_relu`.
//!
//! The slopes must be constant and equal bit by bit. A `prelu` without channels stays: it has no slope to take.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::matching::float_const;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::prelu_to_lrelu",
    summary: "Replaces a prelu op whose slopes are all the same by leaky_relu",
    options: &[],
    spec: include_str!("../../specs/common/prelu_to_lrelu.mil"),
    make: |_: &Options| Box::new(PreluToLrelu),
};

struct PreluToLrelu;

impl Pass for PreluToLrelu {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for PreluToLrelu {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Prelu]
    }

    fn find(&self, f: &Function, prelu: OpId) -> Option<Patch> {
        let alpha = f.const_arg(prelu, "alpha").and_then(Const::as_data)?;
        let slopes = alpha.to_f64s()?;
        let first = *slopes.first()?;
        if slopes.iter().any(|a| a.to_bits() != first.to_bits()) {
            return None;
        }
        let name = f.value(f.op(prelu).output()).name.clone();
        let mut patch = Patch::before(f, prelu, "prelu_of_one_slope");
        let slope = float_const(alpha.dtype(), &[], vec![first])?;
        let leaky = NewPatchOp::new(OpKind::LeakyRelu, name).same(f, prelu, "x").literal("alpha", slope);
        let leaky = patch.make(leaky);
        patch.replace_op(f, prelu, leaky);
        Some(patch)
    }
}
