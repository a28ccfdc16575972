//! `common::fuse_gelu_exact`: the error function's gelu, spelled out, is `gelu(mode = "EXACT")`.
//!
//! The spelling is `0.5 * x * (1 + erf(x / sqrt(2)))`, with the division as a product by `1 / sqrt(2)` too, with the
//! operands of every op in either order, and with the half first, last, or on `x`. Nothing between may have
//! another use or be an output, and the result must have the type of `x`. Constants may be off by a thousandth.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::{is_about, only_user_of_kind, operand_beside, operand_beside_scalar, same_type};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_gelu_exact",
    summary: "Fuses 0.5 * x * (1 + erf(x / sqrt(2))) into gelu",
    options: &[],
    spec: include_str!("../../specs/common/fuse_gelu_exact.mil"),
    make: |_: &Options| Box::new(FuseGeluExact),
};

struct FuseGeluExact;

impl Pass for FuseGeluExact {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseGeluExact {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Erf]
    }

    fn find(&self, f: &Function, erf: OpId) -> Option<Patch> {
        let scaled = f.op(erf).arg("x")?;
        let scale = f.producer(scaled).filter(|_| only_user_of_kind(f, scaled, OpKind::Erf) == Some(erf))?;
        let x = match f.kind(scale) {
            OpKind::RealDiv => f
                .op(scale)
                .arg("x")
                .filter(|_| f.op(scale).arg("y").is_some_and(|y| is_about(f, y, std::f64::consts::SQRT_2)))?,
            OpKind::Mul => operand_beside_scalar(f, scale, std::f64::consts::FRAC_1_SQRT_2)?,
            _ => return None,
        };
        gelu(f, x, erf, &[scale], "EXACT", "gelu_by_erf")
    }
}

/// The gelu of `x` whose gate is `1 + squashed`: replaces the ops behind `squashed` and erases those `inside` it,
/// users before makers.
pub(crate) fn gelu(
    f: &Function,
    x: ValueId,
    squashed: OpId,
    inside: &[OpId],
    mode: &str,
    rule: &'static str,
) -> Option<Patch> {
    let plus_one = only_user_of_kind(f, f.op(squashed).output(), OpKind::Add)?;
    operand_beside_scalar(f, plus_one, 1.0).filter(|&v| v == f.op(squashed).output())?;
    let gate = f.op(plus_one).output();
    let product = only_user_of_kind(f, gate, OpKind::Mul)?;
    let other = operand_beside(f, product, gate)?;
    let next = || only_user_of_kind(f, f.op(product).output(), OpKind::Mul);
    let (last, first) = if is_about(f, other, 0.5) {
        (next().filter(|&op| operand_beside(f, op, f.op(product).output()) == Some(x))?, product)
    } else if other == x {
        (next().filter(|&op| operand_beside_scalar(f, op, 0.5) == Some(f.op(product).output()))?, product)
    } else {
        let half = f.producer_of(other, OpKind::Mul)?;
        operand_beside_scalar(f, half, 0.5).filter(|&v| v == x)?;
        only_user_of_kind(f, other, OpKind::Mul)?;
        (product, half)
    };
    let out = f.op(last).output();
    if !same_type(f, x, out) {
        return None;
    }
    let mut patch = Patch::before(f, last, rule);
    let new = NewPatchOp::new(OpKind::Gelu, f.value(out).name.clone()).input("x", x);
    let new = patch.make(new.literal("mode", Const::string(mode)));
    patch.replace_op(f, last, new);
    [first, plus_one, squashed].into_iter().chain(inside.iter().copied()).for_each(|op| patch.erase(op));
    Some(patch)
}
