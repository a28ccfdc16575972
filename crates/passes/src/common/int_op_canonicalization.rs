//! `common::int_op_canonicalization`: a `reshape` between `dequantize` and `quantize` works on the quantised data.
//!
//! Moving elements needs no floats. The two must have the same scalar scale and zero point, and the same integer type
//! before and after: otherwise the pair quantises anew, which is more than moving. What is between must have no other
//! use; the `dequantize` stays for its other users.

use coremill_mil::{Function, OpId, OpKind, Program, schema};

use crate::conv_fusion::follower;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::quantization::affine_of;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::int_op_canonicalization",
    summary: "Makes a reshape between dequantize and quantize work on the quantised data",
    options: &[],
    spec: include_str!("../../specs/common/int_op_canonicalization.mil"),
    make: |_: &Options| Box::new(IntOpCanonicalization),
};

struct IntOpCanonicalization;

impl Pass for IntOpCanonicalization {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for IntOpCanonicalization {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Reshape]
    }

    fn find(&self, f: &Function, reshape: OpId) -> Option<Patch> {
        let dequantize = f.producer_of(f.op(reshape).arg("x")?, OpKind::Dequantize)?;
        let quantize = follower(f, reshape, &[OpKind::Quantize])?;
        let data = f.op(dequantize).arg("input")?;
        let (from, to) = (affine_of(f, dequantize)?, affine_of(f, quantize)?);
        let out = f.op(quantize).output();
        let dtype = f.ty(data).dtype()?;
        let same = from.same(&to) && from.axis.is_none() && f.ty(out).dtype() == Some(dtype);
        if !same || !schema::accepts(OpKind::Reshape, f.opset, "x", dtype) {
            return None;
        }
        let mut patch = Patch::before(f, quantize, "quantised_reshape");
        let new = NewPatchOp::new(OpKind::Reshape, f.value(out).name.clone()).input("x", data);
        let new = patch.make(new.same(f, reshape, "shape"));
        patch.replace_op(f, quantize, new);
        patch.erase(reshape);
        Some(patch)
    }
}
