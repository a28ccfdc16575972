//! `common::cast_optimization`: casts that change nothing go, and two casts in a row become one.
//!
//! `cast(x)` to the dtype that `x` has is `x`. `cast(cast(x, b), c)` is `cast(x, c)` where the first cast takes nothing
//! away that the second would have kept: the dtype of `x` fits into `b` without loss, or all are integers and `b` holds
//! what `c` can hold of `x`, or an integer goes through a float that is exact wherever `c` can tell. Every other pair
//! stays, since a value that `b` rounds, truncates or clips is another value; so does a pair whose merging would widen
//! the range of the result. The first cast stays for its other users and dies with dead code otherwise.

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
        let out = f.ty(f.op(op).output()).dtype()?;
        let between = f.ty(x).dtype()?;
        // The pair first: a cast that is redundant behind another one is the other one's business.
        if let Some(first) = f.producer_of(x, OpKind::Cast) {
            let source = f.op(first).arg("x")?;
            let from = f.ty(source).dtype()?;
            if from != between && may_merge(from, between, out) {
                return merge(f, op, source, from == out);
            }
        }
        if between != out {
            return None;
        }
        let mut patch = Patch::before(f, op, "cast_to_same_dtype");
        let kept = public(f, &mut patch, x, op);
        patch.replace_op(f, op, kept);
        Some(patch)
    }
}

fn merge(f: &Function, op: OpId, source: ValueId, gives_back: bool) -> Option<Patch> {
    let to = f.const_arg(op, "dtype").and_then(Const::as_str)?;
    let mut patch = Patch::before(f, op, "cast_of_cast");
    let merged = if gives_back {
        public(f, &mut patch, source, op)
    } else {
        let name = format!("{}_to_{to}", f.value(source).name);
        patch.make(NewPatchOp::new(OpKind::Cast, name).input("x", source).same(f, op, "dtype"))
    };
    patch.replace_op(f, op, merged);
    Some(patch)
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

/// May `from -> between -> to` become `from -> to`?
fn may_merge(from: DType, between: DType, to: DType) -> bool {
    keeps_range(from, between, to) && keeps_values(from, between, to)
}

/// Does no value change? Values that `to` cannot hold are clipped to its ends either way.
fn keeps_values(from: DType, between: DType, to: DType) -> bool {
    // Integers through an integer: those that `to` can hold at all pass through unharmed.
    let narrows = between.is_int() && to.is_int() && within(meet(range(from), range(to)), range(between));
    // Integers through a float: rounding keeps order and zero, and is exact where `to` can tell the difference.
    let carries = from.is_int()
        && between.is_float()
        && match to {
            DType::Bool => true,
            DType::Fp16 => between == DType::Fp32,
            _ => to.is_int() && fits(to, between),
        };
    between == to || fits(from, between) || narrows || carries
}

fn meet(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.max(b.0), a.1.min(b.1))
}

fn within(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 >= b.0 && a.1 <= b.1
}

/// Is the range that the chain lets through, and its finest step, that of the direct cast?
fn keeps_range(from: DType, between: DType, to: DType) -> bool {
    let direct = meet(range(from), range(to));
    meet(direct, range(between)) == direct && step(between) <= step(from).max(step(to))
}

fn range(d: DType) -> (f64, f64) {
    match (d.int_range(), d) {
        (Some((low, high)), _) => (low as f64, high as f64),
        (None, DType::Fp16) => (-65504.0, 65504.0),
        (None, DType::Fp32) => (f64::from(f32::MIN), f64::from(f32::MAX)),
        _ => (f64::MIN, f64::MAX),
    }
}

/// Decimal digits that a type keeps, as the step between two numbers around one.
fn step(d: DType) -> f64 {
    match d {
        DType::Fp16 => 1e-3,
        DType::Fp32 => 1e-6,
        DType::Fp64 => 1e-15,
        _ => 1.0,
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
