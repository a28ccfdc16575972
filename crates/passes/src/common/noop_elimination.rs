//! `common::noop_elimination`: ops that give back their input go.
//!
//! Arithmetic with the neutral element (`x + 0`, `x * 1`, `x / 1`, `x ** 1`, `x - 0`), where broadcasting does
//! not grow the result; `reshape`, `split` into one, slices, `pad`, `tile`, upsampling and `crop` whose result has
//! the shape of the input; a `transpose` that keeps the order; `linear_activation` with slope 1 and offset 0;
//! `identity`. An op whose result is an output of its block stays, since the output has a name of its own, and
//! so does a slice that runs backwards. Shapes count as equal only when they are known to be.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::known::known_value;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::noop_elimination",
    summary: "Removes ops that give back their input",
    options: &[],
    spec: include_str!("../../specs/common/noop_elimination.mil"),
    make: |_: &Options| Box::new(NoopElimination),
};

struct NoopElimination;

impl Pass for NoopElimination {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for NoopElimination {
    fn roots(&self) -> &'static [OpKind] {
        use OpKind::*;
        &[
            Identity,
            Add,
            Mul,
            FloorDiv,
            Pow,
            RealDiv,
            Sub,
            Reshape,
            Split,
            SliceByIndex,
            SliceBySize,
            Pad,
            Tile,
            Transpose,
            UpsampleNearestNeighbor,
            UpsampleBilinear,
            ResizeBilinear,
            Crop,
            LinearActivation,
        ]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let &[out] = f.op(op).outputs() else { return None };
        if f.is_block_output(out) {
            return None;
        }
        let input = passed_through(f, op)?;
        if f.ty(input) != f.ty(out) && !same_type(f, input, out) {
            return None;
        }
        let mut patch = Patch::before(f, op, "noop");
        patch.replace_op(f, op, input);
        Some(patch)
    }
}

/// The input that the op gives back, if it does.
fn passed_through(f: &Function, op: OpId) -> Option<ValueId> {
    use OpKind::*;
    let x = f.op(op).arg("x")?;
    let out = f.op(op).output();
    let kind = f.kind(op);
    let holds = match kind {
        Add => return neutral_operand(f, op, Some(0.0), 0.0),
        Mul => return neutral_operand(f, op, Some(1.0), 1.0),
        FloorDiv | Pow | RealDiv => return neutral_operand(f, op, None, 1.0),
        Sub => return neutral_operand(f, op, None, 0.0),
        Identity => true,
        Transpose => keeps_order(f, op),
        LinearActivation => number(f, op, "alpha") == Some(1.0) && number(f, op, "beta") == Some(0.0),
        SliceByIndex => same_type(f, x, out) && !runs_backwards(f, op),
        // A bias-free resize or slice to the same extents takes every element from where it was.
        _ => same_type(f, x, out),
    };
    holds.then_some(x)
}

fn number(f: &Function, op: OpId, name: &str) -> Option<f64> {
    f.const_arg(op, name)?.as_f64()
}

/// The operand beside the neutral element: `left` is neutral as `x` (if it can be), `right` as `y`.
fn neutral_operand(f: &Function, op: OpId, left: Option<f64>, right: f64) -> Option<ValueId> {
    let (x, y) = (f.op(op).arg("x")?, f.op(op).arg("y")?);
    let other = if left.is_some_and(|n| is_filled_with(f, x, n)) {
        y
    } else if is_filled_with(f, y, right) {
        x
    } else {
        return None;
    };
    // `floor_div` by one rounds a float down: only integers come back.
    let rounds = f.kind(op) == OpKind::FloorDiv && f.ty(other).dtype().is_some_and(|d| d.is_float());
    (!rounds && same_type(f, other, f.op(op).output())).then_some(other)
}

fn is_filled_with(f: &Function, v: ValueId, n: f64) -> bool {
    if let Some(fill) = f.producer_of(v, OpKind::Fill) {
        return f.const_arg(fill, "value").and_then(Const::as_f64) == Some(n);
    }
    known_value(f, v).is_some_and(|c| c.as_data().is_some_and(|d| d.is_filled_with(n)))
}

fn same_type(f: &Function, a: ValueId, b: ValueId) -> bool {
    match (f.ty(a).as_tensor(), f.ty(b).as_tensor()) {
        (Some(a), Some(b)) => a.dtype == b.dtype && a.shape.same(&b.shape),
        _ => false,
    }
}

fn keeps_order(f: &Function, op: OpId) -> bool {
    let Some(perm) = f.const_arg(op, "perm").and_then(Const::as_i64s) else { return false };
    let rank = perm.len() as i64;
    (0..rank).zip(&perm).all(|(axis, &p)| axis == if p < 0 { p.saturating_add(rank) } else { p })
}

/// A slice with a negative or unknown stride, or one that wraps round, is no copy.
fn runs_backwards(f: &Function, op: OpId) -> bool {
    f.op(op).arg("stride").is_some()
        && f.const_arg(op, "stride").and_then(Const::as_i64s).is_none_or(|s| s.iter().any(|&s| s < 0))
}
