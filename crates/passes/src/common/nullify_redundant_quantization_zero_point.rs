//! `common::nullify_redundant_quantization_zero_point`: zero points that another integer type makes zero go.
//!
//! A zero point of 0 is none. One of -128 for int8, or 128 for uint8, is none in the other type: for a `dequantize` of a
//! constant, which is shifted, and for a `quantize` that only a `dequantize` with the same zero point reads. No value of
//! the result changes.

use coremill_mil::{Const, Function, OpId, OpKind, Program};
use coremill_tensor::{DType, Data};

use crate::conv_fusion::follower;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::quantization::is_all;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::nullify_redundant_quantization_zero_point",
    summary: "Removes zero points of quantisation that are zero, or are in the other integer type",
    options: &[],
    spec: include_str!("../../specs/common/nullify_redundant_quantization_zero_point.mil"),
    make: |_: &Options| Box::new(NullifyZeroPoint),
};

struct NullifyZeroPoint;

impl Pass for NullifyZeroPoint {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// The other 8-bit type and the shift to it, for a zero point at the end of its type's range.
fn other_type(zero_point: &Data) -> Option<(DType, i64)> {
    match zero_point.dtype() {
        DType::Int8 if is_all(zero_point, -128) => Some((DType::UInt8, 128)),
        DType::UInt8 if is_all(zero_point, 128) => Some((DType::Int8, -128)),
        _ => None,
    }
}

fn shifted(data: &Data, to: DType, by: i64) -> Option<Const> {
    let values = data.to_i64s()?.into_iter().map(|v| v + by);
    Some(Const::Tensor(match to {
        DType::UInt8 => Data::from_vec(data.shape(), values.map(|v| u8::try_from(v).ok()).collect::<Option<_>>()?),
        _ => Data::from_vec(data.shape(), values.map(|v| i8::try_from(v).ok()).collect::<Option<_>>()?),
    }))
}

impl Rewrite for NullifyZeroPoint {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Quantize, OpKind::Dequantize]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let zero_point = f.const_arg(op, "zero_point")?.as_data()?;
        let name = |op: OpId| f.value(f.op(op).output()).name.clone();
        let mut patch = Patch::before(f, op, "zero_point");
        if is_all(zero_point, 0) {
            let new = patch.make(NewPatchOp::new(f.kind(op), name(op)).same_but(f, op, &["zero_point"]));
            patch.replace_op(f, op, new);
            return Some(patch);
        }
        let (to, by) = other_type(zero_point)?;
        if f.kind(op) == OpKind::Dequantize {
            let data = f.const_arg(op, "input")?.as_data()?;
            let new = NewPatchOp::new(OpKind::Dequantize, name(op)).same_but(f, op, &["zero_point", "input"]);
            let new = patch.make(new.literal("input", shifted(data, to, by)?));
            patch.replace_op(f, op, new);
            return Some(patch);
        }
        let dequantize = follower(f, op, &[OpKind::Dequantize])?;
        if f.const_arg(dequantize, "zero_point")?.as_data()? != zero_point {
            return None;
        }
        let mut patch = Patch::before(f, dequantize, "zero_points");
        let new = NewPatchOp::new(OpKind::Quantize, name(op)).same_but(f, op, &["zero_point", "output_dtype"]);
        let quantized = patch.make(new.literal("output_dtype", Const::string(to.name())));
        let new = NewPatchOp::new(OpKind::Dequantize, name(dequantize)).input("input", quantized);
        let new = patch.make(new.same_but(f, dequantize, &["zero_point", "input"]));
        patch.replace_op(f, dequantize, new);
        patch.erase(op);
        Some(patch)
    }
}
