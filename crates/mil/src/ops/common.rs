//! What the families share: dtype domains and small inference rules.

use coremill_tensor::{DType, Dim, Shape};

use crate::schema::{Default, Flags, InputSpec};
use crate::{Const, InferError, OpArgs, TensorType, Type};

/// `fp16`, `fp32`.
pub(crate) const FLOATS: &[DType] = &[DType::Fp16, DType::Fp32];
/// `fp16`, `fp32`, `int32`.
pub(crate) const NUMBERS: &[DType] = &[DType::Fp16, DType::Fp32, DType::Int32];
/// `int32`.
pub(crate) const INT32: &[DType] = &[DType::Int32];
/// `string`.
pub(crate) const STRING: &[DType] = &[DType::String];
/// `bool`.
pub(crate) const BOOL: &[DType] = &[DType::Bool];
/// No side effect, and folded by the peer when its inputs are constant.
pub(crate) const FOLD: Flags = Flags::PURE.and(Flags::FOLDABLE);

/// A required constant `int32`, of any rank.
pub(crate) const fn int_spec(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, INT32).constant()
}

/// A required constant string.
pub(crate) const fn string_spec(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, STRING).constant()
}

/// A constant boolean with a default.
pub(crate) const fn bool_spec(name: &'static str, default: bool) -> InputSpec {
    InputSpec::tensor(name, BOOL).constant().default(Default::Bool(default))
}

type Inferred<T> = Result<T, InferError>;

/// The tensor type of a required input.
pub(crate) fn tensor<'a>(args: &OpArgs<'a>, name: &'static str) -> Inferred<&'a TensorType> {
    let ty = args.ty(name).ok_or(InferError::Missing(name))?;
    ty.as_tensor().ok_or_else(|| InferError::bad(name, format!("is {ty}, which is no tensor of known rank")))
}

/// The tensor type of a required input that may also be an attribute.
pub(crate) fn given(args: &OpArgs<'_>, name: &'static str) -> Inferred<TensorType> {
    match (args.ty(name), args.value(name)) {
        (None, Some(c)) => match c.ty() {
            Type::Tensor(t) => Ok(t),
            other => Err(InferError::bad(name, format!("is {other}, which is no tensor"))),
        },
        _ => tensor(args, name).cloned(),
    }
}

/// The tensor type of an input that may be left out, or be an attribute.
pub(crate) fn given_if(args: &OpArgs<'_>, name: &'static str) -> Inferred<Option<TensorType>> {
    if args.is_given(name) { given(args, name).map(Some) } else { Ok(None) }
}

/// The constant of a required input.
pub(crate) fn constant<'a>(args: &OpArgs<'a>, name: &'static str) -> Inferred<&'a Const> {
    if !args.is_given(name) {
        return Err(InferError::Missing(name));
    }
    args.value(name).ok_or(InferError::NotConstant(name))
}

/// A required constant integer.
pub(crate) fn int(args: &OpArgs<'_>, name: &'static str) -> Inferred<i64> {
    constant(args, name)?.as_i64().ok_or_else(|| InferError::bad(name, "must be one integer"))
}

/// Required constant integers.
pub(crate) fn ints(args: &OpArgs<'_>, name: &'static str) -> Inferred<Vec<i64>> {
    constant(args, name)?.as_i64s().ok_or_else(|| InferError::bad(name, "must be integers"))
}

/// A constant integer, or `default` when the input is not given.
pub(crate) fn int_or(args: &OpArgs<'_>, name: &'static str, default: i64) -> Inferred<i64> {
    if args.is_given(name) { int(args, name) } else { Ok(default) }
}

/// Constant integers, when the input is given.
pub(crate) fn ints_if(args: &OpArgs<'_>, name: &'static str) -> Inferred<Option<Vec<i64>>> {
    if args.is_given(name) { ints(args, name).map(Some) } else { Ok(None) }
}

/// A constant string, or `default` when the input is not given.
pub(crate) fn string_or<'a>(args: &OpArgs<'a>, name: &'static str, default: &'a str) -> Inferred<&'a str> {
    if args.is_given(name) { string(args, name) } else { Ok(default) }
}

/// A constant boolean, or `default` when the input is not given.
pub(crate) fn bool_or(args: &OpArgs<'_>, name: &'static str, default: bool) -> Inferred<bool> {
    if !args.is_given(name) {
        return Ok(default);
    }
    constant(args, name)?.as_bool().ok_or_else(|| InferError::bad(name, "must be one boolean"))
}

/// A constant string.
pub(crate) fn string<'a>(args: &OpArgs<'a>, name: &'static str) -> Inferred<&'a str> {
    constant(args, name)?.as_str().ok_or_else(|| InferError::bad(name, "must be one string"))
}

/// `axis` of `name` counted from the front.
pub(crate) fn axis(shape: &Shape, axis: i64, name: &'static str) -> Inferred<usize> {
    shape.axis(axis).ok_or_else(|| InferError::bad(name, format!("is {axis}, outside rank {}", shape.rank())))
}

/// The shape of two tensors broadcast against each other, aligned at the innermost extent. An extent of 1
/// stretches; a symbol against a number other than 1 is taken for the number.
pub(crate) fn broadcast(a: &Shape, b: &Shape) -> Inferred<Shape> {
    let rank = a.rank().max(b.rank());
    let at = |s: &Shape, i: usize| (i + s.rank()).checked_sub(rank).map_or(Dim::Known(1), |k| s[k].clone());
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (Dim::Known(1), d) | (d, Dim::Known(1)) => Ok(d),
            (Dim::Known(x), Dim::Known(y)) if x != y => {
                Err(InferError::Mismatch(format!("shapes {a} and {b} do not broadcast")))
            }
            (Dim::Known(x), _) | (_, Dim::Known(x)) => Ok(Dim::Known(x)),
            (x, y) if x == y => Ok(x),
            _ => Ok(Dim::Unknown),
        })
        .collect()
}

/// One result, a tensor.
pub(crate) fn one(dtype: DType, shape: Shape) -> Inferred<Vec<Type>> {
    Ok(vec![Type::tensor(dtype, shape)])
}

/// One result of the type of `x`.
pub(crate) fn same_as_x(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    tensor(args, "x").map(|t| vec![Type::Tensor(t.clone())])
}
