//! Element-wise arithmetic, comparison and logic.

use coremill_mil::{Const, OpKind, ValueId};
use coremill_tensor::DType;

use super::node::{Lowered, NodeCx, NodeError, Scalar};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("add.Tensor", |n| add_or_sub(n, OpKind::Add)),
    ("add.Scalar", |n| add_or_sub(n, OpKind::Add)),
    ("sub.Tensor", |n| add_or_sub(n, OpKind::Sub)),
    ("sub.Scalar", |n| add_or_sub(n, OpKind::Sub)),
    ("rsub.Scalar", rsub),
    ("rsub.Tensor", rsub),
    ("mul.Tensor", |n| binary(n, OpKind::Mul)),
    ("mul.Scalar", |n| binary(n, OpKind::Mul)),
    ("div.Tensor", div),
    ("div.Scalar", div),
    ("div.Tensor_mode", div),
    ("div.Scalar_mode", div),
    ("pow.Tensor_Scalar", |n| pow(n, "self", "exponent")),
    ("pow.Tensor_Tensor", |n| pow(n, "self", "exponent")),
    ("pow.Scalar", |n| pow(n, "self", "exponent")),
    ("maximum.default", |n| binary(n, OpKind::Maximum)),
    ("minimum.default", |n| binary(n, OpKind::Minimum)),
    ("eq.Tensor", |n| binary(n, OpKind::Equal)),
    ("eq.Scalar", |n| binary(n, OpKind::Equal)),
    ("ne.Tensor", |n| binary(n, OpKind::NotEqual)),
    ("ne.Scalar", |n| binary(n, OpKind::NotEqual)),
    ("ge.Tensor", |n| binary(n, OpKind::GreaterEqual)),
    ("ge.Scalar", |n| binary(n, OpKind::GreaterEqual)),
    ("gt.Tensor", |n| binary(n, OpKind::Greater)),
    ("gt.Scalar", |n| binary(n, OpKind::Greater)),
    ("le.Tensor", |n| binary(n, OpKind::LessEqual)),
    ("le.Scalar", |n| binary(n, OpKind::LessEqual)),
    ("lt.Tensor", |n| binary(n, OpKind::Less)),
    ("lt.Scalar", |n| binary(n, OpKind::Less)),
    ("logical_and.default", |n| logical(n, OpKind::LogicalAnd)),
    ("logical_or.default", |n| logical(n, OpKind::LogicalOr)),
    ("logical_xor.default", |n| logical(n, OpKind::LogicalXor)),
    ("logical_not.default", logical_not),
    ("bitwise_not.default", bitwise_not),
    ("where.self", select),
    ("neg.default", neg),
    ("reciprocal.default", reciprocal),
    ("rsqrt.default", |n| with_epsilon(n, OpKind::Rsqrt, 1e-12)),
    ("log.default", |n| with_epsilon(n, OpKind::Log, 1e-45)),
    ("abs.default", |n| n.unary(OpKind::Abs)),
    ("ceil.default", |n| n.unary(OpKind::Ceil)),
    ("cos.default", |n| float_unary(n, OpKind::Cos)),
    ("erf.default", |n| float_unary(n, OpKind::Erf)),
    ("exp.default", |n| float_unary(n, OpKind::Exp)),
    ("floor.default", |n| n.unary(OpKind::Floor)),
    ("round.default", |n| n.unary(OpKind::Round)),
    ("sign.default", |n| n.unary(OpKind::Sign)),
    ("sin.default", |n| float_unary(n, OpKind::Sin)),
    ("sqrt.default", |n| float_unary(n, OpKind::Sqrt)),
    ("square.default", |n| n.unary(OpKind::Square)),
    ("_to_copy.default", to_dtype),
    ("to.dtype", to_dtype),
    ("to.dtype_layout", to_dtype),
];

/// A function of a real number: integers become floats first, as in torch.
fn float_unary(n: &mut NodeCx<'_, '_>, kind: OpKind) -> Result<Lowered, NodeError> {
    let x = n.float_value("self")?;
    Ok(n.op(kind).input("x", x).one()?.into())
}

/// MIL's `rsqrt` and `log` add an epsilon to their input, which must be written.
fn with_epsilon(n: &mut NodeCx<'_, '_>, kind: OpKind, epsilon: f64) -> Result<Lowered, NodeError> {
    let x = n.float_value("self")?;
    let epsilon = n.scalar_like(x, epsilon)?;
    Ok(n.op(kind).input("x", x).literal("epsilon", epsilon).one()?.into())
}

fn binary(n: &mut NodeCx<'_, '_>, kind: OpKind) -> Result<Lowered, NodeError> {
    let (x, y) = n.operands("self", "other")?;
    Ok(n.op(kind).input("x", x).input("y", y).one()?.into())
}

/// `self + alpha * other`, `self - alpha * other`.
fn add_or_sub(n: &mut NodeCx<'_, '_>, kind: OpKind) -> Result<Lowered, NodeError> {
    let (x, mut y) = n.operands("self", "other")?;
    let alpha = n.float_or("alpha", 1.0)?;
    if n.dtype(x)? == DType::Bool && kind == OpKind::Sub {
        return Err(NodeError::unsupported("a difference of booleans"));
    }
    if alpha != 1.0 {
        let alpha = n.scalar_like(y, alpha)?;
        y = n.inner(OpKind::Mul, "alpha").input("x", y).literal("y", alpha).one()?;
    }
    Ok(n.op(kind).input("x", x).input("y", y).one()?.into())
}

fn rsub(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (mut x, y) = n.operands("self", "other")?;
    let alpha = n.float_or("alpha", 1.0)?;
    if alpha != 1.0 {
        let alpha = n.scalar_like(x, alpha)?;
        x = n.inner(OpKind::Mul, "alpha").input("x", x).literal("y", alpha).one()?;
    }
    Ok(n.op(OpKind::Sub).input("x", y).input("y", x).one()?.into())
}

/// True division gives floats; `floor` and `trunc` keep the type.
fn div(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, y) = n.operands("self", "other")?;
    let mode = n.maybe_text("rounding_mode")?;
    match mode.as_deref() {
        None => {
            let (x, y) = (n.as_float(x)?, n.as_float(y)?);
            Ok(n.op(OpKind::RealDiv).input("x", x).input("y", y).one()?.into())
        }
        Some("floor") => Ok(n.op(OpKind::FloorDiv).input("x", x).input("y", y).one()?.into()),
        Some("trunc") => {
            // |x| / |y| rounded down, with the sign of x / y.
            let dtype = n.dtype(x)?;
            let (fx, fy) = (n.as_float(x)?, n.as_float(y)?);
            let quotient = n.inner(OpKind::RealDiv, "quotient").input("x", fx).input("y", fy).one()?;
            let sign = n.inner(OpKind::Sign, "sign").input("x", quotient).one()?;
            let size = n.inner(OpKind::Abs, "size").input("x", quotient).one()?;
            let whole = n.inner(OpKind::Floor, "whole").input("x", size).one()?;
            let signed = n.inner(OpKind::Mul, "signed").input("x", sign).input("y", whole).one()?;
            Ok(n.cast(signed, dtype, "trunc")?.into())
        }
        Some(other) => Err(NodeError::unsupported(format!("`rounding_mode` `{other}`"))),
    }
}

fn pow(n: &mut NodeCx<'_, '_>, x: &'static str, y: &'static str) -> Result<Lowered, NodeError> {
    let (x, y) = n.operands(x, y)?;
    Ok(n.op(OpKind::Pow).input("x", x).input("y", y).one()?.into())
}

fn logical(n: &mut NodeCx<'_, '_>, kind: OpKind) -> Result<Lowered, NodeError> {
    let (x, y) = (n.value("self")?, n.value("other")?);
    let (x, y) = (n.cast(x, DType::Bool, "x")?, n.cast(y, DType::Bool, "y")?);
    Ok(n.op(kind).input("x", x).input("y", y).one()?.into())
}

fn logical_not(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let x = n.cast(x, DType::Bool, "x")?;
    Ok(n.op(OpKind::LogicalNot).input("x", x).one()?.into())
}

/// `not` of a boolean; `-x - 1` of an integer.
fn bitwise_not(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    if n.dtype(x)? == DType::Bool {
        return Ok(n.op(OpKind::LogicalNot).input("x", x).one()?.into());
    }
    let minus_one = n.scalar_like(x, -1.0)?;
    let negated = n.inner(OpKind::Mul, "negated").input("x", x).literal("y", minus_one.clone()).one()?;
    Ok(n.op(OpKind::Add).input("x", negated).literal("y", minus_one).one()?.into())
}

fn select(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let cond = n.value("condition")?;
    let (a, b) = n.operands("self", "other")?;
    let cond = n.cast(cond, DType::Bool, "condition")?;
    Ok(n.op(OpKind::Select).input("cond", cond).input("a", a).input("b", b).one()?.into())
}

fn neg(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let minus_one = n.scalar_like(x, -1.0)?;
    Ok(n.op(OpKind::Mul).input("x", x).literal("y", minus_one).one()?.into())
}

fn reciprocal(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.float_value("self")?;
    let epsilon = n.scalar_like(x, 0.0)?;
    Ok(n.op(OpKind::Inverse).input("x", x).literal("epsilon", epsilon).one()?.into())
}

fn to_dtype(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x: ValueId = n.value("self")?;
    match n.maybe_dtype("dtype")? {
        None => Ok(x.into()),
        Some(dtype) if dtype == n.dtype(x)? => Ok(x.into()),
        Some(dtype) => Ok(n.op(OpKind::Cast).input("x", x).literal("dtype", Const::string(dtype.name())).one()?.into()),
    }
}

impl Scalar {
    /// The dtype that the number has beside a tensor of `beside`: an integer takes the tensor's type, a float
    /// makes a float of an integer tensor.
    pub(super) fn dtype_beside(self, beside: DType) -> DType {
        match self {
            Scalar::Float(_) if !beside.is_float() => DType::Fp32,
            Scalar::Int(_) if beside == DType::Bool => DType::Int32,
            _ => beside,
        }
    }
}
