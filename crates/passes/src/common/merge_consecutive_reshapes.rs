//! `common::merge_consecutive_reshapes`: of a chain of reshapes only the last has an effect.
//!
//! `reshape(reshape(x, a), b)` becomes `reshape(x, b)` where nothing else uses the inner result and it is no
//! output of its block. A `b` with a 0, which copies an extent of its input, keeps the inner reshape, unless the
//! result's extents are known: then they are what `b` stands for.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::merge_consecutive_reshapes",
    summary: "Merges a chain of reshape ops into one",
    options: &[],
    spec: include_str!("../../specs/common/merge_consecutive_reshapes.mil"),
    make: |_: &Options| Box::new(MergeConsecutiveReshapes),
};

struct MergeConsecutiveReshapes;

impl Pass for MergeConsecutiveReshapes {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for MergeConsecutiveReshapes {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Reshape]
    }

    fn find(&self, f: &Function, outer: OpId) -> Option<Patch> {
        let between = f.op(outer).arg("x")?;
        let inner = f.producer_of(between, OpKind::Reshape)?;
        if f.only_user(between) != Some(outer) || f.block_of(inner) != f.block_of(outer) {
            return None;
        }
        let out = f.op(outer).output();
        let mut patch = Patch::before(f, outer, "reshape_of_reshape");
        let mut merged = NewPatchOp::new(OpKind::Reshape, f.value(out).name.clone()).same(f, inner, "x");
        if copies_extents(f, outer) {
            let known = f.ty(out).shape()?.to_known()?;
            let extents = known.into_iter().map(|d| i32::try_from(d).ok()).collect::<Option<Vec<i32>>>()?;
            merged = merged.literal("shape", Const::int32s(&extents));
        } else {
            merged = merged.same(f, outer, "shape");
        }
        let merged = patch.make(merged.types(vec![f.ty(out).clone()]));
        patch.replace_op(f, outer, merged);
        patch.erase(inner);
        Some(patch)
    }
}

/// Does the shape hold a 0, or may it, being computed?
fn copies_extents(f: &Function, op: OpId) -> bool {
    f.const_arg(op, "shape").and_then(Const::as_i64s).is_some_and(|s| s.contains(&0))
}
