//! What a pass is: a named, documented change of a program.

use std::sync::Arc;

use coremill_mil::{InferError, OpId, Program};

use crate::options::{OptionSpec, Options};

/// A graph pass, made with its options set.
///
/// A pass keeps the meaning of the program and the names of its inputs and outputs. It holds no state between runs.
pub trait Pass: Send + Sync {
    /// Changes the program, counting what it does in `cx`.
    ///
    /// # Errors
    /// When it meets a program that it cannot treat; the program may then be partly changed and must be dropped.
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError>;
}

/// What there is to know of a pass.
#[derive(Debug)]
pub struct PassInfo {
    /// `namespace::name`, the spelling that pipelines use; where coremltools has the same pass, its spelling.
    pub id: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The options it takes.
    pub options: &'static [OptionSpec],
    /// Its spec: cases in MIL text of what it changes and what it leaves alone. The first is its example.
    pub spec: &'static str,
    /// Makes the pass from options that were checked against [`PassInfo::options`].
    pub make: fn(&Options) -> Box<dyn Pass>,
}

/// What a pass sees and fills while it runs.
#[derive(Debug)]
pub struct PassContext {
    /// The pass's id, recorded as an origin on what it makes.
    pub id: Arc<str>,
    /// Changes made so far.
    pub rewrites: u64,
    /// Ops looked at so far: the measure of cost.
    pub visited: u64,
    /// Sentences for the user: what was declined and why, what a change costs in accuracy.
    pub notes: Vec<String>,
    /// At most this many rewrites are made, then the pass ends as if there were no more.
    pub rewrite_limit: Option<u64>,
}

impl PassContext {
    /// A fresh context for a pass of this id.
    pub fn new(id: &str) -> PassContext {
        PassContext { id: Arc::from(id), rewrites: 0, visited: 0, notes: Vec::new(), rewrite_limit: None }
    }

    /// Is the rewrite limit reached?
    pub fn is_exhausted(&self) -> bool {
        self.rewrite_limit.is_some_and(|n| self.rewrites >= n)
    }
}

/// Why a pass failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PassError {
    /// A rewrite made an op that type inference refuses: a fault of the rule.
    #[error("rule `{rule}` made `{kind}`, which {error}")]
    Infer {
        /// The rule.
        rule: &'static str,
        /// The op it made.
        kind: coremill_mil::OpKind,
        /// What type inference says.
        error: InferError,
    },
    /// A rewrite replaced a value by one of another type: a fault of the rule.
    #[error("rule `{rule}` replaced a value of type {old} by one of type {new}")]
    TypeChanged {
        /// The rule.
        rule: &'static str,
        /// Type of the replaced value.
        old: String,
        /// Type of the new one.
        new: String,
    },
    /// Rewrites did not come to an end.
    #[error("stopped after {rewrites} rewrites of {ops} ops: rules `{last}` and `{before_last}` undo each other")]
    Runaway {
        /// Rewrites made.
        rewrites: u64,
        /// Ops of the program when the pass began.
        ops: usize,
        /// The rule of the last rewrite.
        last: &'static str,
        /// The rule of the one before.
        before_last: &'static str,
    },
    /// The pass cannot treat the program.
    #[error("{what}")]
    Unsupported {
        /// What it cannot treat, and what to do.
        what: String,
        /// The op, where there is one.
        op: Option<OpId>,
    },
}

impl PassError {
    /// The pass cannot treat the program.
    pub fn unsupported(what: impl Into<String>) -> PassError {
        PassError::Unsupported { what: what.into(), op: None }
    }
}
