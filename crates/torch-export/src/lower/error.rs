//! Why a program is not lowered.

use std::fmt;

use super::node::NodeError;
use crate::graph::ValueId as GraphValue;

/// Why a program is not lowered: everything of one kind that is wrong with it.
#[derive(Debug)]
pub enum LowerError {
    /// In-place ops that cannot be made functional.
    Functionalize(Box<crate::Error>),
    /// Ops that have no lowering.
    MissingOps(Vec<MissingOp>),
    /// Nodes whose op has a lowering, but not for their arguments.
    Nodes(Vec<NodeProblem>),
    /// Inputs and weights that MIL programs do not have.
    Inputs(Vec<String>),
    /// Outputs that MIL programs do not have.
    Outputs(Vec<String>),
    /// Buffers and inputs that the program writes to.
    State(Vec<String>),
}

/// An op that has no lowering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingOp {
    /// The op, as in `aten.add.Tensor`.
    pub target: String,
    /// How many nodes call it.
    pub count: usize,
    /// The first of them.
    pub first_node: String,
    /// The line of Python that the first comes from, where the file says.
    pub first_line: Option<String>,
}

/// A node that was not lowered.
#[derive(Clone, Debug)]
pub struct NodeProblem {
    /// Its name.
    pub node: String,
    /// Its op.
    pub target: String,
    /// The line of Python that it comes from, where the file says.
    pub line: Option<String>,
    /// Why.
    pub error: NodeError,
    /// What it would have made, and what hangs on that.
    pub(super) results: Vec<GraphValue>,
}

impl std::error::Error for LowerError {}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LowerError::Functionalize(e) => write!(f, "{e}"),
            LowerError::MissingOps(ops) => {
                write!(f, "{} without a lowering:", count(ops.len(), "op"))?;
                for op in ops {
                    write!(f, "\n  {} ({}), first at node `{}`", op.target, count(op.count, "node"), op.first_node)?;
                    line(f, op.first_line.as_deref())?;
                }
                write!(f, "\n`run_decompositions()` before saving may turn them into ops that have one")
            }
            LowerError::Nodes(nodes) => {
                write!(f, "{} not lowered:", count(nodes.len(), "node"))?;
                for n in nodes {
                    write!(f, "\n  `{}` ({}): {}", n.node, n.target, n.error)?;
                    line(f, n.line.as_deref())?;
                }
                Ok(())
            }
            LowerError::Inputs(what) => write!(f, "inputs that cannot be lowered:\n  {}", what.join("\n  ")),
            LowerError::Outputs(what) => write!(f, "outputs that cannot be lowered:\n  {}", what.join("\n  ")),
            LowerError::State(names) => write!(
                f,
                "the program writes to `{}`; state is not lowered yet: return the new value instead of writing it",
                names.join("`, `")
            ),
        }
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn line(f: &mut fmt::Formatter<'_>, line: Option<&str>) -> fmt::Result {
    match line {
        Some(line) => write!(f, ", {line}"),
        None => Ok(()),
    }
}
