//! Normalizations.

use coremill_mil::{Const, OpKind, ValueId};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("batch_norm.default", batch_norm),
    ("_native_batch_norm_legit_no_training.default", batch_norm),
    ("layer_norm.default", layer_norm),
    ("native_layer_norm.default", layer_norm),
];

/// `(x - mean) / sqrt(var + eps) * weight + bias` per channel (axis 1), with the running statistics.
fn batch_norm(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("input")?;
    if n.bool_or("training", false)? {
        return Err(NodeError::unsupported("batch statistics: call `.eval()` before exporting"));
    }
    let (mean, variance) = (n.value("running_mean")?, n.value("running_var")?);
    let channels = n.known_extent(mean, 0)?;
    let gamma = or_filled(n, "weight", mean, channels, 1.0)?;
    let beta = or_filled(n, "bias", mean, channels, 0.0)?;
    if [mean, variance, gamma, beta].iter().any(|&v| !n.is_const(v)) {
        return Err(NodeError::unsupported("statistics or parameters that are computed"));
    }
    let eps = n.float_or("eps", 1e-5)?;
    let eps = n.scalar_like(mean, eps)?;
    let rank = n.shape(x)?.rank();
    // MIL's `batch_norm` wants an axis behind the channels.
    let axes = Const::int32s(&[-1]);
    let input = match rank {
        2 => n.inner(OpKind::ExpandDims, "expanded").input("x", x).literal("axes", axes.clone()).one()?,
        _ => x,
    };
    let op = if rank == 2 { n.inner(OpKind::BatchNorm, "batch_norm") } else { n.op(OpKind::BatchNorm) };
    let op = op.input("x", input).input("mean", mean).input("variance", variance).input("gamma", gamma);
    let out = op.input("beta", beta).literal("epsilon", eps).one()?;
    match rank {
        2 => Ok(n.op(OpKind::Squeeze).input("x", out).literal("axes", axes).one()?.into()),
        _ => Ok(out.into()),
    }
}

fn or_filled(
    n: &mut NodeCx<'_, '_>,
    name: &'static str,
    like: ValueId,
    channels: usize,
    fill: f64,
) -> Result<ValueId, NodeError> {
    match n.maybe_value(name)? {
        Some(v) => Ok(v),
        None => {
            let filled = n.floats_like(like, &[channels], &vec![fill; channels])?;
            Ok(n.constant(name, filled))
        }
    }
}

/// Over the innermost axes that `normalized_shape` names. A scale or offset that is computed is applied after.
fn layer_norm(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("input")?;
    let count = n.ints("normalized_shape")?.len() as i32;
    let axes: Vec<i32> = (-count..0).collect();
    let (gamma, beta) = (n.maybe_value("weight")?, n.maybe_value("bias")?);
    let eps = n.float_or("eps", 1e-5)?;
    let eps = n.scalar_like(x, eps)?;
    let constant = gamma.into_iter().chain(beta).all(|v| n.is_const(v));
    let op = if constant { n.op(OpKind::LayerNorm) } else { n.inner(OpKind::LayerNorm, "normalized") };
    let op = op.input("x", x).literal("axes", Const::int32s(&axes)).literal("epsilon", eps);
    if constant {
        return Ok(op.maybe("gamma", gamma).maybe("beta", beta).one()?.into());
    }
    let mut out = op.one()?;
    if let Some(gamma) = gamma {
        out = n.inner(OpKind::Mul, "scaled").input("x", out).input("y", gamma).one()?;
    }
    if let Some(beta) = beta {
        out = n.inner(OpKind::Add, "shifted").input("x", out).input("y", beta).one()?;
    }
    Ok(out.into())
}
