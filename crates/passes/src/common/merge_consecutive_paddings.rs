//! `common::merge_consecutive_paddings`: two `pad` ops in a row, in one mode, are one `pad`.
//!
//! In mode `constant` they must fill with the same value. In the other modes they must not pad the same side of the same
//! axis: what the second repeats there is made of the first. Where a reflecting pad and another one pad the two sides of
//! one axis, the tensor itself must have enough to reflect. The value in between must have no other use and be no
//! output.

use coremill_mil::{Const, Function, OpId, OpKind, Program};
use coremill_tensor::Shape;

use crate::matching::{const_ints, private_producer};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::merge_consecutive_paddings",
    summary: "Merges a chain of pad ops of one mode into one",
    options: &[],
    spec: include_str!("../../specs/common/merge_consecutive_paddings.mil"),
    make: |_: &Options| Box::new(MergeConsecutivePaddings),
};

struct MergeConsecutivePaddings;

impl Pass for MergeConsecutivePaddings {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for MergeConsecutivePaddings {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Pad]
    }

    fn find(&self, f: &Function, outer: OpId) -> Option<Patch> {
        let inner = private_producer(f, f.op(outer).arg("x")?, OpKind::Pad, outer)?;
        let mode = mode(f, outer)?;
        if mode != self::mode(f, inner)? {
            return None;
        }
        let x = f.op(inner).arg("x")?;
        let (first, then) = (pairs(f, inner)?, pairs(f, outer)?);
        let merges = match mode {
            "constant" => fill(f, inner)? == fill(f, outer)?,
            "replicate" => sides_differ(&first, &then),
            "reflect" => sides_differ(&first, &then) && reflects_itself(f.ty(x).shape()?, &first, &then),
            _ => false,
        };
        if !merges {
            return None;
        }
        let mut pad = Vec::new();
        for i in (0..first.len().max(then.len())).rev() {
            for side in 0..2 {
                pad.push(i32::try_from(at(&first, i)[side].checked_add(at(&then, i)[side])?).ok()?);
            }
        }
        let mut patch = Patch::before(f, outer, "pad_of_pad");
        let new = NewPatchOp::new(OpKind::Pad, f.value(f.op(outer).output()).name.clone())
            .input("x", x)
            .literal("pad", Const::int32s(&pad))
            .same(f, outer, "mode")
            .same(f, outer, "constant_val");
        let merged = patch.make(new);
        patch.replace_op(f, outer, merged);
        patch.erase(inner);
        Some(patch)
    }
}

fn mode(f: &Function, op: OpId) -> Option<&str> {
    if f.op(op).arg("mode").is_none() { Some("constant") } else { f.const_arg(op, "mode")?.as_str() }
}

/// What a constant pad fills with, bit by bit, so that a NaN is itself and -0 is not 0.
fn fill(f: &Function, op: OpId) -> Option<u64> {
    if f.op(op).arg("constant_val").is_none() {
        return Some(0f64.to_bits());
    }
    f.const_arg(op, "constant_val")?.as_f64().map(f64::to_bits)
}

/// Before and after each axis, the innermost axis first.
fn pairs(f: &Function, op: OpId) -> Option<Vec<[i64; 2]>> {
    Some(const_ints(f, op, "pad")?.chunks_exact(2).rev().map(|p| [p[0], p[1]]).collect())
}

fn at(pairs: &[[i64; 2]], axis: usize) -> [i64; 2] {
    pairs.get(axis).copied().unwrap_or_default()
}

fn sides_differ(first: &[[i64; 2]], then: &[[i64; 2]]) -> bool {
    first.iter().zip(then).all(|(a, b)| (a[0] == 0 || b[0] == 0) && (a[1] == 0 || b[1] == 0))
}

/// On an axis that both pad, does the second reflect nothing that the first has made?
fn reflects_itself(shape: &Shape, first: &[[i64; 2]], then: &[[i64; 2]]) -> bool {
    first.iter().zip(then).zip(shape.iter().rev()).all(|((a, b), extent)| {
        let extent = extent.known().and_then(|n| i64::try_from(n).ok());
        *a == [0, 0] || *b == [0, 0] || extent.is_some_and(|n| b.iter().all(|&b| b < n))
    })
}
