//! `common::canonicalize_inplace_pattern`: a state is written right behind the op that computes what is written.
//!
//! A write moves up to just behind that op where no op in between reads or writes the same state: then every read sees what
//! it saw before. The runtime recognises the pair as one update in place.

use coremill_mil::{Function, OpId, OpKind, Place, Program};
use rustc_hash::FxHashMap;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::state_ops::{states, written};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::canonicalize_inplace_pattern",
    summary: "Moves the write of a state right behind the op that computes what is written",
    options: &[],
    spec: include_str!("../../specs/common/canonicalize_inplace_pattern.mil"),
    make: |_: &Options| Box::new(CanonicalizeInplacePattern),
};

struct CanonicalizeInplacePattern;

impl Pass for CanonicalizeInplacePattern {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        program.functions.values_mut().for_each(|f| move_writes(f, cx));
        Ok(())
    }
}

fn move_writes(f: &mut Function, cx: &mut PassContext) {
    // Behind each op that computes what is written: the last write put there.
    let mut last_behind: FxHashMap<OpId, OpId> = FxHashMap::default();
    for (_, touching) in states(f) {
        let mut before: Option<OpId> = None;
        for op in touching {
            cx.visited += 1;
            let previous = before.replace(op);
            let Some(maker) = maker(f, op) else { continue };
            let anchor = last_behind.get(&maker).copied().unwrap_or(maker);
            let is_free = previous.is_none_or(|p| p == maker || p == anchor || f.is_before(p, maker));
            if !is_free || cx.is_exhausted() {
                continue;
            }
            if f.next(anchor) != Some(op) {
                f.move_op(op, Place::After(anchor));
                cx.rewrites += 1;
            }
            last_behind.insert(maker, op);
        }
    }
}

/// The op, in the block of the write, that computes what is written; not one on states itself.
fn maker(f: &Function, write: OpId) -> Option<OpId> {
    let maker = f.producer(written(f, write)?)?;
    let on_state = matches!(f.kind(maker), OpKind::ReadState | OpKind::CoremlUpdateState);
    (!on_state && f.block_of(maker) == f.block_of(write)).then_some(maker)
}
