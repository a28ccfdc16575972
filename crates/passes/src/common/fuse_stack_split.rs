//! `common::fuse_stack_split`: tensors that are stacked, split and squeezed again are the tensors.
//!
//! A `split` of a `stack` along its axis into as many parts, each of which only a `squeeze` of that axis reads: each squeeze
//! becomes an `identity` of the tensor that was stacked. No part may be an output; the stack stays for its other users.

use coremill_mil::{Function, OpId, OpKind, Program, ValueId};

use crate::matching::{const_ints, only_user_of_kind};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_stack_split",
    summary: "Removes a stack that a split and squeezes take apart again",
    options: &[],
    spec: include_str!("../../specs/common/fuse_stack_split.mil"),
    make: |_: &Options| Box::new(FuseStackSplit),
};

struct FuseStackSplit;

impl Pass for FuseStackSplit {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseStackSplit {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Split]
    }

    fn find(&self, f: &Function, split: OpId) -> Option<Patch> {
        let stacked = f.op(split).arg("x")?;
        let stack = f.producer_of(stacked, OpKind::Stack)?;
        let values: Vec<ValueId> = f.op(stack).args("values").collect();
        let rank = f.ty(*values.first()?).rank()? as i64 + 1;
        let axis_of = |op: OpId| Some(f.const_arg(op, "axis")?.as_i64()?.rem_euclid(rank));
        let axis = axis_of(stack)?;
        let parts = f.op(split).outputs();
        if axis_of(split)? != axis || parts.len() != values.len() || f.block_of(stack) != f.block_of(split) {
            return None;
        }
        if f.op(split).arg("split_sizes").is_some() && const_ints(f, split, "split_sizes")?.iter().any(|&n| n != 1) {
            return None;
        }
        let mut squeezes = Vec::with_capacity(parts.len());
        for &part in parts {
            let squeeze = only_user_of_kind(f, part, OpKind::Squeeze)?;
            let [axes] = const_ints(f, squeeze, "axes")?[..] else { return None };
            if axes.rem_euclid(rank) != axis {
                return None;
            }
            squeezes.push(squeeze);
        }
        let mut patch = Patch::before(f, *squeezes.first()?, "stack_and_split");
        for (&squeeze, v) in squeezes.iter().zip(values) {
            patch.move_to(coremill_mil::Place::Before(squeeze));
            let name = f.value(f.op(squeeze).output()).name.clone();
            let same = patch.make(NewPatchOp::new(OpKind::Identity, name).input("x", v));
            patch.replace_op(f, squeeze, same);
        }
        patch.erase(split);
        if f.only_user(stacked) == Some(split) {
            patch.erase(stack);
        }
        Some(patch)
    }
}
