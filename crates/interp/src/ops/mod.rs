//! Kernels by family. A family's table names its ops; the first table that has an op serves it.

mod activation;
mod along_axis;
mod elementwise_binary;
mod elementwise_unary;
mod linear;
mod movement;
mod pieces;
mod reduction;
mod scatter_gather;
mod tensor_operation;
mod tensor_transformation;

use coremill_mil::{Const, OpKind};

use crate::EvalError;
use crate::args::Args;

/// Computes the results of one op.
pub(crate) type Kernel = fn(&Args<'_, '_>) -> Result<Vec<Const>, EvalError>;

/// Ops of a family with their kernels.
pub(crate) type Family = &'static [(OpKind, Kernel)];

const FAMILIES: &[Family] = &[
    activation::KERNELS,
    along_axis::KERNELS,
    elementwise_binary::KERNELS,
    elementwise_unary::KERNELS,
    linear::KERNELS,
    pieces::KERNELS,
    reduction::KERNELS,
    scatter_gather::KERNELS,
    tensor_operation::KERNELS,
    tensor_transformation::KERNELS,
];

/// The kernel of an op.
pub(crate) fn kernel(kind: OpKind) -> Option<Kernel> {
    FAMILIES.iter().flat_map(|f| f.iter()).find(|(k, _)| *k == kind).map(|(_, kernel)| *kernel)
}

/// One tensor as the only result.
pub(crate) fn one(d: coremill_tensor::Data) -> Result<Vec<Const>, EvalError> {
    Ok(vec![Const::Tensor(d)])
}
