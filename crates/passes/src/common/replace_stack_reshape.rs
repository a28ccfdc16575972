//! `common::replace_stack_reshape`: a `stack` of two whose new axis a `reshape` merges into a neighbour is a `concat`.
//!
//! Merged into the axis behind it, the tensors follow each other: `concat`. Merged into the axis before it, they
//! alternate: `concat` with `interleave`. All extents must be known. The stack must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::conv_fusion::follower;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::replace_stack_reshape",
    summary: "Replaces a stack and a reshape that merges the new axis by concat",
    options: &[],
    spec: include_str!("../../specs/common/replace_stack_reshape.mil"),
    make: |_: &Options| Box::new(ReplaceStackReshape),
};

struct ReplaceStackReshape;

impl Pass for ReplaceStackReshape {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for ReplaceStackReshape {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Stack]
    }

    fn find(&self, f: &Function, stack: OpId) -> Option<Patch> {
        let values: Vec<ValueId> = f.op(stack).args("values").collect();
        let before = f.ty(*values.first()?).shape()?.to_known()?;
        let reshape = follower(f, stack, &[OpKind::Reshape])?;
        let out = f.op(reshape).output();
        let after = f.ty(out).shape()?.to_known()?;
        let axis = f.const_arg(stack, "axis")?.as_i64()?;
        let axis = usize::try_from(if axis < 0 { axis + before.len() as i64 + 1 } else { axis }).ok()?;
        if values.len() != 2 || before.len() != after.len() {
            return None;
        }
        let mut differing = (0..before.len()).filter(|&d| before[d] != after[d]);
        let merged = differing.next().filter(|_| differing.next().is_none())?;
        let neighbours = merged == axis || merged + 1 == axis;
        if !neighbours || before[merged].checked_mul(2) != Some(after[merged]) {
            return None;
        }
        let mut patch = Patch::before(f, reshape, "stack_and_reshape");
        let new = NewPatchOp::new(OpKind::Concat, f.value(out).name.clone())
            .list("values", values.into_iter().map(Into::into))
            .literal("axis", Const::int32(i32::try_from(merged).ok()?))
            .literal("interleave", Const::bool(merged + 1 == axis));
        let new = patch.make(new);
        patch.replace_op(f, reshape, new);
        patch.erase(stack);
        Some(patch)
    }
}
