//! Matrix products.

use coremill_mil::{Const, OpKind, ValueId};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("linear.default", linear),
    ("addmm.default", addmm),
    ("matmul.default", |n| product(n, "self", "other")),
    ("mm.default", |n| product(n, "self", "mat2")),
    ("bmm.default", |n| product(n, "self", "mat2")),
];

/// `x * weight^T + bias`. MIL's `linear` takes constant weights only; computed ones go through `matmul`.
fn linear(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, weight, bias) = (n.value("input")?, n.value("weight")?, n.maybe_value("bias")?);
    if n.is_const(weight) && bias.is_none_or(|b| n.is_const(b)) {
        let bias = match bias {
            Some(b) => b,
            None => {
                let features = n.known_extent(weight, 0)?;
                let zeros = n.floats_like(weight, &[features], &vec![0.0; features])?;
                n.constant("bias_0", zeros)
            }
        };
        return Ok(n.op(OpKind::Linear).input("x", x).input("weight", weight).input("bias", bias).one()?.into());
    }
    let transposed = |n: &mut NodeCx<'_, '_>, last: bool| {
        let op = if last { n.op(OpKind::Matmul) } else { n.inner(OpKind::Matmul, "matmul") };
        let op = op.input("x", x).input("y", weight).literal("transpose_x", Const::bool(false));
        op.literal("transpose_y", Const::bool(true)).one()
    };
    match bias {
        None => Ok(transposed(n, true)?.into()),
        Some(bias) => {
            let product = transposed(n, false)?;
            Ok(n.op(OpKind::Add).input("x", product).input("y", bias).one()?.into())
        }
    }
}

/// `beta * self + alpha * mat1 * mat2`. A constant right factor makes it a `linear` with the transposed weight,
/// which the constant folder computes.
fn addmm(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (bias, x, y) = (n.value("self")?, n.value("mat1")?, n.value("mat2")?);
    let (beta, alpha) = (n.float_or("beta", 1.0)?, n.float_or("alpha", 1.0)?);
    let bias_rank = n.shape(bias)?.rank();
    if beta == 1.0 && alpha == 1.0 && n.is_const(y) && n.is_const(bias) && bias_rank == 1 {
        let weight = n.transposed_const(y)?;
        return Ok(n.op(OpKind::Linear).input("x", x).input("weight", weight).input("bias", bias).one()?.into());
    }
    let product = n.inner(OpKind::Matmul, "matmul").input("x", x).input("y", y).one()?;
    let product = scaled(n, product, alpha, "alpha")?;
    let bias = scaled(n, bias, beta, "beta")?;
    Ok(n.op(OpKind::Add).input("x", bias).input("y", product).one()?.into())
}

fn scaled(n: &mut NodeCx<'_, '_>, v: ValueId, by: f64, suffix: &str) -> Result<ValueId, NodeError> {
    if by == 1.0 {
        return Ok(v);
    }
    let factor = n.scalar_like(v, by)?;
    Ok(n.inner(OpKind::Mul, suffix).input("x", v).literal("y", factor).one()?)
}

fn product(n: &mut NodeCx<'_, '_>, x: &'static str, y: &'static str) -> Result<Lowered, NodeError> {
    let (x, y) = (n.value(x)?, n.value(y)?);
    let (x, y) = n.promote(x, y)?;
    Ok(n.op(OpKind::Matmul).input("x", x).input("y", y).one()?.into())
}
