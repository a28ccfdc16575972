//! Fused attention.

use coremill_tensor::{DType, Shape};

use super::common::{FLOATS, FOLD, broadcast, given_if, one, tensor};
use crate::Opset::Ios18;
use crate::schema::{InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

pub(super) const OPS: &[OpSchema] = &[OpSchema {
    kind: OpKind::ScaledDotProductAttention,
    summary: "`softmax(query * transpose(key) / sqrt(E) + mask) * value`, with `E` the last extent of `query`; a \
              boolean mask keeps where it holds.",
    versions: &[OpVersion::new(
        Ios18,
        &[
            InputSpec::same("query", 'T', FLOATS),
            InputSpec::same("key", 'T', FLOATS),
            InputSpec::same("value", 'T', FLOATS),
            InputSpec::same("attn_mask", 'M', &[DType::Bool, DType::Fp16, DType::Fp32]).optional(),
        ],
    )],
    flags: FOLD,
    infer: attention,
}];

fn attention(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (query, key, value) = (tensor(args, "query")?, tensor(args, "key")?, tensor(args, "value")?);
    let shapes = format_args!("query {}, key {}, value {}", query.shape, key.shape, value.shape).to_string();
    let bad = |what: &str| Err(InferError::Mismatch(format!("{what}: {shapes}")));
    if query.rank() != key.rank() || query.rank() != value.rank() {
        return bad("the ranks must be alike");
    }
    let ([q_batch @ .., length, q_width], [k_batch @ .., sequence, k_width], [v_batch @ .., v_sequence, v_width]) =
        (&query.shape[..], &key.shape[..], &value.shape[..])
    else {
        return bad("there must be at least three dimensions");
    };
    if q_batch.is_empty() {
        return bad("there must be at least three dimensions");
    }
    let batches = [q_batch, k_batch, v_batch];
    if batches.iter().all(|b| b.iter().all(|d| d.is_known())) && (q_batch != k_batch || q_batch != v_batch) {
        return bad("the outer dimensions must be alike");
    }
    if !q_width.compatible(k_width) {
        return bad("query and key must have the same last extent");
    }
    if !sequence.compatible(v_sequence) {
        return bad("key and value must be of the same length");
    }
    if let Some(mask) = given_if(args, "attn_mask")? {
        let Some((last, outer)) = mask.shape.split_last() else {
            return Err(InferError::bad("attn_mask", "is a scalar"));
        };
        if !last.compatible(sequence) {
            return Err(InferError::bad("attn_mask", format!("is of shape {} for a length of {sequence}", mask.shape)));
        }
        let rows: Shape = q_batch.iter().chain([length]).cloned().collect();
        broadcast(&rows, &outer.iter().cloned().collect())?;
    }
    one(query.dtype, q_batch.iter().chain([length, v_width]).cloned().collect())
}
