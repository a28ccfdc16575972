//! The ops that work on the other layout as well, and what changes in them.
//!
//! With `x = transpose(u, axes)`, such an op has another one with `op(x) = transpose(other(u), axes)`. What an op
//! says of axis `i` of `x`, the other one says of axis `axes[i]` of `u`.

use coremill_mil::schema::accepts;
use coremill_mil::{Const, Flags, Function, OpId, OpKind, ValueId, schema_of};

use super::order::{keeps_order, unturned};
use crate::matching::const_ints;

/// A change of a parameter.
#[derive(Debug)]
pub(super) enum Edit {
    /// It becomes this number.
    Int(&'static str, i32),
    /// It becomes these numbers.
    Ints(&'static str, Vec<i32>),
    /// A constant operand: it becomes one in the other layout.
    Constant(Operand),
    /// A computed operand: it becomes a reshape of itself.
    Reshape(Operand),
}

/// An operand beside turned ones.
#[derive(Debug)]
pub(super) struct Operand {
    /// The parameter.
    pub name: &'static str,
    /// Which of its arguments.
    pub arg: usize,
    /// Its shape with as many axes as the turned operand has.
    pub shape: Vec<usize>,
}

/// Whether a value is turned.
type IsTurned<'a> = &'a dyn Fn(ValueId) -> bool;

/// What changes in the op when its turned operands are given as they are before the transpose; `None` when it does not
/// work on that layout.
pub(super) fn edits(f: &Function, op: OpId, axes: &[usize], turned: IsTurned<'_>) -> Option<Vec<Edit>> {
    use OpKind as K;
    let kind = f.kind(op);
    let flags = schema_of(kind)?.flags;
    let data: &[&'static str] = match kind {
        K::Concat => &["values"],
        K::Select => &["cond", "a", "b"],
        _ if flags.has(Flags::ELEMENTWISE_BINARY) => &["x", "y"],
        _ => &["x"],
    };
    if f.op(op).inputs().any(|(name, mut args)| !data.contains(&name) && args.any(turned)) {
        return None;
    }
    match kind {
        K::Concat => concat(f, op, axes, turned),
        K::Split => axis(f, op, axes).map(|a| vec![a]),
        K::Pad => pad(f, op, axes),
        K::ReduceL1Norm
        | K::ReduceL2Norm
        | K::ReduceLogSum
        | K::ReduceLogSumExp
        | K::ReduceMax
        | K::ReduceMean
        | K::ReduceMin
        | K::ReduceProd
        | K::ReduceSum
        | K::ReduceSumSquare => reduction(f, op, axes),
        // Their parameters run along axis 1.
        K::Prelu | K::SoftplusParametric => (axes.get(1) == Some(&1)).then(Vec::new),
        K::Identity => Some(Vec::new()),
        K::Select => elementwise(f, op, data, axes, turned),
        _ if flags.has(Flags::ELEMENTWISE_BINARY) => elementwise(f, op, data, axes, turned),
        _ if flags.has(Flags::ELEMENTWISE_UNARY) => scalar_parameters(f, op),
        _ => None,
    }
}

fn axis_of(axes: &[usize], axis: i64) -> Option<i32> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(axes.len()).ok()?)? } else { axis };
    i32::try_from(*axes.get(usize::try_from(axis).ok()?)?).ok()
}

fn axis(f: &Function, op: OpId, axes: &[usize]) -> Option<Edit> {
    Some(Edit::Int("axis", axis_of(axes, f.const_arg(op, "axis")?.as_i64()?)?))
}

fn reduction(f: &Function, op: OpId, axes: &[usize]) -> Option<Vec<Edit>> {
    if !f.const_arg(op, "keep_dims")?.as_bool()? {
        return None;
    }
    if f.op(op).arg("axes").is_none() {
        return Some(Vec::new());
    }
    let reduced = const_ints(f, op, "axes")?;
    Some(vec![Edit::Ints("axes", reduced.iter().map(|&a| axis_of(axes, a)).collect::<Option<_>>()?)])
}

fn pad(f: &Function, op: OpId, axes: &[usize]) -> Option<Vec<Edit>> {
    let constant = f.op(op).arg("mode").is_none() || f.const_arg(op, "mode").and_then(Const::as_str)? == "constant";
    let named = const_ints(f, op, "pad")?;
    let skipped = axes.len().checked_sub(named.len() / 2)?;
    let mut amounts = vec![[0i32; 2]; skipped];
    for pair in named.chunks_exact(2) {
        amounts.push([i32::try_from(pair[0]).ok()?, i32::try_from(pair[1]).ok()?]);
    }
    let mut amounts = unturned(axes, &amounts);
    // Reflection and repetition are for the two innermost axes.
    let innermost = amounts.len().saturating_sub(2);
    if !constant && amounts[..innermost].iter().any(|a| *a != [0, 0]) {
        return None;
    }
    // As many axes are named as before, where that is enough.
    if amounts[..skipped].iter().all(|a| *a == [0, 0]) {
        amounts.drain(..skipped);
    }
    Some(vec![Edit::Ints("pad", amounts.into_flattened())])
}

fn concat(f: &Function, op: OpId, axes: &[usize], turned: IsTurned<'_>) -> Option<Vec<Edit>> {
    let mut edits = vec![axis(f, op, axes)?];
    for (arg, v) in f.op(op).args("values").enumerate().filter(|&(_, v)| !turned(v)) {
        let shape = movable(f, v).filter(|s| s.len() == axes.len())?;
        edits.push(Edit::Constant(Operand { name: "values", arg, shape }));
    }
    Some(edits)
}

/// The shape of a constant whose elements can be moved about.
fn movable(f: &Function, v: ValueId) -> Option<Vec<usize>> {
    let data = f.const_value(v)?.as_data()?;
    (!data.dtype().is_sub_byte()).then(|| data.shape().to_vec())
}

fn elementwise(
    f: &Function,
    op: OpId,
    data: &[&'static str],
    axes: &[usize],
    turned: IsTurned<'_>,
) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for &name in data {
        let v = f.op(op).arg(name)?;
        if !turned(v) {
            edits.extend(beside(f, name, v, axes)?);
        }
    }
    Some(edits)
}

/// What becomes of an operand that is not turned, beside one that is; `None` where nothing can.
fn beside(f: &Function, name: &'static str, v: ValueId, axes: &[usize]) -> Option<Option<Edit>> {
    let ty = f.ty(v).as_tensor()?;
    if ty.rank() == 0 {
        return Some(None);
    }
    let known = ty.shape.to_known()?;
    let mut shape = vec![1; axes.len().checked_sub(known.len())?];
    shape.extend(&known);
    if f.const_value(v).is_some() {
        movable(f, v)?;
        return Some(Some(Edit::Constant(Operand { name, arg: 0, shape })));
    }
    let reshapes = keeps_order(axes, &shape) && !shape.contains(&0) && accepts(OpKind::Reshape, f.opset, "x", ty.dtype);
    let is_same = unturned(axes, &shape) == known;
    reshapes.then(|| (!is_same).then_some(Edit::Reshape(Operand { name, arg: 0, shape })))
}

/// An op of one tensor, whose other parameters must be of no axis.
fn scalar_parameters(f: &Function, op: OpId) -> Option<Vec<Edit>> {
    let mut others = f.op(op).inputs().filter(|(name, _)| *name != "x").flat_map(|(_, args)| args);
    others.all(|v| f.ty(v).rank() == Some(0)).then(Vec::new)
}
