//! Type inference: what an op's results are, given its arguments. The rules stand in `ops/`, by family.

use crate::{Function, OpArgs, OpId, Type};

/// Why an op has no result types.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InferError {
    /// An argument is missing.
    #[error("needs `{0}`, which is not given")]
    Missing(&'static str),
    /// An argument must be a compile-time constant and is computed.
    #[error("needs `{0}` to be a compile-time constant")]
    NotConstant(&'static str),
    /// An argument is of a kind, rank, shape or value the op does not take.
    #[error("`{input}` {what}")]
    Bad {
        /// The input.
        input: &'static str,
        /// What is wrong, as the rest of a sentence.
        what: String,
    },
    /// The arguments do not go together.
    #[error("{0}")]
    Mismatch(String),
    /// The table does not have the op, or not in this opset.
    #[error("{0}")]
    NoSuchOp(String),
}

impl InferError {
    /// An argument that is not what the op takes.
    pub fn bad(input: &'static str, what: impl Into<String>) -> InferError {
        InferError::Bad { input, what: what.into() }
    }
}

/// The types of an op's results from its arguments.
///
/// # Errors
/// When the op, opset or arguments have none; see [`InferError`].
pub fn infer(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let Some(schema) = crate::schema_of(args.kind) else {
        return Err(InferError::NoSuchOp("the op table does not have this op".to_owned()));
    };
    if schema.version(args.opset).is_none() {
        let (since, opset) = (schema.since(), args.opset);
        return Err(InferError::NoSuchOp(format!("`{}` came with {since}; this function is {opset}", args.kind)));
    }
    (schema.infer)(args)
}

/// The types of an existing op's results from its arguments.
///
/// # Errors
/// As [`infer`].
pub fn infer_op(f: &Function, op: OpId) -> Result<Vec<Type>, InferError> {
    infer(&OpArgs::of(f, op))
}
