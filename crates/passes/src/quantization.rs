//! Affine quantisation as passes see it: parameters that are constants.

use coremill_mil::{Const, Function, OpId};
use coremill_tensor::Data;

use crate::patch::NewPatchOp;

/// The parameters of a `quantize` or `dequantize`.
#[derive(Clone, Copy)]
pub(crate) struct Affine<'a> {
    /// Scale: a scalar, or a vector along `axis`.
    pub scale: &'a Data,
    /// Zero point, where there is one.
    pub zero_point: Option<&'a Data>,
    /// The axis of a vector.
    pub axis: Option<i64>,
}

impl<'a> Affine<'a> {
    /// Do the two mean the same? A zero point of zeros is none.
    pub(crate) fn same(&self, other: &Affine<'_>) -> bool {
        self.scale == other.scale && self.axis == other.axis && self.shift() == other.shift()
    }

    fn shift(&self) -> Option<&'a Data> {
        self.zero_point.filter(|z| !is_all(z, 0))
    }
}

/// The parameters, where all are constants.
pub(crate) fn affine_of(f: &Function, op: OpId) -> Option<Affine<'_>> {
    let given = |name: &str| match f.op(op).arg(name) {
        Some(v) => Some(Some(f.const_value(v)?)),
        None => Some(None),
    };
    let scale = f.const_arg(op, "scale")?.as_data()?;
    let zero_point = match given("zero_point")? {
        Some(c) => Some(c.as_data()?),
        None => None,
    };
    let axis = match given("axis")? {
        Some(c) => Some(c.as_i64()?),
        None => None,
    };
    Some(Affine { scale, zero_point, axis })
}

/// Are all elements this number?
pub(crate) fn is_all(d: &Data, n: i64) -> bool {
    d.to_i64s().is_some_and(|v| v.iter().all(|&v| v == n))
}

/// A `constexpr_affine_dequantize`, which has its inputs as attributes.
pub(crate) fn affine_dequantize(name: String, data: Const, zero_point: Const, scale: Const, axis: i32) -> NewPatchOp {
    NewPatchOp::new(coremill_mil::OpKind::ConstexprAffineDequantize, name)
        .attribute("quantized_data", data)
        .attribute("zero_point", zero_point)
        .attribute("scale", scale)
        .attribute("axis", Const::int32(axis))
}
