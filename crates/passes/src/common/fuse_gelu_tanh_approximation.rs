//! `common::fuse_gelu_tanh_approximation`: gelu by `tanh`, spelled out, is `gelu(mode = "TANH_APPROXIMATION")`.
//!
//! The spelling is `0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))`, with the operands of every op in
//! either order, and with the half first, last, or on `x`. Nothing between may have another use or be an output, and
//! the result must have the type of `x`. Constants may be off by a thousandth.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::common::fuse_gelu_exact::gelu;
use crate::matching::{is_about, only_user_of_kind, operand_beside, operand_beside_scalar};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_gelu_tanh_approximation",
    summary: "Fuses the spelled-out tanh approximation of gelu into gelu",
    options: &[],
    spec: include_str!("../../specs/common/fuse_gelu_tanh_approximation.mil"),
    make: |_: &Options| Box::new(FuseGeluTanhApproximation),
};

struct FuseGeluTanhApproximation;

impl Pass for FuseGeluTanhApproximation {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseGeluTanhApproximation {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Tanh]
    }

    fn find(&self, f: &Function, tanh: OpId) -> Option<Patch> {
        let scaled = f.op(tanh).arg("x")?;
        let scale = f.producer_of(scaled, OpKind::Mul)?;
        let sum = operand_beside_scalar(f, scale, (2.0 / std::f64::consts::PI).sqrt())?;
        let add = f.producer_of(sum, OpKind::Add)?;
        // Which of the two operands is the cubic term?
        let (cubic, weigh, power) = ["x", "y"].into_iter().find_map(|side| {
            let cubic = f.op(add).arg(side)?;
            let weigh = f.producer_of(cubic, OpKind::Mul)?;
            let power = f.producer_of(operand_beside_scalar(f, weigh, 0.044715)?, OpKind::Pow)?;
            Some((cubic, weigh, power))
        })?;
        let x = f.op(power).arg("x")?;
        if operand_beside(f, add, cubic) != Some(x) || !is_about(f, f.op(power).arg("y")?, 3.0) {
            return None;
        }
        let cube = f.op(power).output();
        for (v, user) in [(scaled, tanh), (sum, scale), (cubic, add), (cube, weigh)] {
            only_user_of_kind(f, v, f.kind(user)).filter(|&op| op == user)?;
        }
        gelu(f, x, tanh, &[scale, add, weigh, power], "TANH_APPROXIMATION", "gelu_by_tanh")
    }
}
