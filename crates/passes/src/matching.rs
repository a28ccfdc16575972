//! Words that fusions are written in: the other operand, a constant of one element, the only user of a kind.
//!
//! They only read, and say `None` where they are not certain.

use coremill_mil::{Const, Flags, Function, OpId, OpKind, ValueId, schema_of};
use coremill_tensor::{DType, Data, f16};

/// The one value of a constant of one element, whatever its rank.
pub(crate) fn scalar(f: &Function, v: ValueId) -> Option<f64> {
    match f.const_value(v)?.as_data().filter(|d| d.len() == 1)?.to_f64s()?.as_slice() {
        [n] => Some(*n),
        _ => None,
    }
}

/// Is `v` a constant of one element, equal to `n` within what a constant written with three digits, or rounded
/// to float16, is off?
pub(crate) fn is_about(f: &Function, v: ValueId, n: f64) -> bool {
    scalar(f, v).is_some_and(|s| (s - n).abs() <= 1e-3 * n.abs())
}

/// The operand of a binary op that is not `v`; `v` itself where it is both.
pub(crate) fn operand_beside(f: &Function, op: OpId, v: ValueId) -> Option<ValueId> {
    let (x, y) = (f.op(op).arg("x")?, f.op(op).arg("y")?);
    if x == v {
        Some(y)
    } else if y == v {
        Some(x)
    } else {
        None
    }
}

/// The operand of a binary op whose other operand is a constant of about `n`.
pub(crate) fn operand_beside_scalar(f: &Function, op: OpId, n: f64) -> Option<ValueId> {
    let (x, y) = (f.op(op).arg("x")?, f.op(op).arg("y")?);
    if is_about(f, y, n) {
        Some(x)
    } else if is_about(f, x, n) {
        Some(y)
    } else {
        None
    }
}

/// The op that alone uses `v`, when it is of this kind and in the block where `v` is made.
pub(crate) fn only_user_of_kind(f: &Function, v: ValueId, kind: OpKind) -> Option<OpId> {
    f.only_user(v).filter(|&op| f.kind(op) == kind && f.block_of(op) == f.block_of_value(v))
}

/// The op of this kind that computes `v` for `user` alone, in the block where `user` is.
pub(crate) fn private_producer(f: &Function, v: ValueId, kind: OpKind, user: OpId) -> Option<OpId> {
    let alone = f.only_user(v) == Some(user) && f.block_of_value(v) == f.block_of(user);
    f.producer_of(v, kind).filter(|_| alone)
}

/// The integers of a constant parameter.
pub(crate) fn const_ints(f: &Function, op: OpId, name: &str) -> Option<Vec<i64>> {
    f.const_arg(op, name)?.as_i64s()
}

/// Is `v` a weight that the runtime expands?
pub(crate) fn is_compressed(f: &Function, v: ValueId) -> bool {
    let schema = f.producer(v).and_then(|op| schema_of(f.kind(op)));
    schema.is_some_and(|s| s.flags.has(Flags::CONSTEXPR))
}

/// Have the two the same dtype and, for certain, the same shape?
pub(crate) fn same_type(f: &Function, a: ValueId, b: ValueId) -> bool {
    match (f.ty(a).as_tensor(), f.ty(b).as_tensor()) {
        (Some(a), Some(b)) => a.dtype == b.dtype && a.shape.same(&b.shape),
        _ => false,
    }
}

/// A float constant, each value rounded once; `None` for other dtypes, and where the count is not the shape's.
pub(crate) fn float_const(dtype: DType, shape: &[usize], values: Vec<f64>) -> Option<Const> {
    if shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))? != values.len() {
        return None;
    }
    let data = match dtype {
        DType::Fp16 => Data::from_vec(shape, values.into_iter().map(f16::from_f64).collect()),
        DType::Fp32 => Data::from_vec(shape, values.into_iter().map(|v| v as f32).collect()),
        DType::Fp64 => Data::from_vec(shape, values),
        _ => return None,
    };
    Some(Const::Tensor(data))
}
