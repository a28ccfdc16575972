//! `mil_backend::decompose_const_base2_pow`: two to the power of `y` is `exp2(y)`.
//!
//! For a constant base of which every element is exactly 2, and which broadcasting does not make larger than `y`.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::matching::same_type;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "mil_backend::decompose_const_base2_pow",
    summary: "Replaces a power of two with a computed exponent by exp2",
    options: &[],
    spec: include_str!("../../specs/mil_backend/decompose_const_base2_pow.mil"),
    make: |_: &Options| Box::new(DecomposeConstBase2Pow),
};

struct DecomposeConstBase2Pow;

impl Pass for DecomposeConstBase2Pow {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for DecomposeConstBase2Pow {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Pow]
    }

    fn find(&self, f: &Function, pow: OpId) -> Option<Patch> {
        let base = f.const_arg(pow, "x")?.as_data().filter(|d| d.dtype().is_float() && !d.is_empty())?;
        let y = f.op(pow).arg("y")?;
        let out = f.op(pow).output();
        let is_same = same_type(f, y, out);
        // A single number broadcasts to `y` whatever its extents are, known or not.
        let is_one = base.len() == 1 && f.ty(y).dtype() == f.ty(out).dtype() && f.ty(y).rank()? >= base.rank();
        if !base.to_f64s()?.iter().all(|&v| v == 2.0) || f.const_value(y).is_some() || !(is_same || is_one) {
            return None;
        }
        let mut patch = Patch::before(f, pow, "power_of_two");
        let new = patch.make(NewPatchOp::new(OpKind::Exp2, f.value(out).name.clone()).input("x", y));
        patch.replace_op(f, pow, new);
        Some(patch)
    }
}
