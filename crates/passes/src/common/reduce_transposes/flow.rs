//! The walk over a block: which values are turned, and what each op is to them.

use coremill_mil::schema::accepts;
use coremill_mil::{BlockId, Function, OpId, OpKind, Use, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::groups::Groups;
use super::order::Orders;
use super::through::{Edit, edits};
use crate::pass::PassContext;

/// What the walk has found.
#[derive(Debug)]
pub(super) struct Flow {
    pub orders: Orders,
    pub groups: Groups,
    /// The ops that something happens to when their group goes, in program order.
    pub steps: Vec<Step>,
    turned: FxHashMap<ValueId, Turned>,
    /// Where an op is in `steps`.
    places: FxHashMap<OpId, usize>,
    /// Turned values that something needs as they are.
    needed: FxHashSet<ValueId>,
    outputs: FxHashSet<ValueId>,
    block: BlockId,
}

/// A value that is the transpose of what its op would give without the transposes of the group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turned {
    /// The number of the order of axes.
    pub order: usize,
    /// A transpose of the group, one that comes before the value.
    pub group: usize,
}

/// An op that something happens to.
#[derive(Debug)]
pub(super) struct Step {
    pub op: OpId,
    pub part: Part,
    pub turned: Turned,
}

/// What an op is to turned values.
#[derive(Debug)]
pub(super) enum Part {
    /// A transpose that turned values begin at.
    Begin,
    /// It works in either layout, with these parameters changed.
    Through(Vec<Edit>),
    /// A transpose that gives back the old layout.
    Cancel,
}

impl Flow {
    /// Walks over the block.
    pub(super) fn of(f: &Function, block: BlockId, cx: &mut PassContext) -> Flow {
        let mut flow = Flow {
            orders: Orders::default(),
            groups: Groups::default(),
            steps: Vec::new(),
            turned: FxHashMap::default(),
            places: FxHashMap::default(),
            needed: FxHashSet::default(),
            outputs: f.block(block).outputs().collect(),
            block,
        };
        for op in f.ops_in(block) {
            cx.visited += 1;
            match f.kind(op) {
                OpKind::Const => {}
                OpKind::Transpose => flow.transpose(f, op),
                _ => flow.other(f, op),
            }
        }
        flow
    }

    /// The outputs of the block.
    pub(super) fn outputs(&self) -> &FxHashSet<ValueId> {
        &self.outputs
    }

    /// Does something need the turned value as it is?
    pub(super) fn is_needed(&self, v: ValueId) -> bool {
        self.needed.contains(&v)
    }

    /// Does this use of a turned value need it as it is?
    pub(super) fn needs(&self, f: &Function, place: &Use) -> bool {
        let Use::Op { op, .. } = place else { return true };
        let part = self.places.get(op).map(|&at| &self.steps[at].part);
        f.block_of(*op) != self.block || !matches!(part, Some(Part::Through(_) | Part::Cancel))
    }

    fn transpose(&mut self, f: &Function, op: OpId) {
        let (Some(order), Some(x), Some(perm)) = (self.orders.of(f, op), f.op(op).arg("x"), f.op(op).arg("perm"))
        else {
            return self.take(f, op);
        };
        match self.turned.get(&x).copied() {
            Some(turned) if self.orders.get(turned.order).inverse == order => {
                self.groups.cancel(turned.group);
                self.step(op, Part::Cancel, turned);
            }
            Some(_) => self.take(f, op),
            None if self.outputs.contains(&f.op(op).output()) => {}
            None => {
                if self.can_turn(f, op, order) {
                    let turned = Turned { order, group: self.groups.begin(perm) };
                    self.step(op, Part::Begin, turned);
                    self.turn(f, op, turned);
                }
            }
        }
    }

    fn other(&mut self, f: &Function, op: OpId) {
        let found: Vec<Turned> = f.op(op).operands().filter_map(|v| self.turned.get(&v).copied()).collect();
        let Some(&first) = found.first() else { return };
        let together = found.iter().all(|t| t.order == first.order) && self.can_turn(f, op, first.order);
        let axes = &self.orders.get(first.order).axes;
        let edits = together.then(|| edits(f, op, axes, &|v| self.turned.contains_key(&v))).flatten();
        let Some(edits) = edits else { return self.take(f, op) };
        found.iter().for_each(|t| self.groups.bind(first.group, t.group));
        self.step(op, Part::Through(edits), first);
        self.turn(f, op, first);
    }

    /// Could the results be turned: are they tensors of that rank that a `transpose` takes?
    fn can_turn(&self, f: &Function, op: OpId, order: usize) -> bool {
        let rank = self.orders.get(order).axes.len();
        f.op(op).outputs().iter().all(|&v| {
            let ty = f.ty(v).as_tensor();
            ty.is_some_and(|t| t.rank() == rank && accepts(OpKind::Transpose, f.opset, "x", t.dtype))
        })
    }

    fn step(&mut self, op: OpId, part: Part, turned: Turned) {
        self.places.insert(op, self.steps.len());
        self.steps.push(Step { op, part, turned });
    }

    /// Makes the results turned, and counts the uses of them that the walk does not come to.
    fn turn(&mut self, f: &Function, op: OpId, turned: Turned) {
        for &v in f.op(op).outputs() {
            self.turned.insert(v, turned);
            if self.outputs.contains(&v) {
                self.need(f, v, turned.group);
                self.groups.take(&[turned.group]);
            }
            for place in f.value(v).uses() {
                let is_elsewhere = match place {
                    Use::Op { op, .. } => f.block_of(*op) != self.block,
                    Use::Output { block, .. } => *block != self.block,
                };
                if is_elsewhere {
                    self.need(f, v, turned.group);
                    self.groups.take(&[turned.group]);
                }
            }
        }
    }

    /// An op that needs what it takes as it is.
    fn take(&mut self, f: &Function, op: OpId) {
        let mut groups: Vec<usize> = Vec::new();
        for v in f.op(op).operands() {
            if let Some(turned) = self.turned.get(&v).copied() {
                self.need(f, v, turned.group);
                groups.push(turned.group);
            }
        }
        self.groups.take(&groups);
    }

    fn need(&mut self, f: &Function, v: ValueId, group: usize) {
        if self.needed.insert(v) {
            self.groups.need(group, f.producer_of(v, OpKind::Transpose).is_some());
        }
    }
}
