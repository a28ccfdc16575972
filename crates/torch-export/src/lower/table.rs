//! The registrations: which function lowers which ATen op.
//!
//! One list per family file; a key is the op's name with its overload (`add.Tensor`), in the `aten` namespace. An
//! op of the edge dialect has the same keys, and a `_copy` variant the entry of its view.

use super::node::{Lowered, NodeCx, NodeError};
use super::{
    activation, attention, conv, creation, elementwise, indexing, linear, normalization, pool, reduction, shape,
};

/// Lowers one node.
pub(crate) type LowerFn = fn(&mut NodeCx<'_, '_>) -> Result<Lowered, NodeError>;

/// ATen ops with their lowerings.
pub(crate) type Family = &'static [(&'static str, LowerFn)];

const FAMILIES: &[Family] = &[
    activation::OPS,
    attention::OPS,
    conv::OPS,
    creation::OPS,
    elementwise::OPS,
    indexing::OPS,
    linear::OPS,
    normalization::OPS,
    pool::OPS,
    reduction::OPS,
    shape::OPS,
];

/// The lowering of a target such as `torch.ops.aten.add.Tensor`.
pub(crate) fn find(target: &str) -> Option<LowerFn> {
    let name = op_name(target);
    let entry = |name: &str| FAMILIES.iter().flat_map(|f| f.iter()).find(|(key, _)| *key == name).map(|(_, f)| *f);
    entry(name).or_else(|| {
        let (base, overload) = name.split_once('.')?;
        entry(&format!("{}.{overload}", base.strip_suffix("_copy")?))
    })
}

/// The op's name with its overload: `add.Tensor` of `torch.ops.aten.add.Tensor`.
pub(crate) fn op_name(target: &str) -> &str {
    target.strip_prefix("torch.ops.").unwrap_or(target).strip_prefix("aten.").unwrap_or(target)
}
