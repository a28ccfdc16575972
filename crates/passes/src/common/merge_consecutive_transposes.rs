//! `common::merge_consecutive_transposes`: two transposes in a row are one with the composed order.
//!
//! It applies where nothing but the outer uses the inner result and it is no output of its block. A chain ends as
//! one transpose, kept even when it keeps the order (`common::noop_elimination` removes it).

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::merge_consecutive_transposes",
    summary: "Merges a chain of transpose ops into one",
    options: &[],
    spec: include_str!("../../specs/common/merge_consecutive_transposes.mil"),
    make: |_: &Options| Box::new(MergeConsecutiveTransposes),
};

struct MergeConsecutiveTransposes;

impl Pass for MergeConsecutiveTransposes {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for MergeConsecutiveTransposes {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Transpose]
    }

    fn find(&self, f: &Function, outer: OpId) -> Option<Patch> {
        let between = f.op(outer).arg("x")?;
        let inner = f.producer_of(between, OpKind::Transpose)?;
        if f.only_user(between) != Some(outer) || f.block_of(inner) != f.block_of(outer) {
            return None;
        }
        let (first, then) = (order(f, inner)?, order(f, outer)?);
        let composed = then.iter().map(|&axis| first.get(axis).map(|&a| a as i32)).collect::<Option<Vec<i32>>>()?;
        let out = f.op(outer).output();
        let mut patch = Patch::before(f, inner, "transpose_of_transpose");
        let merged = NewPatchOp::new(OpKind::Transpose, f.value(out).name.clone())
            .literal("perm", Const::int32s(&composed))
            .same(f, inner, "x");
        let merged = patch.make(merged);
        patch.replace_op(f, outer, merged);
        patch.erase(inner);
        Some(patch)
    }
}

/// The order of axes, each counted from the front.
fn order(f: &Function, op: OpId) -> Option<Vec<usize>> {
    let perm = f.const_arg(op, "perm")?.as_i64s()?;
    let rank = perm.len() as i64;
    perm.iter().map(|&p| usize::try_from(if p < 0 { p.saturating_add(rank) } else { p }).ok()).collect()
}
