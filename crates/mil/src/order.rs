//! The ops of a function in program order, kept until an op comes, goes, moves or changes its kind.
//!
//! Most steps of a pipeline change nothing: they share one walk over the blocks, and a step that looks for kinds of ops
//! that are not there ends at once.

use std::sync::Arc;

use crate::{BlockId, Function, OpId, OpKind};

/// The ops of a function in program order, with their kinds.
#[derive(Debug, Default)]
pub struct ProgramOrder {
    ops: Vec<(OpId, OpKind)>,
    /// How many there are of each kind, by the kind's number; kinds after the last that is there are left out.
    counts: Vec<u32>,
}

impl ProgramOrder {
    fn of(f: &Function) -> ProgramOrder {
        let mut order = ProgramOrder::default();
        order.ops.reserve(f.ops.len());
        let mut stack = vec![f.block(f.body).first];
        while let Some(top) = stack.last_mut() {
            let Some(op) = *top else {
                stack.pop();
                continue;
            };
            let link = f.link_of(op);
            *top = link.next;
            order.ops.push((op, link.kind));
            let number = link.kind as usize;
            if order.counts.len() <= number {
                order.counts.resize(number + 1, 0);
            }
            order.counts[number] += 1;
            if link.has_blocks {
                stack.extend(f.op(op).blocks.iter().rev().map(|&b| f.block(b).first));
            }
        }
        order
    }

    /// The ops with their kinds; an op comes before the ops of its nested blocks.
    pub fn ops(&self) -> &[(OpId, OpKind)] {
        &self.ops
    }

    /// How many ops of the kind there are.
    pub fn count(&self, kind: OpKind) -> usize {
        self.counts.get(kind as usize).map_or(0, |&n| n as usize)
    }
}

impl Function {
    /// The ops in program order with their kinds, shared until the next change of the order.
    pub fn order(&self) -> Arc<ProgramOrder> {
        self.order.get_or_init(|| Arc::new(ProgramOrder::of(self))).clone()
    }

    /// All ops in program order; an op comes before the ops of its nested blocks.
    pub fn all_ops(&self) -> Vec<OpId> {
        self.order().ops.iter().map(|(op, _)| *op).collect()
    }

    /// All blocks, the body first, each before the blocks nested in it.
    pub fn all_blocks(&self) -> Vec<BlockId> {
        let order = self.order();
        let holders = order.ops.iter().map(|(op, _)| *op).filter(|&op| self.link_of(op).has_blocks);
        let nested = holders.flat_map(|op| self.op(op).blocks.iter().copied());
        std::iter::once(self.body).chain(nested).collect()
    }
}
