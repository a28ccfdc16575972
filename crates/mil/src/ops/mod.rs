//! The op table: one entry per op type, one file per family, each with the family's type inference.
//!
//! The tables are plain data; [`schema_of`] finds an entry by kind in constant time.

use std::sync::LazyLock;

use crate::{OpKind, OpSchema, OpVersion, Opset};

mod activation;
mod attention;
mod classify;
pub(crate) mod common;
mod complex_dialect;
mod constexpr;
mod constexpr_infer;
mod control_flow;
mod conv;
mod elementwise_binary;
mod elementwise_unary;
mod image_resizing;
mod linear;
mod list;
mod normalization;
mod pool;
mod quantization;
mod random;
mod recurrent;
mod reduction;
mod scatter_gather;
mod spatial;
mod state;
mod tensor_operation;
mod tensor_transformation;
mod torch_dialect;

/// Every family's entries.
const FAMILIES: &[&[OpSchema]] = &[
    activation::OPS,
    attention::OPS,
    constexpr::OPS,
    conv::OPS,
    elementwise_binary::OPS,
    elementwise_unary::OPS,
    linear::OPS,
    normalization::OPS,
    pool::OPS,
    quantization::OPS,
    reduction::OPS,
    tensor_transformation::OPS,
    tensor_operation::OPS,
    state::OPS,
    scatter_gather::OPS,
    random::OPS,
    control_flow::OPS,
    classify::OPS,
    image_resizing::OPS,
    list::OPS,
    recurrent::OPS,
    complex_dialect::OPS,
    torch_dialect::OPS,
];

static BY_KIND: LazyLock<Vec<Option<&'static OpSchema>>> = LazyLock::new(|| {
    let mut index = vec![None; OpKind::ALL.len() + 1];
    for schema in all_schemas() {
        index[schema.kind as usize] = Some(schema);
    }
    index
});

/// The table's entry of an op; `None` for [`OpKind::Unknown`].
pub fn schema_of(kind: OpKind) -> Option<&'static OpSchema> {
    BY_KIND.get(kind as usize).copied().flatten()
}

/// Every entry of the table, by family.
pub fn all_schemas() -> impl Iterator<Item = &'static OpSchema> {
    FAMILIES.iter().flat_map(|f| f.iter())
}

/// The definition of an op that holds in an opset.
pub fn version_of(kind: OpKind, opset: Opset) -> Option<&'static OpVersion> {
    schema_of(kind)?.version(opset)
}
