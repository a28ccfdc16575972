//! `common::divide_to_multiply`: `x / c` is `x * (1 / c)` for a constant `c`.
//!
//! Only for floats, since integer division rounds. A divisor of which some reciprocal is infinite, zero or below the
//! normal numbers of the dtype stays: such a reciprocal has lost most of its digits. The product may differ from the
//! quotient in the last digit.

use coremill_mil::{Const, Function, OpId, OpKind, Program};
use coremill_tensor::DType;

use crate::matching::float_const;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::divide_to_multiply",
    summary: "Turns a division by a constant into a product with its reciprocal",
    options: &[],
    spec: include_str!("../../specs/common/divide_to_multiply.mil"),
    make: |_: &Options| Box::new(DivideToMultiply),
};

struct DivideToMultiply;

impl Pass for DivideToMultiply {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for DivideToMultiply {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::RealDiv]
    }

    fn find(&self, f: &Function, div: OpId) -> Option<Patch> {
        let x = f.op(div).arg("x")?;
        let divisor = f.const_arg(div, "y").and_then(Const::as_data)?;
        let (smallest, largest) = match divisor.dtype() {
            DType::Fp16 => (2f64.powi(-14), 65504.0),
            DType::Fp32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
            _ => return None,
        };
        let reciprocals: Vec<f64> = divisor.to_f64s()?.into_iter().map(|d| 1.0 / d).collect();
        if !reciprocals.iter().all(|r| (smallest..=largest).contains(&r.abs())) {
            return None;
        }
        let reciprocal = float_const(divisor.dtype(), divisor.shape(), reciprocals)?;
        let out = f.op(div).output();
        let mut patch = Patch::before(f, div, "division_by_constant");
        let new = NewPatchOp::new(OpKind::Mul, format!("_inversed_{}", f.value(out).name)).input("x", x);
        let new = patch.make(new.literal("y", reciprocal));
        patch.replace_op(f, div, new);
        Some(patch)
    }
}
