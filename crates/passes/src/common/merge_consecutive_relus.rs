//! `common::merge_consecutive_relus`: `relu(relu(x))` is `relu(x)`.
//!
//! The outer one goes; the inner one must have no other user, so that a chain shrinks from its end as in the
//! peer. Its result may be an output of its block: it stays.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::merge_consecutive_relus",
    summary: "Merges a chain of relu ops into one",
    options: &[],
    spec: include_str!("../../specs/common/merge_consecutive_relus.mil"),
    make: |_: &Options| Box::new(MergeConsecutiveRelus),
};

struct MergeConsecutiveRelus;

impl Pass for MergeConsecutiveRelus {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for MergeConsecutiveRelus {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Relu]
    }

    fn find(&self, f: &Function, outer: OpId) -> Option<Patch> {
        let inner_out = f.op(outer).arg("x")?;
        f.producer_of(inner_out, OpKind::Relu)?;
        if f.users(inner_out).len() != 1 {
            return None;
        }
        let mut patch = Patch::before(f, outer, "relu_of_relu");
        patch.replace_op(f, outer, inner_out);
        Some(patch)
    }
}
