//! Attention.

use coremill_mil::{Const, OpKind, Opset, ValueId};
use coremill_tensor::{DType, Data};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("scaled_dot_product_attention.default", attention),
    ("_scaled_dot_product_flash_attention_for_cpu.default", attention),
];

/// What a boolean mask adds to the scores it hides: far below any score, and within fp16.
const HIDDEN: f64 = -3e4;

/// `softmax(query * key^T * scale + mask) * value`. From ios18 it is one op, where that op can say it: it has no
/// `scale` of its own.
fn attention(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (q, k, v) = (n.value("query")?, n.value("key")?, n.value("value")?);
    if n.float_or("dropout_p", 0.0)? != 0.0 {
        return Err(NodeError::unsupported("a `dropout_p` other than 0: call `.eval()` before exporting"));
    }
    if n.bool_or("enable_gqa", false)? {
        return Err(NodeError::unsupported("`enable_gqa`: repeat keys and values before the call"));
    }
    let scale = n.maybe_float("scale")?;
    let fused = n.opset() >= Opset::Ios18 && scale.is_none();
    let mask = match (n.maybe_value("attn_mask")?, n.bool_or("is_causal", false)?) {
        (Some(_), true) => return Err(NodeError::unsupported("both `attn_mask` and `is_causal`")),
        (mask, false) => mask,
        (None, true) => Some(causal_mask(n, q, k)?),
    };
    if fused {
        return fused_attention(n, q, k, v, mask);
    }
    let mask = match mask {
        Some(m) if n.dtype(m)? == DType::Bool => Some(additive(n, m, q)?),
        other => other,
    };
    let embedding = n.known_extent(q, -1)?;
    let scale = n.scalar_like(q, scale.unwrap_or(1.0 / (embedding as f64).sqrt()))?;
    let q = n.inner(OpKind::Mul, "scaled").input("x", q).literal("y", scale).one()?;
    let scores = n.inner(OpKind::Matmul, "scores").input("x", q).input("y", k);
    let mut scores =
        scores.literal("transpose_x", Const::bool(false)).literal("transpose_y", Const::bool(true)).one()?;
    if let Some(mask) = mask {
        scores = n.inner(OpKind::Add, "masked").input("x", scores).input("y", mask).one()?;
    }
    let axis = Const::int32(-1);
    let weights = n.inner(OpKind::Softmax, "weights").input("x", scores).literal("axis", axis).one()?;
    Ok(n.op(OpKind::Matmul).input("x", weights).input("y", v).one()?.into())
}

/// The op of ios18 wants rank 3 or more; a smaller one gets a batch of one.
fn fused_attention(
    n: &mut NodeCx<'_, '_>,
    q: ValueId,
    k: ValueId,
    v: ValueId,
    mask: Option<ValueId>,
) -> Result<Lowered, NodeError> {
    let [q_shape, k_shape, v_shape] = [n.shape(q)?, n.shape(k)?, n.shape(v)?];
    let rank = q_shape.rank();
    let same_batch = |s: &coremill_tensor::Shape| s.rank() == rank && s[..rank - 2] == q_shape[..rank - 2];
    if rank < 2 || !same_batch(&k_shape) || !same_batch(&v_shape) {
        return Err(NodeError::unsupported("query, key and value of different batch extents"));
    }
    if rank > 2 {
        let op = n.op(OpKind::ScaledDotProductAttention).input("query", q).input("key", k).input("value", v);
        return Ok(op.maybe("attn_mask", mask).one()?.into());
    }
    let axes = Const::int32s(&[0]);
    let mut wide = |v: ValueId, suffix: &str| {
        n.inner(OpKind::ExpandDims, suffix).input("x", v).literal("axes", axes.clone()).one()
    };
    let (q, k, v) = (wide(q, "query")?, wide(k, "key")?, wide(v, "value")?);
    let op = n.inner(OpKind::ScaledDotProductAttention, "attention").input("query", q).input("key", k);
    let out = op.input("value", v).maybe("attn_mask", mask).one()?;
    Ok(n.op(OpKind::Squeeze).input("x", out).literal("axes", axes).one()?.into())
}

/// True on and below the diagonal: position `i` sees positions up to `i`.
fn causal_mask(n: &mut NodeCx<'_, '_>, q: ValueId, k: ValueId) -> Result<ValueId, NodeError> {
    let (rows, columns) = (n.known_extent(q, -2)?, n.known_extent(k, -2)?);
    let seen: Vec<bool> = (0..rows).flat_map(|i| (0..columns).map(move |j| j <= i)).collect();
    Ok(n.constant("causal_mask", Const::Tensor(Data::from_bools(&[rows, columns], &seen))))
}

/// `(1 - mask) * HIDDEN` in the dtype of the query.
fn additive(n: &mut NodeCx<'_, '_>, mask: ValueId, q: ValueId) -> Result<ValueId, NodeError> {
    let dtype = n.dtype(q)?;
    let (one, hidden) = (n.scalar_like(q, 1.0)?, n.scalar_like(q, HIDDEN)?);
    let mask = n.cast(mask, dtype, "mask")?;
    let absent = n.inner(OpKind::Sub, "hidden").literal("x", one).input("y", mask).one()?;
    Ok(n.inner(OpKind::Mul, "mask_scores").literal("x", hidden).input("y", absent).one()?)
}
