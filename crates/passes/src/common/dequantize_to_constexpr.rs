//! `common::dequantize_to_constexpr`: a `dequantize` of a constant is a compressed weight.
//!
//! It becomes `constexpr_affine_dequantize`, or from ios18 on `constexpr_blockwise_shift_scale`, with 4-bit data where all
//! elements fit into that. The weight stays small in the file, and constant folding leaves it alone. A single number of
//! rank 0 stays, since compressed weights have at least one dimension.

use coremill_mil::{Const, Function, OpId, OpKind, Opset, Program};
use coremill_tensor::{DType, Data};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::quantization::{Affine, affine_dequantize, affine_of, is_all};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::dequantize_to_constexpr",
    summary: "Replaces a dequantize of a constant by a compressed weight",
    options: &[],
    spec: include_str!("../../specs/common/dequantize_to_constexpr.mil"),
    make: |_: &Options| Box::new(DequantizeToConstexpr),
};

struct DequantizeToConstexpr;

impl Pass for DequantizeToConstexpr {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for DequantizeToConstexpr {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Dequantize]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let data = f.const_arg(op, "input")?.as_data().filter(|d| d.rank() > 0)?;
        let affine = affine_of(f, op)?;
        let name = format!("{}_affine_dequantized", f.value(f.op(op).output()).name);
        let new =
            if f.opset >= Opset::Ios18 { shift_scale(name, data, &affine)? } else { dequantized(name, data, &affine)? };
        let mut patch = Patch::before(f, op, "constant_input");
        let new = patch.make(new);
        patch.replace_op(f, op, new);
        Some(patch)
    }
}

fn dequantized(name: String, data: &Data, affine: &Affine<'_>) -> Option<NewPatchOp> {
    let zero = match data.dtype() {
        DType::Int8 => Data::scalar(0i8),
        _ => Data::scalar(0u8),
    };
    let zero_point = Const::Tensor(affine.zero_point.cloned().unwrap_or(zero));
    let (data, scale) = (Const::Tensor(data.clone()), Const::Tensor(affine.scale.clone()));
    Some(affine_dequantize(name, data, zero_point, scale, i32::try_from(affine.axis.unwrap_or(0)).ok()?))
}

fn shift_scale(name: String, data: &Data, affine: &Affine<'_>) -> Option<NewPatchOp> {
    // Parameters have the rank of the data, with the extents that they run along.
    let mut shape = vec![1; data.rank()];
    if let Some(axis) = affine.axis {
        let axis = usize::try_from(if axis < 0 { axis + data.rank() as i64 } else { axis }).ok()?;
        *shape.get_mut(axis)? = *data.shape().get(axis)?;
    }
    let four = if data.dtype() == DType::UInt8 { DType::UInt4 } else { DType::Int4 };
    let packed = |d: &Data| Data::pack(four, d.shape(), &d.to_i64s()?);
    let zero_point = match affine.zero_point.filter(|z| !is_all(z, 0)) {
        Some(z) => Some(z.reshaped(&shape)?),
        None => None,
    };
    // Zero points are of the type of the data: both fit into four bits, or neither is cut.
    let small = packed(data).zip(match &zero_point {
        Some(z) => packed(z).map(Some),
        None => Some(None),
    });
    let (data, zero_point) = small.unwrap_or_else(|| (data.clone(), zero_point));
    let new = NewPatchOp::new(OpKind::ConstexprBlockwiseShiftScale, name).literal("data", Const::Tensor(data));
    let new = new.literal("scale", Const::Tensor(affine.scale.reshaped(&shape)?));
    Some(new.maybe_literal("offset", zero_point.map(Const::Tensor)))
}
