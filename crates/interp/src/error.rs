//! Why an op has no computed value.

use coremill_mil::InferError;

/// Why an op has no computed value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// An argument that the op needs the value of is computed at run time.
    #[error("`{0}` is not a compile-time constant")]
    NotConstant(&'static str),
    /// There is no kernel for the op, or not for this dtype.
    #[error("{0} is not evaluated yet")]
    Unsupported(String),
    /// The arguments do not go with each other or with the op.
    #[error("{0}")]
    Bad(String),
    /// The arguments have no result type.
    #[error(transparent)]
    Infer(#[from] InferError),
}

impl EvalError {
    pub(crate) fn bad(what: impl Into<String>) -> EvalError {
        EvalError::Bad(what.into())
    }
}
