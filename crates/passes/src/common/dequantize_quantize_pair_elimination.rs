//! `common::dequantize_quantize_pair_elimination`: a `quantize` of what was dequantised with the same parameters goes.
//!
//! Scale, zero point, axis and integer type must be the same; then the quantised data is what comes out. The `dequantize`
//! stays for its other users. One whose floats are an output stays with its pair, as does a pair from an input of the
//! function straight to an output. The opposite pair says with which precision to compute, and is not touched.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::quantization::affine_of;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::dequantize_quantize_pair_elimination",
    summary: "Removes a quantize of what was dequantised with the same parameters",
    options: &[],
    spec: include_str!("../../specs/common/dequantize_quantize_pair_elimination.mil"),
    make: |_: &Options| Box::new(PairElimination),
};

struct PairElimination;

impl Pass for PairElimination {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for PairElimination {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Quantize]
    }

    fn find(&self, f: &Function, quantize: OpId) -> Option<Patch> {
        let floats = f.op(quantize).arg("input")?;
        let dequantize = f.producer_of(floats, OpKind::Dequantize)?;
        let data = f.op(dequantize).arg("input")?;
        let out = f.op(quantize).output();
        let same = affine_of(f, dequantize)?.same(&affine_of(f, quantize)?) && f.ty(data).dtype() == f.ty(out).dtype();
        let straight = f.is_function_output(out) && (f.inputs().contains(&data) || f.is_function_output(data));
        if !same || straight || f.is_block_output(floats) {
            return None;
        }
        let mut patch = Patch::before(f, quantize, "pair");
        patch.replace_op(f, quantize, data);
        if f.only_user(floats) == Some(quantize) {
            patch.erase(dequantize);
        }
        Some(patch)
    }
}
