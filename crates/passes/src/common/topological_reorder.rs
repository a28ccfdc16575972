//! `common::topological_reorder`: a `cast` or `transpose` moves down to just before its first user.
//!
//! One that is used by no op of its block (a use in a nested block counts for the op that holds the block) moves to the
//! end of the block. One that only casts, transposes and constants part from that place is there already and stays.
//! Nothing else moves, no value changes, and nothing is lost. What is dead moves to the end too and is left to dead
//! code elimination.

use coremill_mil::{BlockId, Function, OpId, OpKind, Place, Program, Use, ValueId};
use rustc_hash::FxHashMap;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::topological_reorder",
    summary: "Moves casts and transposes down to their first user",
    options: &[],
    spec: include_str!("../../specs/common/topological_reorder.mil"),
    make: |_: &Options| Box::new(TopologicalReorder),
};

struct TopologicalReorder;

impl Pass for TopologicalReorder {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            for block in f.all_blocks() {
                reorder(f, block, cx);
            }
        }
        Ok(())
    }
}

fn reorder(f: &mut Function, block: BlockId, cx: &mut PassContext) {
    let ops: Vec<OpId> = f.ops_in(block).collect();
    // Where each op that moves belongs: before this op, which does not move, or at the end.
    let mut anchors: FxHashMap<OpId, Option<OpId>> = FxHashMap::default();
    let mut below = None;
    // Users stand below: going upwards, each op finds its users where they will stay.
    for op in ops.into_iter().rev() {
        cx.visited += 1;
        match f.kind(op) {
            OpKind::Const => continue,
            OpKind::Cast | OpKind::Transpose => {}
            _ => {
                below = Some(op);
                continue;
            }
        }
        let first = first_user(f, block, f.op(op).output());
        let anchor = first.and_then(|u| anchors.get(&u).copied().unwrap_or(Some(u)));
        anchors.insert(op, anchor);
        if anchor != below && !cx.is_exhausted() {
            f.move_op(op, first.map_or(Place::End(block), Place::Before));
            cx.rewrites += 1;
        }
    }
}

/// The first op of `block` that uses `v`, itself or in a block nested in it.
fn first_user(f: &Function, block: BlockId, v: ValueId) -> Option<OpId> {
    let users = f.value(v).uses().iter().filter_map(|u| match u {
        Use::Op { op, .. } => holder(f, block, *op),
        Use::Output { block: b, .. } if *b == block => None,
        Use::Output { block: b, .. } => holder(f, block, f.block(*b).parent()?),
    });
    users.reduce(|a, b| if f.is_before(b, a) { b } else { a })
}

/// The op of `block` that is `op` or holds it.
fn holder(f: &Function, block: BlockId, mut op: OpId) -> Option<OpId> {
    while f.block_of(op) != block {
        op = f.block(f.block_of(op)).parent()?;
    }
    Some(op)
}
