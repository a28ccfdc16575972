//! `common::loop_invariant_elimination`: a loop variable that no iteration changes is no loop variable.
//!
//! A variable of a `while_loop` is invariant when the body gives back, in its place, the body's own input for it,
//! or the very value that the loop starts it with. Its uses inside and after the loop become the start value. (A
//! body that gives back some *other* outer value changes the variable in the first iteration: it stays.) A result
//! that is an output of its block is passed on through `identity`, so the output keeps a value of its own.

use coremill_mil::{Function, NewOp, OpId, OpKind, Place, Program, ValueId};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::loop_invariant_elimination",
    summary: "Takes variables that no iteration changes out of loops",
    options: &[],
    spec: include_str!("../../specs/common/loop_invariant_elimination.mil"),
    make: |_: &Options| Box::new(LoopInvariantElimination),
};

struct LoopInvariantElimination;

impl Pass for LoopInvariantElimination {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            let mut loops: Vec<OpId> = f.all_ops();
            loops.retain(|&op| f.kind(op) == OpKind::WhileLoop);
            // Inner loops first: an outer variable may be invariant only once an inner one is gone.
            for op in loops.into_iter().rev() {
                cx.visited += 1;
                hoist(f, op, cx);
            }
        }
        Ok(())
    }
}

fn hoist(f: &mut Function, op: OpId, cx: &mut PassContext) {
    let &[cond, body] = f.op(op).blocks() else { return };
    let starts: Vec<ValueId> = f.op(op).args("loop_vars").collect();
    let results = f.op(op).outputs().to_vec();
    let given_back: Vec<ValueId> = f.block(body).outputs().collect();
    let inputs = [f.block(cond).inputs().to_vec(), f.block(body).inputs().to_vec()];
    let whole = |n: usize| n == starts.len();
    if !(whole(results.len()) && whole(given_back.len()) && whole(inputs[0].len()) && whole(inputs[1].len())) {
        return;
    }
    let invariant: Vec<bool> =
        (0..starts.len()).map(|i| given_back[i] == inputs[1][i] || given_back[i] == starts[i]).collect();
    // A loop without variables computes nothing and has no results to name it by; leave the last one in.
    if !invariant.contains(&true) || !invariant.contains(&false) || cx.is_exhausted() {
        return;
    }
    for i in (0..starts.len()).filter(|&i| invariant[i]) {
        let mut replacement = starts[i];
        if f.is_block_output(results[i]) {
            let (name, ty) = (f.value(results[i]).name.clone(), f.ty(starts[i]).clone());
            let copy = NewOp::new(OpKind::Identity).input("x", starts[i]).output(name, ty);
            let copy = f.insert(Place::Before(op), copy.origin(f.op(op).origin.clone()));
            replacement = f.op(copy).output();
        }
        f.replace_uses(results[i], replacement);
        f.replace_uses(inputs[0][i], starts[i]);
        f.replace_uses(inputs[1][i], starts[i]);
    }
    let kept = |v: &[ValueId]| -> Vec<ValueId> {
        v.iter().zip(&invariant).filter(|(_, gone)| !**gone).map(|(v, _)| *v).collect()
    };
    f.set_outputs_of(body, &kept(&given_back));
    f.set_input(op, "loop_vars", &kept(&starts));
    for i in (0..starts.len()).rev().filter(|&i| invariant[i]) {
        f.remove_block_input(cond, i);
        f.remove_block_input(body, i);
        f.remove_output(op, i);
    }
    cx.rewrites += 1;
}
