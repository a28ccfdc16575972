//! `common::dead_code_elimination`: ops that nothing uses go.
//!
//! An op stays when one of its results is used by an op that stays or is an output of its block, and when it
//! writes state. An op that holds blocks goes with them. It begins with the values that have no use, which a function
//! knows without a look at its ops, and goes on with what made the arguments of the ops that went.

use coremill_mil::{BlockId, Flags, Function, OpId, OpKind, Program, ValueId, schema_of};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::dead_code_elimination",
    summary: "Removes ops whose results nothing uses",
    options: &[],
    spec: include_str!("../../specs/common/dead_code_elimination.mil"),
    make: |_: &Options| Box::new(DeadCodeElimination),
};

struct DeadCodeElimination;

impl Pass for DeadCodeElimination {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            sweep(f, cx);
        }
        Ok(())
    }
}

fn sweep(f: &mut Function, cx: &mut PassContext) {
    let mut suspects: Vec<OpId> = f.unused_values().filter_map(|v| f.producer(v)).collect();
    while let Some(op) = suspects.pop() {
        if !f.is_live(op) {
            continue;
        }
        cx.visited += 1;
        if !is_dead(f, op) {
            continue;
        }
        if cx.is_exhausted() {
            return;
        }
        let read = values_read(f, op);
        f.erase(op);
        cx.rewrites += 1;
        suspects.extend(read.into_iter().filter(|&v| !f.is_used(v)).filter_map(|v| f.producer(v)));
    }
}

/// What an op and the ops nested in it read.
fn values_read(f: &Function, op: OpId) -> Vec<ValueId> {
    let mut read: Vec<ValueId> = f.op(op).operands().collect();
    let mut blocks: Vec<BlockId> = f.op(op).blocks().to_vec();
    while let Some(block) = blocks.pop() {
        read.extend(f.block(block).outputs());
        for op in f.ops_in(block) {
            read.extend(f.op(op).operands());
            blocks.extend(f.op(op).blocks());
        }
    }
    read
}

/// An op without results does its work by being there.
fn is_dead(f: &Function, op: OpId) -> bool {
    let outputs = f.op(op).outputs();
    !outputs.is_empty() && outputs.iter().all(|&v| !f.is_used(v)) && !writes_state(f.kind(op))
}

fn writes_state(kind: OpKind) -> bool {
    schema_of(kind).is_some_and(|s| s.flags.has(Flags::WRITES_STATE))
}
