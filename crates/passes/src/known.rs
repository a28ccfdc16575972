//! Values that are known at compile time though no pass has folded them yet.

use coremill_interp::evaluate;
use coremill_mil::{Arg, Const, Flags, Function, OpArgs, OpId, OpKind, ValueId, schema_of};
use rustc_hash::FxHashMap;

/// Ops that are evaluated for one question; a cone of more is left to `common::const_elimination`.
const MAX_OPS: usize = 16;

/// Elements of the largest result that is evaluated for one question.
const MAX_ELEMENTS: usize = 1 << 16;

/// The value of `v`, where it is a constant or follows from a few constants and extents.
pub(crate) fn known_value(f: &Function, v: ValueId) -> Option<Const> {
    if let Some(c) = f.const_value(v) {
        return Some(c.clone());
    }
    let cone = cone_of(f, v)?;
    let mut values: FxHashMap<ValueId, Const> = FxHashMap::default();
    for op in cone {
        let results = evaluate(&arguments(f, op, &values)).ok()?;
        if results.len() != f.op(op).outputs().len() {
            return None;
        }
        values.extend(f.op(op).outputs().iter().copied().zip(results));
    }
    values.remove(&v)
}

/// The ops to evaluate for `v`, each after those it needs; `None` when one cannot be, or there are too many.
fn cone_of(f: &Function, v: ValueId) -> Option<Vec<OpId>> {
    let mut cone = Vec::new();
    let mut open = vec![f.producer(v)?];
    while let Some(op) = open.pop() {
        if cone.contains(&op) {
            continue;
        }
        let schema = schema_of(f.kind(op)).filter(|s| s.flags.has(Flags::FOLDABLE))?;
        // Another shape for the same elements costs nothing.
        let shares = matches!(schema.kind, OpKind::Squeeze | OpKind::ExpandDims | OpKind::Reshape);
        let elements = |v: ValueId| f.ty(v).shape().and_then(|s| s.elements());
        let small = |&v: &ValueId| elements(v).is_some_and(|n| shares || n <= MAX_ELEMENTS);
        if cone.len() >= MAX_OPS || !f.op(op).outputs().iter().all(small) {
            return None;
        }
        cone.push(op);
        // The extents of a `shape` are known whatever computes its input.
        if schema.kind != OpKind::Shape {
            for v in f.op(op).operands().filter(|&v| f.const_value(v).is_none()) {
                open.push(f.producer(v)?);
            }
        }
    }
    let mut ordered = cone;
    let order = |a: OpId, b: OpId| f.is_before(b, a).cmp(&f.is_before(a, b));
    ordered.sort_by(|&a, &b| order(a, b));
    Some(ordered)
}

fn arguments<'a>(f: &'a Function, op: OpId, values: &'a FxHashMap<ValueId, Const>) -> OpArgs<'a> {
    let op = f.op(op);
    let mut args = OpArgs::new(op.kind, f.opset);
    args.attributes = Some(&op.attributes);
    let arg = |v: ValueId| match values.get(&v) {
        Some(c) => Arg::new(f.ty(v), Some(c)),
        None => Arg::of(f, v),
    };
    args.inputs = op.inputs().map(|(name, list)| (name, list.map(arg).collect())).collect();
    args
}
