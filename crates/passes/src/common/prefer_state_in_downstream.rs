//! `common::prefer_state_in_downstream`: what was written to a state is read from it by the ops that follow.
//!
//! Behind a write, other uses of the written value become uses of the state's value, so that the memory of the value need
//! not be kept. A write without a result gets a `read_state` behind it for that. Uses that are writes themselves do not
//! ask for it alone, and a value that is an input and an output of its function stays.

use coremill_mil::{Builder, Function, OpId, OpKind, Place, Program, Use, ValueId};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::state_ops::{states, written};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::prefer_state_in_downstream",
    summary: "Makes ops behind the write of a state read the state instead of the written value",
    options: &[],
    spec: include_str!("../../specs/common/prefer_state_in_downstream.mil"),
    make: |_: &Options| Box::new(PreferStateInDownstream),
};

struct PreferStateInDownstream;

impl Pass for PreferStateInDownstream {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            for (state, touching) in states(f) {
                for op in touching {
                    cx.visited += 1;
                    prefer_state(f, state, op, cx)?;
                }
            }
        }
        Ok(())
    }
}

fn prefer_state(f: &mut Function, state: ValueId, write: OpId, cx: &mut PassContext) -> Result<(), PassError> {
    let Some(v) = written(f, write) else { return Ok(()) };
    let uses = f.value(v).uses().to_vec();
    let ask = uses.iter().any(|u| matches!(u, Use::Op { op, .. } if *op != write && written(f, *op).is_none()));
    let passes_through = f.inputs().contains(&v) && f.is_function_output(v);
    let later: Vec<Use> = uses.into_iter().filter(|u| comes_after(f, *u, write)).collect();
    if !ask || passes_through || later.is_empty() || cx.is_exhausted() {
        return Ok(());
    }
    let read = match f.op(write).outputs() {
        [read, ..] => *read,
        [] => match f.next(write).filter(|&n| f.kind(n) == OpKind::ReadState && f.op(n).arg("input") == Some(state)) {
            Some(next) => f.op(next).output(),
            None => read_behind(f, state, write, v, cx)?,
        },
    };
    if !f.ty(read).compatible(f.ty(v)) {
        return Ok(());
    }
    later.into_iter().for_each(|u| f.set_use_at(u, read));
    cx.rewrites += 1;
    Ok(())
}

fn read_behind(
    f: &mut Function,
    state: ValueId,
    write: OpId,
    v: ValueId,
    cx: &PassContext,
) -> Result<ValueId, PassError> {
    let mut origin = f.op(write).origin.clone();
    origin.touch(&cx.id);
    let name = format!("{}_in_state", f.value(v).name);
    let mut b = Builder::new(f, Place::After(write)).with_origin(origin);
    let read = b.op(OpKind::ReadState).input("input", state).name(name).one();
    read.map_err(|error| PassError::Infer { rule: "read_state", kind: OpKind::ReadState, error })
}

/// Is the use behind the write, in its block or one nested in it?
fn comes_after(f: &Function, u: Use, write: OpId) -> bool {
    let block = f.block_of(write);
    match u {
        Use::Op { op, .. } => op != write && f.is_within(f.block_of(op), block) && f.is_before(write, op),
        Use::Output { block: b, .. } if b == block => true,
        Use::Output { block: b, .. } => {
            f.is_within(b, block) && f.block(b).parent().is_some_and(|holder| f.is_before(write, holder))
        }
    }
}
