//! The walk through a function in program order: what is visible where, and whether the records agree.

use super::{Problem, Stage, ops};
use crate::{BlockId, Def, Function, OpId, Use, ValueId};

/// Every problem of the function's ops and blocks, in program order.
pub(super) fn walk(f: &Function, stage: Stage) -> Vec<(Option<OpId>, Problem)> {
    let mut w = Walk {
        f,
        stage,
        found: Vec::new(),
        visible: vec![false; f.value_capacity()],
        constant: vec![false; f.value_capacity()],
        uses: vec![0; f.value_capacity()],
        seen_ops: vec![false; f.op_capacity()],
        seen_blocks: vec![false; f.blocks.len()],
        broken: false,
    };
    w.run();
    w.count_uses();
    w.found
}

struct Walk<'f> {
    f: &'f Function,
    stage: Stage,
    found: Vec<(Option<OpId>, Problem)>,
    /// By value: is it defined here?
    visible: Vec<bool>,
    /// By value: is it known at compile time?
    constant: Vec<bool>,
    /// By value: uses met.
    uses: Vec<usize>,
    seen_ops: Vec<bool>,
    seen_blocks: Vec<bool>,
    /// Do the records disagree? Then nothing else is looked at: an erased value has no type, a lost op no place.
    broken: bool,
}

/// A block that the walk is in.
struct Frame {
    block: BlockId,
    prev: Option<OpId>,
    next: Option<OpId>,
    /// The op whose nested blocks are being walked, and the number of the next.
    within: Option<(OpId, usize)>,
    /// Values defined in the block so far.
    defined: Vec<ValueId>,
}

impl Walk<'_> {
    fn broken(&mut self, op: Option<OpId>, what: impl Into<String>) {
        self.broken = true;
        self.found.push((op, Problem::Broken(what.into())));
    }

    fn run(&mut self) {
        let mut stack: Vec<Frame> = self.enter(self.f.body, None).into_iter().collect();
        while let Some(top) = stack.last_mut() {
            if let Some((op, k)) = top.within {
                if let Some(&block) = self.f.op(op).blocks.get(k) {
                    top.within = Some((op, k + 1));
                    stack.extend(self.enter(block, Some(op)));
                } else {
                    top.within = None;
                    self.leave_op(op, &mut top.defined);
                }
            } else if let Some(op) = top.next {
                if self.enter_op(op, top.block, top.prev) {
                    (top.prev, top.next, top.within) = (Some(op), self.f.next(op), Some((op, 0)));
                } else {
                    top.next = None;
                }
            } else if let Some(frame) = stack.pop() {
                self.leave(&frame);
            }
        }
    }

    fn enter(&mut self, block: BlockId, parent: Option<OpId>) -> Option<Frame> {
        let Some(Some(b)) = self.f.blocks.get(block.index()) else {
            self.broken(parent, format!("{block:?} was erased"));
            return None;
        };
        if std::mem::replace(&mut self.seen_blocks[block.index()], true) {
            self.broken(parent, format!("{block:?} is in two places"));
            return None;
        }
        if b.parent != parent {
            self.broken(parent, format!("{block:?} belongs to another op"));
        }
        let mut defined = Vec::new();
        for (index, &v) in b.inputs.iter().enumerate() {
            self.define(v, Def::BlockInput { block, index: index as u32 }, parent, &mut defined);
        }
        Some(Frame { block, prev: None, next: b.first, within: None, defined })
    }

    fn define(&mut self, v: ValueId, def: Def, op: Option<OpId>, defined: &mut Vec<ValueId>) {
        if !self.f.is_live_value(v) {
            self.broken(op, format!("{v:?} was erased"));
        } else if self.f.def(v) != def {
            self.broken(op, format!("{v:?} is said to be defined elsewhere"));
        } else {
            self.visible[v.index()] = true;
            defined.push(v);
        }
    }

    /// Checks the op's place and arguments. False when the list of ops can't be followed from here.
    fn enter_op(&mut self, op: OpId, block: BlockId, prev: Option<OpId>) -> bool {
        if !self.f.is_live(op) {
            self.broken(None, format!("{op:?} was erased"));
            return false;
        }
        if std::mem::replace(&mut self.seen_ops[op.index()], true) {
            self.broken(Some(op), "the op is in two places");
            return false;
        }
        let node = self.f.link_of(op);
        if node.block != block || node.prev != prev {
            self.broken(Some(op), "the op is said to be in another place");
        }
        if prev.is_some_and(|p| self.f.link_of(p).order >= node.order) {
            self.broken(Some(op), "the op's order key is not above that of the op before");
        }
        for (i, input) in self.f.op(op).inputs.iter().enumerate() {
            for (k, operand) in input.args.iter().enumerate() {
                let place = Use::Op { op, input: i as u32, arg: k as u32 };
                if self.meet(operand.value, operand.use_at, place, Some(op)) {
                    continue;
                }
                let value = self.f.value(operand.value);
                let later = matches!(self.f.def(operand.value), Def::Op { op: def, .. } if self.f.is_live(def) && self.f.block_of(def) == block);
                let problem = Problem::NotVisible { input: input.name.to_string(), value: value.name.clone(), later };
                self.found.push((Some(op), problem));
            }
        }
        true
    }

    /// Notes a use. False when the value is not visible here.
    fn meet(&mut self, v: ValueId, use_at: u32, place: Use, op: Option<OpId>) -> bool {
        if !self.f.is_live_value(v) {
            self.broken(op, format!("{v:?} was erased"));
            return true;
        }
        if self.f.value(v).uses.get(use_at as usize) != Some(&place) {
            self.broken(op, format!("the uses of {v:?} do not have this one"));
        }
        self.uses[v.index()] += 1;
        // Where the records disagree, what is visible is anyone's guess.
        self.visible[v.index()] || self.broken
    }

    /// What follows when an op's nested blocks are done: its types, and its results are defined.
    fn leave_op(&mut self, op: OpId, defined: &mut Vec<ValueId>) {
        for (output, &v) in self.f.op(op).outputs.iter().enumerate() {
            self.define(v, Def::Op { op, output: output as u32 }, Some(op), defined);
        }
        if self.broken {
            return;
        }
        let mut problems = Vec::new();
        ops::check(self.f, op, self.stage, &self.constant, &mut problems);
        self.found.extend(problems.into_iter().map(|p| (Some(op), p)));
        if ops::is_constant(self.f, op, &self.constant) {
            for &v in &self.f.op(op).outputs {
                self.constant[v.index()] = true;
            }
        }
    }

    fn leave(&mut self, frame: &Frame) {
        let block = self.f.block(frame.block);
        if block.last != frame.prev {
            self.broken(block.parent, format!("the last op of {:?} is not the last in the list", frame.block));
        }
        for (index, operand) in block.outputs.iter().enumerate() {
            let place = Use::Output { block: frame.block, index: index as u32 };
            if !self.meet(operand.value, operand.use_at, place, block.parent) {
                let value = self.f.value(operand.value).name.clone();
                self.found.push((block.parent, Problem::OutputNotVisible { index, value }));
            }
        }
        for v in &frame.defined {
            self.visible[v.index()] = false;
        }
    }

    /// Are there uses that the walk did not meet, or ops that no block has?
    fn count_uses(&mut self) {
        for (i, value) in self.f.values.iter().enumerate() {
            let Some(value) = value else { continue };
            if value.uses.len() != self.uses[i] || self.f.roots[i].uses as usize != self.uses[i] {
                let what = format!("v{i} has {} uses and records {}", self.uses[i], value.uses.len());
                self.broken(None, what);
            }
        }
        let adrift = self.f.ops.iter().zip(&self.seen_ops).filter(|(node, seen)| node.is_some() && !**seen).count();
        if adrift > 0 {
            self.broken(None, format!("{adrift} ops are in no block"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewOp, OpKind, Opset, Place, Type};
    use coremill_tensor::DType;

    /// `relu` twice.
    fn two() -> (Function, [OpId; 2]) {
        let mut f = Function::new(Opset::Ios15);
        let body = f.body();
        let ty = Type::known(DType::Fp32, &[2]);
        let x = f.add_input(body, "x", ty.clone());
        let a = f.insert(Place::End(body), NewOp::new(OpKind::Relu).input("x", x).output("a", ty.clone()));
        let b = f.insert(Place::End(body), NewOp::new(OpKind::Relu).input("x", f.op(a).output()).output("b", ty));
        f.set_outputs(vec![("b".to_owned(), f.op(b).output())]);
        (f, [a, b])
    }

    fn records(f: &Function) -> Vec<String> {
        let found = walk(f, Stage::Written).into_iter();
        let broken = found.map(|(_, p)| if let Problem::Broken(what) = p { what } else { panic!("{p}") });
        broken.collect()
    }

    #[test]
    fn records_that_agree_are_no_problem() {
        assert_eq!(records(&two().0), Vec::<String>::new());
    }

    #[test]
    fn a_use_that_is_not_recorded_is_found() {
        let (mut f, _) = two();
        let x = f.inputs()[0];
        f.values[x.index()].as_mut().unwrap().uses.clear();
        assert_eq!(records(&f), ["the uses of v0 do not have this one", "v0 has 1 uses and records 0"]);
    }

    #[test]
    fn a_recorded_use_that_is_none_is_found() {
        let (mut f, [a, _]) = two();
        let x = f.inputs()[0];
        f.values[x.index()].as_mut().unwrap().uses.push(Use::Op { op: a, input: 7, arg: 0 });
        assert_eq!(records(&f), ["v0 has 1 uses and records 2"]);
    }

    #[test]
    fn an_erased_value_or_op_is_found() {
        let (mut f, [a, b]) = two();
        let v = f.op(a).output();
        f.values[v.index()] = None;
        assert_eq!(records(&f), ["v1 was erased", "v1 was erased"]);
        let (mut f, _) = two();
        f.ops[b.index()] = None;
        f.links[b.index()].live = false;
        assert_eq!(records(&f)[0], "op1 was erased");
    }

    #[test]
    fn links_that_disagree_are_found() {
        let (mut f, [a, b]) = two();
        f.links[b.index()].next = Some(a);
        assert_eq!(records(&f)[0], "the op is in two places");
        let (mut f, _) = two();
        f.links[b.index()].order = 0;
        assert_eq!(records(&f), ["the op's order key is not above that of the op before"]);
        let (mut f, _) = two();
        f.links[b.index()].prev = None;
        assert_eq!(records(&f), ["the op is said to be in another place"]);
        let (mut f, _) = two();
        f.links[a.index()].next = None;
        assert!(records(&f).contains(&"1 ops are in no block".to_owned()));
    }
}
