//! The driver of local rewrites: one worklist, cost linear in what is looked at.

use std::collections::VecDeque;

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::pass::{PassContext, PassError};
use crate::patch::Patch;

/// A local rewrite.
pub trait Rewrite {
    /// The ops it starts from; empty for every op.
    fn roots(&self) -> &'static [OpKind];

    /// The change to make at `op`, if any. It reads and does not write.
    fn find(&self, f: &Function, op: OpId) -> Option<Patch>;
}

/// Rewrites per op and pass that are still believed to come to an end. Fusions remove ops, so real passes stay
/// below 2; a pair of rules that undo each other passes any bound.
const REWRITES_PER_OP: u64 = 8;

/// Applies `rules` to every function until none finds anything more.
///
/// Ops are visited in program order, nested blocks included; at each op the rules are tried in the order given.
/// After a change only what it touched is visited again.
///
/// # Errors
/// What applying a patch reports, and [`PassError::Runaway`] when rewrites pass the bound.
pub fn rewrite(program: &mut Program, rules: &[&dyn Rewrite], cx: &mut PassContext) -> Result<(), PassError> {
    for f in program.functions.values_mut() {
        rewrite_function(f, rules, cx)?;
    }
    Ok(())
}

/// [`rewrite`] for one function.
///
/// # Errors
/// As [`rewrite`].
pub fn rewrite_function(f: &mut Function, rules: &[&dyn Rewrite], cx: &mut PassContext) -> Result<(), PassError> {
    let wants = |kind: OpKind| rules.iter().any(|r| r.roots().is_empty() || r.roots().contains(&kind));
    let wanted = |f: &Function, op: OpId| wants(f.kind(op));
    let order = f.order();
    let ops = order.ops().len();
    let of_any = rules.iter().any(|r| r.roots().is_empty());
    let roots: usize = rules.iter().flat_map(|r| r.roots()).map(|&kind| order.count(kind)).sum();
    if !of_any && roots == 0 {
        return Ok(());
    }
    let bound = REWRITES_PER_OP * (ops as u64 + 8);
    let mut queue: VecDeque<OpId> = order.ops().iter().filter(|(_, kind)| wants(*kind)).map(|(op, _)| *op).collect();
    drop(order);
    let mut queued = vec![false; f.op_capacity()];
    queue.iter().for_each(|op| queued[op.index()] = true);
    let (mut count, mut last) = (0u64, "");
    while let Some(op) = queue.pop_front() {
        queued[op.index()] = false;
        if !f.is_live(op) {
            continue;
        }
        if cx.is_exhausted() {
            break;
        }
        cx.visited += 1;
        let kind = f.kind(op);
        let found =
            rules.iter().filter(|r| r.roots().is_empty() || r.roots().contains(&kind)).find_map(|r| r.find(f, op));
        let Some(patch) = found else { continue };
        let before_last = std::mem::replace(&mut last, patch.rule());
        let touched = patch.apply(f, cx)?;
        cx.rewrites += 1;
        count += 1;
        if count > bound {
            return Err(PassError::Runaway { rewrites: count, ops, last, before_last });
        }
        queued.resize(f.op_capacity(), false);
        for op in touched {
            if wanted(f, op) && !std::mem::replace(&mut queued[op.index()], true) {
                queue.push_back(op);
            }
        }
    }
    Ok(())
}
