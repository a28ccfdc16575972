//! `common::dead_code_elimination`: ops that nothing uses go.
//!
//! An op stays when one of its results is used by an op that stays or is an output of its block, and when it
//! writes state. An op that holds blocks goes with them. One walk from the last op to the first finds all:
//! users come after what they use, so by the time an op is reached its dead users are gone.

use coremill_mil::{BlockId, Flags, Function, OpId, OpKind, Program, schema_of};

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
            sweep(f, f.body(), cx);
        }
        Ok(())
    }
}

fn sweep(f: &mut Function, block: BlockId, cx: &mut PassContext) {
    // An explicit stack, since nesting is as deep as the file says.
    let mut stack = vec![f.ops_in(block).last()];
    while let Some(top) = stack.last_mut() {
        let Some(op) = *top else {
            stack.pop();
            continue;
        };
        *top = f.prev(op);
        cx.visited += 1;
        if is_dead(f, op) && !cx.is_exhausted() {
            f.erase(op);
            cx.rewrites += 1;
        } else {
            stack.extend(f.op(op).blocks().iter().map(|&b| f.ops_in(b).last()));
        }
    }
}

/// An op without results does its work by being there.
fn is_dead(f: &Function, op: OpId) -> bool {
    let outputs = f.op(op).outputs();
    !outputs.is_empty() && outputs.iter().all(|&v| f.value(v).uses().is_empty()) && !writes_state(f.kind(op))
}

fn writes_state(kind: OpKind) -> bool {
    schema_of(kind).is_some_and(|s| s.flags.has(Flags::WRITES_STATE))
}
