//! `common::distributive_quantized_binary_op_scale_normalization`: of a quantised sum, one operand gets the scale 1.
//!
//! `quantize(dequantize(x, s_x) + dequantize(y, s_y), s_z)`, for `add` and `sub` with a `relu` behind or not, becomes the same
//! with the scales `s_x / s_y`, 1 and `s_z / s_y`: a runtime then fuses one scale and skips the other. The operand that gets 1
//! has a scalar scale greater than zero; the quotients, and the largest sum that they can give, must be numbers that float16
//! holds. Only the quantised result is the same, so what is between must have no other use. Operands that have other users are
//! dequantised for those as before.

use coremill_mil::{Const, Function, OpId, OpKind, Program};
use coremill_tensor::Data;

use crate::conv_fusion::follower;
use crate::matching::float_const;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::quantization::affine_of;
use crate::range::FP16_MAX;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::distributive_quantized_binary_op_scale_normalization",
    summary: "Gives one operand of a quantised sum the scale 1",
    options: &[],
    spec: include_str!("../../specs/common/distributive_quantized_binary_op_scale_normalization.mil"),
    make: |_: &Options| Box::new(ScaleNormalization),
};

/// The largest difference of an 8-bit number and a zero point.
const LARGEST_STEP: f64 = 255.0;

/// The smallest float16 above zero.
const FP16_MIN: f64 = 5.960_464_477_539_063e-8;

struct ScaleNormalization;

impl Pass for ScaleNormalization {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// The scale divided by a number; `None` where a quotient is no float16.
fn divided(scale: &Data, by: f64) -> Option<Const> {
    let quotients: Vec<f64> = scale.to_f64s()?.into_iter().map(|s| s / by).collect();
    let fits = |q: &f64| (FP16_MIN..=f64::from(FP16_MAX)).contains(&q.abs());
    if quotients.iter().all(fits) { float_const(scale.dtype(), scale.shape(), quotients) } else { None }
}

impl Rewrite for ScaleNormalization {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Add, OpKind::Sub]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let operand = |name| f.producer_of(f.op(op).arg(name)?, OpKind::Dequantize);
        let (x, y) = (operand("x")?, operand("y")?);
        let tail = follower(f, op, &[OpKind::Relu]).unwrap_or(op);
        let quantize = follower(f, tail, &[OpKind::Quantize])?;
        // The one that gets 1: the second, where it can be.
        let (unit, other) = [(y, x), (x, y)].into_iter().find(|&(unit, other)| is_divisor(f, unit, other, quantize))?;
        let by = affine_of(f, unit)?.scale.scalar_f64()?;
        let mut patch = Patch::before(f, quantize, "common_scale");
        let one = float_const(affine_of(f, unit)?.scale.dtype(), &[], vec![1.0])?;
        let of_unit = rescaled(f, &mut patch, unit, one);
        let of_other = rescaled(f, &mut patch, other, divided(affine_of(f, other)?.scale, by)?);
        let (first, second) = if unit == y { (of_other, of_unit) } else { (of_unit, of_other) };
        let name = |op: OpId| f.value(f.op(op).output()).name.clone();
        let mut result = patch.make(NewPatchOp::new(f.kind(op), name(op)).input("x", first).input("y", second));
        if tail != op {
            result = patch.make(NewPatchOp::new(OpKind::Relu, name(tail)).input("x", result));
        }
        let new = NewPatchOp::new(OpKind::Quantize, name(quantize)).input("input", result);
        let new = new.same_but(f, quantize, &["input", "scale"]);
        let new = patch.make(new.literal("scale", divided(affine_of(f, quantize)?.scale, by)?));
        patch.replace_op(f, quantize, new);
        if tail != op {
            patch.erase(tail);
        }
        // The operands stay where they have other users: erasing leaves alone what is in use.
        [op, x, y].into_iter().for_each(|op| patch.erase(op));
        Some(patch)
    }
}

/// Can all scales be divided by that of `unit`? One that is 1 already has nothing to give.
fn is_divisor(f: &Function, unit: OpId, other: OpId, quantize: OpId) -> bool {
    let check = || {
        let by = affine_of(f, unit).filter(|a| a.axis.is_none())?.scale.scalar_f64()?;
        // What was a number before must not become infinite on the way: the one that gets 1 adds its steps.
        let quotients = divided(affine_of(f, other)?.scale, by)?.as_data()?.to_f64s()?;
        let fits = |q: &f64| LARGEST_STEP * (q.abs() + 1.0) <= f64::from(FP16_MAX);
        if !quotients.iter().all(fits) {
            return None;
        }
        divided(affine_of(f, quantize)?.scale, by)?;
        let is_unit = |op: OpId| affine_of(f, op).and_then(|a| a.scale.scalar_f64()) == Some(1.0);
        let is_output = |op: OpId| f.is_block_output(f.op(op).output());
        Some(by > 0.0 && !is_unit(unit) && !is_unit(other) && !is_output(unit) && !is_output(other))
    };
    check().unwrap_or(false)
}

fn rescaled(f: &Function, patch: &mut Patch, dequantize: OpId, scale: Const) -> PatchValue {
    let name = format!("{}_rescaled", f.value(f.op(dequantize).output()).name);
    let new = NewPatchOp::new(OpKind::Dequantize, name).same_but(f, dequantize, &["scale"]);
    patch.make(new.literal("scale", scale))
}
