//! Activations.

use coremill_mil::{Const, OpKind, ValueId};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("relu.default", |n| n.unary(OpKind::Relu)),
    ("sigmoid.default", |n| n.unary(OpKind::Sigmoid)),
    ("tanh.default", |n| n.unary(OpKind::Tanh)),
    ("silu.default", |n| n.unary(OpKind::Silu)),
    ("relu6.default", |n| n.unary(OpKind::Relu6)),
    ("gelu.default", gelu),
    ("hardswish.default", hardswish),
    ("hardsigmoid.default", hardsigmoid),
    ("hardtanh.default", hardtanh),
    ("clamp.default", clamp),
    ("leaky_relu.default", leaky_relu),
    ("elu.default", elu),
    ("prelu.default", prelu),
    ("_prelu_kernel.default", prelu),
    ("softmax.int", softmax),
    ("_softmax.default", softmax),
    ("log_softmax.int", log_softmax),
    ("_log_softmax.default", log_softmax),
    ("dropout.default", dropout),
    ("native_dropout.default", dropout),
];

fn gelu(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let mode = match n.text_or("approximate", "none")?.as_str() {
        "none" => "EXACT",
        "tanh" => "TANH_APPROXIMATION",
        other => return Err(NodeError::unsupported(format!("`approximate` `{other}`"))),
    };
    n.op(OpKind::Gelu).input("x", x).literal("mode", Const::string(mode)).one().map(Into::into).map_err(Into::into)
}

/// `x * hardsigmoid(x)`. Below -3, where `hardsigmoid` is 0, `x` may be large: it is zeroed first, so that fp16
/// never multiplies what it cannot hold.
fn hardswish(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let from = n.scalar_like(x, -3.0)?;
    let kept = n.inner(OpKind::ThresholdedRelu, "thresholded").input("x", x).literal("alpha", from).one()?;
    let (slope, offset) = (n.scalar_like(x, 1.0 / 6.0)?, n.scalar_like(x, 0.5)?);
    let gate = n.inner(OpKind::SigmoidHard, "gate").input("x", kept).literal("alpha", slope).literal("beta", offset);
    let gate = gate.one()?;
    Ok(n.op(OpKind::Mul).input("x", kept).input("y", gate).one()?.into())
}

fn hardsigmoid(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let (slope, offset) = (n.scalar_like(x, 1.0 / 6.0)?, n.scalar_like(x, 0.5)?);
    Ok(n.op(OpKind::SigmoidHard).input("x", x).literal("alpha", slope).literal("beta", offset).one()?.into())
}

fn hardtanh(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let (low, high) = (n.float_or("min_val", -1.0)?, n.float_or("max_val", 1.0)?);
    between(n, x, Some(low), Some(high))
}

fn clamp(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let (low, high) = (n.maybe_float("min")?, n.maybe_float("max")?);
    between(n, x, low, high)
}

/// `clip` for floats; integers, which `clip` does not take, go through `maximum` and `minimum`.
fn between(n: &mut NodeCx<'_, '_>, x: ValueId, low: Option<f64>, high: Option<f64>) -> Result<Lowered, NodeError> {
    let dtype = n.dtype(x)?;
    if dtype.is_float() {
        let (least, most) = n.finite_range(x)?;
        let alpha = n.scalar_like(x, low.unwrap_or(least))?;
        let beta = n.scalar_like(x, high.unwrap_or(most))?;
        return Ok(n.op(OpKind::Clip).input("x", x).literal("alpha", alpha).literal("beta", beta).one()?.into());
    }
    let mut v = x;
    for (kind, bound, suffix) in [(OpKind::Maximum, low, "low"), (OpKind::Minimum, high, "high")] {
        if let Some(bound) = bound {
            let bound = n.scalar_like(x, bound)?;
            v = n.inner(kind, suffix).input("x", v).literal("y", bound).one()?;
        }
    }
    Ok(v.into())
}

fn leaky_relu(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let slope = n.float_or("negative_slope", 0.01)?;
    let slope = n.scalar_like(x, slope)?;
    Ok(n.op(OpKind::LeakyRelu).input("x", x).literal("alpha", slope).one()?.into())
}

fn elu(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    if n.float_or("scale", 1.0)? != 1.0 || n.float_or("input_scale", 1.0)? != 1.0 {
        return Err(NodeError::unsupported("a `scale` or `input_scale` other than 1"));
    }
    let alpha = n.float_or("alpha", 1.0)?;
    let alpha = n.scalar_like(x, alpha)?;
    Ok(n.op(OpKind::Elu).input("x", x).literal("alpha", alpha).one()?.into())
}

/// One slope for all, or one per channel (axis 1). MIL's `prelu` wants rank 3 to 5, and rank 4 where the slopes
/// differ: a tensor of smaller rank gets axes behind its own and loses them again.
fn prelu(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, weight) = (n.value("self")?, n.value("weight")?);
    let rank = n.shape(x)?.rank();
    let slopes = n.const_f64s(weight)?.ok_or_else(|| NodeError::unsupported("slopes that are computed"))?;
    let channels = match rank {
        0 | 1 => 1,
        _ => n.known_extent(x, 1)?,
    };
    let slopes = match slopes.as_slice() {
        [one] => vec![*one; channels],
        many if many.len() == channels => many.to_vec(),
        many => return Err(NodeError::unsupported(format!("{} slopes for {channels} channels", many.len()))),
    };
    let alike = slopes.windows(2).all(|w| w[0] == w[1]);
    let wanted = if alike { rank.max(3) } else { rank.max(4) };
    if !alike && rank > 4 {
        return Err(NodeError::unsupported("slopes that differ, on a tensor of rank 5"));
    }
    let alpha = n.floats_like(x, &[channels], &slopes)?;
    if wanted == rank {
        return Ok(n.op(OpKind::Prelu).input("x", x).literal("alpha", alpha).one()?.into());
    }
    // A vector has one slope, whichever of the new axes counts its channels.
    let axes: Vec<i32> = (rank as i32..wanted as i32).collect();
    let axes = Const::int32s(&axes);
    let wide = n.inner(OpKind::ExpandDims, "expanded").input("x", x).literal("axes", axes.clone()).one()?;
    let wide = n.inner(OpKind::Prelu, "prelu").input("x", wide).literal("alpha", alpha).one()?;
    Ok(n.op(OpKind::Squeeze).input("x", wide).literal("axes", axes).one()?.into())
}

fn softmax(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.float_value("self")?;
    let axis = n.int("dim")? as i32;
    Ok(n.op(OpKind::Softmax).input("x", x).literal("axis", Const::int32(axis)).one()?.into())
}

/// `x - max - log(sum(exp(x - max)))`: the logarithm of a softmax would be that of zero for small ones.
fn log_softmax(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.float_value("self")?;
    let axes = Const::int32s(&[n.int("dim")? as i32]);
    let reduce = |n: &mut NodeCx<'_, '_>, kind, v, suffix| {
        n.inner(kind, suffix).input("x", v).literal("axes", axes.clone()).literal("keep_dims", Const::bool(true)).one()
    };
    let max = reduce(n, OpKind::ReduceMax, x, "max")?;
    let shifted = n.inner(OpKind::Sub, "shifted").input("x", x).input("y", max).one()?;
    let log_sum = reduce(n, OpKind::ReduceLogSumExp, shifted, "log_sum_exp")?;
    Ok(n.op(OpKind::Sub).input("x", shifted).input("y", log_sum).one()?.into())
}

/// Nothing at inference; dropping at training time is not lowered.
fn dropout(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("input")?;
    if n.bool_or("train", false)? && n.float_or("p", 0.5)? != 0.0 {
        return Err(NodeError::unsupported("dropout in training mode: call `.eval()` before exporting"));
    }
    Ok(x.into())
}
