//! The graphs that compute the outputs, side by side.
//!
//! From each pair of outputs back to the inputs, depth first and without recursion, each pair of values once.

use std::collections::{BTreeMap, HashSet};

use indexmap::IndexMap;

use super::{Checks, Same, type_key, values};
use crate::{BlockId, Const, Def, Function, Op, OpId, OpKind, ValueId};

/// Compares the outputs of two functions and returns which ops were matched.
pub(super) fn same(name: &str, a: &Function, b: &Function, checks: Checks) -> Result<IndexMap<OpId, OpId>, String> {
    let mut c = Comparer {
        a,
        b,
        checks,
        todo: Vec::new(),
        seen: HashSet::new(),
        seen_ops: HashSet::new(),
        blocks: HashSet::new(),
        pairs: IndexMap::new(),
    };
    c.blocks(a.body(), b.body(), name)?;
    while let Some((x, y, place)) = c.todo.pop() {
        c.values(x, y, &place)?;
    }
    Ok(c.pairs)
}

struct Comparer<'p> {
    a: &'p Function,
    b: &'p Function,
    checks: Checks,
    /// Pairs of values still to compare, with the place where they are used.
    todo: Vec<(ValueId, ValueId, String)>,
    seen: HashSet<(ValueId, ValueId)>,
    seen_ops: HashSet<(OpId, OpId)>,
    /// Pairs of blocks whose inputs stand for each other.
    blocks: HashSet<(BlockId, BlockId)>,
    pairs: IndexMap<OpId, OpId>,
}

/// What a parameter is given, attributes included.
enum Given<'p> {
    Value(ValueId),
    Literal(&'p Const),
}

fn given<'p>(f: &'p Function, op: &'p Op) -> BTreeMap<&'p str, Vec<Given<'p>>> {
    let mut out: BTreeMap<&str, Vec<Given<'_>>> = BTreeMap::new();
    for (name, args) in op.inputs() {
        let arg = |v| f.const_value(v).map_or(Given::Value(v), Given::Literal);
        out.insert(name, args.map(arg).collect());
    }
    for (name, value) in op.attributes.iter() {
        out.insert(name, vec![Given::Literal(value)]);
    }
    out
}

impl Comparer<'_> {
    fn blocks(&mut self, a: BlockId, b: BlockId, place: &str) -> Same {
        self.blocks.insert((a, b));
        let x: Vec<ValueId> = self.a.block(a).outputs().collect();
        let y: Vec<ValueId> = self.b.block(b).outputs().collect();
        if x.len() != y.len() {
            return Err(format!("{place}: {} outputs against {}", x.len(), y.len()));
        }
        self.todo.extend(x.into_iter().zip(y).rev().map(|(x, y)| (x, y, place.to_owned())));
        Ok(())
    }

    fn values(&mut self, x: ValueId, y: ValueId, place: &str) -> Same {
        if !self.seen.insert((x, y)) {
            return Ok(());
        }
        match (self.a.const_value(x), self.b.const_value(y)) {
            (Some(p), Some(q)) => return values::same(p, q, place, None),
            (Some(_), None) => return Err(format!("{place}: a constant against {}", describe(self.b, y))),
            (None, Some(_)) => return Err(format!("{place}: {} against a constant", describe(self.a, x))),
            (None, None) => {}
        }
        match (self.a.def(x), self.b.def(y)) {
            (Def::Op { op: p, output: i }, Def::Op { op: q, output: j }) => {
                if i != j {
                    return Err(format!("{place}: output {i} against output {j}"));
                }
                let (tx, ty) = (type_key(self.a.ty(x)), type_key(self.b.ty(y)));
                if tx != ty {
                    let (p, q) = (self.a.op(p).type_name(), self.b.op(q).type_name());
                    return Err(format!("{place}: {p} of type {tx} against {q} of type {ty}"));
                }
                self.ops(p, q)
            }
            (Def::BlockInput { block: p, index: i }, Def::BlockInput { block: q, index: j }) => {
                let of_function = p == self.a.body() && q == self.b.body();
                let same = match of_function && !self.checks.positional {
                    true => self.a.value(x).name == self.b.value(y).name,
                    false => i == j && self.blocks.contains(&(p, q)),
                };
                if same { Ok(()) } else { Err(format!("{place}: an input against another input")) }
            }
            _ => Err(format!("{place}: {} against {}", describe(self.a, x), describe(self.b, y))),
        }
    }

    fn ops(&mut self, p: OpId, q: OpId) -> Same {
        if !self.seen_ops.insert((p, q)) {
            return Ok(());
        }
        self.pairs.insert(p, q);
        let (a, b) = (self.a, self.b);
        let (op_a, op_b) = (a.op(p), b.op(q));
        let kind = op_a.type_name();
        if self.checks.names {
            let names = |f: &Function, op: &Op| -> Vec<String> {
                op.outputs().iter().map(|&v| f.value(v).name.clone()).collect()
            };
            let (na, nb) = (names(a, op_a), names(b, op_b));
            if na != nb {
                return Err(format!("{kind}: named {na:?} against {nb:?}"));
            }
        }
        if kind != op_b.type_name() {
            return Err(format!("op {kind} against {}", op_b.type_name()));
        }
        let next = parameters(a, op_a, b, op_b)?;
        let (blocks_a, blocks_b) = (op_a.blocks(), op_b.blocks());
        if blocks_a.len() != blocks_b.len() {
            return Err(format!("{kind}: {} blocks against {}", blocks_a.len(), blocks_b.len()));
        }
        for (i, (&x, &y)) in blocks_a.iter().zip(blocks_b).enumerate() {
            self.blocks(x, y, &format!("{kind}.block{i}"))?;
        }
        self.todo.extend(next.into_iter().rev());
        Ok(())
    }
}

/// Compares the parameters of two ops of one type; returns the pairs of computed values that are left to compare.
fn parameters(a: &Function, op_a: &Op, b: &Function, op_b: &Op) -> Result<Vec<(ValueId, ValueId, String)>, String> {
    let kind = op_a.type_name();
    let (params_a, params_b) = (given(a, op_a), given(b, op_b));
    if !params_a.keys().eq(params_b.keys()) {
        let only = |x: &BTreeMap<&str, _>, y: &BTreeMap<&str, _>| -> Vec<String> {
            x.keys().filter(|k| !y.contains_key(*k)).map(|k| (*k).to_owned()).collect()
        };
        let (x, y) = (only(&params_a, &params_b), only(&params_b, &params_a));
        return Err(format!("{kind}: parameters {x:?} only in A, {y:?} only in B"));
    }
    let mut next = Vec::new();
    for ((param, x), y) in params_a.iter().zip(params_b.values()) {
        let place = format!("{kind}.{param}");
        if x.len() != y.len() {
            return Err(format!("{place}: {} values against {}", x.len(), y.len()));
        }
        let is_axis = matches!(*param, "perm" | "axis" | "axes");
        let rank = if is_axis { axis_rank(a, op_a) } else { None };
        for (x, y) in x.iter().zip(y) {
            match (x, y) {
                (Given::Literal(x), Given::Literal(y)) => values::same(x, y, &place, rank)?,
                (Given::Value(x), Given::Value(y)) => next.push((*x, *y, place.clone())),
                (Given::Literal(_), Given::Value(y)) => {
                    return Err(format!("{place}: a constant against {}", describe(b, *y)));
                }
                (Given::Value(x), Given::Literal(_)) => {
                    return Err(format!("{place}: {} against a constant", describe(a, *x)));
                }
            }
        }
    }
    Ok(next)
}

fn describe(f: &Function, v: ValueId) -> String {
    match f.def(v) {
        Def::Op { op, .. } => format!("an op {}", f.op(op).type_name()),
        Def::BlockInput { .. } => "an input".to_owned(),
    }
}

/// The rank that a negative axis counts from; `None` where that is not the rank of the op's input.
fn axis_rank(f: &Function, op: &Op) -> Option<usize> {
    if matches!(op.kind, OpKind::ExpandDims | OpKind::Stack) {
        return None;
    }
    let v = ["x", "data", "values"].into_iter().find_map(|p| op.arg(p))?;
    f.ty(v).rank()
}
