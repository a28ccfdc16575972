//! `common::cast_optimization`: casts that change nothing go, and two casts in a row become one.
//!
//! `cast(x)` to the dtype that `x` has is `x`. `cast(cast(x, b), c)` is `cast(x, c)` where the dtype of `x` fits
//! into `b` without loss: then the first cast changes no value. Every other pair stays, whatever the ranges look
//! like, since a value that `b` rounds, truncates or clips is another value. The first cast stays for its other
//! users and dies with dead code otherwise.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};
use coremill_tensor::DType;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::cast_optimization",
    summary: "Removes casts that change nothing and merges casts in a row",
    options: &[],
    spec: include_str!("../../specs/common/cast_optimization.mil"),
    make: |_: &Options| Box::new(CastOptimization),
};

struct CastOptimization;

impl Pass for CastOptimization {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for CastOptimization {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Cast]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let x = f.op(op).arg("x")?;
        let to = f.const_arg(op, "dtype").and_then(Const::as_str)?;
        let out_dtype = f.ty(f.op(op).output()).dtype()?;
        if f.ty(x).dtype() == Some(out_dtype) {
            let mut patch = Patch::before(f, op, "cast_to_same_dtype");
            let kept = public(f, &mut patch, x, op);
            patch.replace_op(f, op, kept);
            return Some(patch);
        }
        let first = f.producer_of(x, OpKind::Cast)?;
        let source = f.op(first).arg("x")?;
        let from = f.ty(source).dtype()?;
        if !fits(from, f.ty(x).dtype()?) {
            return None;
        }
        let mut patch = Patch::before(f, op, "cast_of_cast");
        let merged = if from == out_dtype {
            public(f, &mut patch, source, op)
        } else {
            let name = format!("{}_to_{to}", f.value(source).name);
            patch.make(NewPatchOp::new(OpKind::Cast, name).input("x", source).same(f, op, "dtype"))
        };
        patch.replace_op(f, op, merged);
        Some(patch)
    }
}

/// `v`, or a copy of it where an input of the function would otherwise become an output under another name.
fn public(f: &Function, patch: &mut Patch, v: ValueId, op: OpId) -> PatchValue {
    let out = f.op(op).output();
    if f.is_function_output(out) && (f.inputs().contains(&v) || f.is_function_output(v)) {
        patch.make(NewPatchOp::new(OpKind::Identity, f.value(out).name.clone()).input("x", v))
    } else {
        v.into()
    }
}

/// Is every value of `from` a value of `into`?
fn fits(from: DType, into: DType) -> bool {
    if from == into {
        return true;
    }
    // Bits of the significand, and the exponents reached, of the float types; whole numbers up to 2^bits are exact.
    let significand = |d: DType| match d {
        DType::Fp16 => Some(11u32),
        DType::Fp32 => Some(24),
        DType::Fp64 => Some(53),
        _ => None,
    };
    match (significand(from), significand(into)) {
        (Some(a), Some(b)) => a <= b,
        (Some(_), None) => false,
        (None, into_bits) => {
            let Some((low, high)) = from.int_range() else { return false };
            match (into_bits, into.int_range()) {
                // fp16 reaches 65504, so its exponent is no limit before its significand is.
                (Some(bits), _) => high <= 1 << bits && low >= -(1 << bits),
                (None, Some((l, h))) => into != DType::Bool && low >= l && high <= h,
                (None, None) => false,
            }
        }
    }
}
