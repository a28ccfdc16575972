//! Evaluation of MIL ops on the CPU.
//!
//! [`evaluate`] computes the results of one op from constant arguments. It is what constant folding calls, and
//! the oracle that passes are held against. Kernels stand by family in `ops/`; a line in a family's table is all
//! that another op needs.
//!
//! # Promises
//!
//! Integer and boolean results are exact; integer arithmetic wraps as in two's complement, division by zero is an
//! error. Floating-point results are computed wider than their type and rounded once at the end, so `fp16` and
//! `fp32` sums, products, quotients and roots are correctly rounded. Dtypes come out as type inference says.
//!
//! It deliberately knows no passes and does not run whole programs yet.

mod args;
mod error;
mod ops;

pub use error::EvalError;

use coremill_mil::{Const, Function, OpArgs, OpId, OpKind};

/// Computes the results of an op.
///
/// # Errors
/// [`EvalError::NotConstant`] when an argument that the op needs the value of is computed at run time,
/// [`EvalError::Unsupported`] for an op or dtype without a kernel, the others when the arguments are wrong or the
/// result would be huge and larger than all of them (a product of a long column and a long row).
pub fn evaluate(args: &OpArgs<'_>) -> Result<Vec<Const>, EvalError> {
    let kernel = ops::kernel(args.kind).ok_or_else(|| EvalError::Unsupported(format!("`{}`", args.kind)))?;
    let args = args::Args(args);
    args.check_growth()?;
    kernel(&args)
}

/// Computes the results of an op of a function.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_op(f: &Function, op: OpId) -> Result<Vec<Const>, EvalError> {
    evaluate(&OpArgs::of(f, op))
}

/// Is there a kernel for the op?
pub fn is_supported(kind: OpKind) -> bool {
    ops::kernel(kind).is_some()
}
