//! Element-wise ops of two tensors, broadcast against each other, and `select`.

use coremill_tensor::DType;

use super::common::{BOOL, FOLD, NUMBERS, broadcast, one, tensor};
use crate::Opset::Ios15;
use crate::schema::{Flags, InferFn, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const NUMERIC: &[OpVersion] =
    &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', NUMBERS), InputSpec::same("y", 'T', NUMBERS)])];
const LOGICAL: &[OpVersion] =
    &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', BOOL), InputSpec::same("y", 'T', BOOL)])];
const SELECTED: &[DType] = &[DType::Fp16, DType::Fp32, DType::Bool, DType::Int32];

const fn def(kind: OpKind, summary: &'static str, versions: &'static [OpVersion], infer: InferFn) -> OpSchema {
    OpSchema { kind, summary, versions, flags: FOLD.and(Flags::ELEMENTWISE_BINARY), infer }
}

const fn arithmetic(kind: OpKind, summary: &'static str) -> OpSchema {
    def(kind, summary, NUMERIC, same_dtype)
}

const fn comparison(kind: OpKind, summary: &'static str) -> OpSchema {
    def(kind, summary, NUMERIC, truth)
}

const fn logical(kind: OpKind, summary: &'static str) -> OpSchema {
    def(kind, summary, LOGICAL, truth)
}

pub(super) const OPS: &[OpSchema] = &[
    arithmetic(OpKind::Add, "Sum: `x + y`."),
    comparison(OpKind::Equal, "Comparison: `x == y`."),
    arithmetic(OpKind::FloorDiv, "Quotient rounded down: `floor(x / y)`."),
    comparison(OpKind::Greater, "Comparison: `x > y`."),
    comparison(OpKind::GreaterEqual, "Comparison: `x >= y`."),
    comparison(OpKind::Less, "Comparison: `x < y`."),
    comparison(OpKind::LessEqual, "Comparison: `x <= y`."),
    logical(OpKind::LogicalAnd, "Conjunction of booleans."),
    logical(OpKind::LogicalOr, "Disjunction of booleans."),
    logical(OpKind::LogicalXor, "Exclusive disjunction of booleans."),
    arithmetic(OpKind::Maximum, "The greater of `x` and `y`."),
    arithmetic(OpKind::Minimum, "The lesser of `x` and `y`."),
    arithmetic(OpKind::Mod, "Remainder with the sign of `y`: `x - floor(x / y) * y`."),
    arithmetic(OpKind::Mul, "Product: `x * y`."),
    comparison(OpKind::NotEqual, "Comparison: `x != y`."),
    arithmetic(OpKind::RealDiv, "Quotient: `x / y`."),
    arithmetic(OpKind::Pow, "Power: `x ^ y`."),
    arithmetic(OpKind::Sub, "Difference: `x - y`."),
    OpSchema {
        kind: OpKind::Select,
        summary: "`a` where `cond` holds, `b` elsewhere; the three broadcast.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                InputSpec::tensor("cond", BOOL),
                InputSpec::same("a", 'T', SELECTED),
                InputSpec::same("b", 'T', SELECTED),
            ],
        )],
        flags: FOLD.and(Flags::ELEMENTWISE),
        infer: select,
    },
];

fn pair(args: &OpArgs<'_>, x: &'static str, y: &'static str) -> Result<Type, InferError> {
    let (a, b) = (tensor(args, x)?, tensor(args, y)?);
    if a.dtype != b.dtype {
        return Err(InferError::bad(y, format!("is of {} and `{x}` of {}; they must be alike", b.dtype, a.dtype)));
    }
    Ok(Type::tensor(a.dtype, broadcast(&a.shape, &b.shape)?))
}

fn same_dtype(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    Ok(vec![pair(args, "x", "y")?])
}

fn truth(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    match pair(args, "x", "y")? {
        Type::Tensor(t) => one(DType::Bool, t.shape),
        other => Ok(vec![other]),
    }
}

/// The peer leaves `cond` out of the result's shape, which is wrong where `cond` is the widest of the three; Core
/// ML broadcasts all three.
fn select(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let cond = tensor(args, "cond")?;
    match pair(args, "a", "b")? {
        Type::Tensor(t) => one(t.dtype, broadcast(&t.shape, &cond.shape)?),
        other => Ok(vec![other]),
    }
}
