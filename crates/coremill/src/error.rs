//! What can go wrong between opening an input and writing an output.

use std::fmt::Display;
use std::path::Path;

use coremill_executorch::blob::BlobError;
use coremill_executorch::compile_spec::CompileSpecErrors;
use coremill_executorch::inmemory_fs::FlattenError;
use coremill_executorch::pte::PteError;
use coremill_passes::{PipelineError, PipelineParseError, ResolveError};

/// Why a job failed: which file, where in it, what is wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system said no.
    #[error("{file}: {error}")]
    Io {
        /// The file.
        file: String,
        /// What it said.
        error: std::io::Error,
    },
    /// A file is of no kind that is read or written here, or of a kind that does not do for the job.
    #[error("{file}: {what}")]
    Unusable {
        /// The file.
        file: String,
        /// What it is, and what to do.
        what: String,
    },
    /// A `.mlpackage` or `.mlmodel` is wrong, or cannot be written.
    #[error(transparent)]
    Model(#[from] coremill_mlpackage::Error),
    /// A `.pte` is wrong, or cannot be written.
    #[error("{file}: {error}")]
    Pte {
        /// The file.
        file: String,
        /// What is wrong.
        error: PteError,
    },
    /// The blob of a delegate is wrong, or cannot be made.
    #[error("{file}: method `{method}`, delegate {index}: {error}")]
    Blob {
        /// The file.
        file: String,
        /// The method.
        method: String,
        /// Number of the delegate in the method.
        index: usize,
        /// What is wrong.
        error: BlobError,
    },
    /// A `.pt2` is wrong.
    #[error("{0}")]
    Pt2(String),
    /// Compile specs cannot be understood.
    #[error("{origin}: {error}")]
    CompileSpecs {
        /// Whose they are.
        origin: String,
        /// Everything that is wrong with them.
        error: CompileSpecErrors,
    },
    /// A text is no pipeline.
    #[error("{origin}: {error}")]
    PipelineText {
        /// Where the text is from.
        origin: String,
        /// What is wrong with it.
        error: PipelineParseError,
    },
    /// A pipeline did not run to its end.
    #[error("{}", pipeline_message(.error, .advice))]
    Pipeline {
        /// What happened.
        error: PipelineError,
        /// What to do, where there is more to say than the error does.
        advice: Option<&'static str>,
    },
    /// A pipeline cannot be changed so.
    #[error(transparent)]
    Edit(#[from] coremill_passes::EditError),
    /// An option was set on a pass that the pipeline does not have.
    #[error("pipeline `{pipeline}` has no pass `{pass}` to set option `{option}` on; it has {}", list(.has))]
    NoSuchStep {
        /// The pipeline.
        pipeline: String,
        /// The pass.
        pass: String,
        /// The option.
        option: String,
        /// The passes it has.
        has: Vec<String>,
    },
    /// A program is not valid MIL.
    #[error("{file}: the program is not valid:\n{}", .problems.join("\n"))]
    Invalid {
        /// Where the program came from or goes to.
        file: String,
        /// What is wrong, one sentence each.
        problems: Vec<String>,
    },
}

/// The message of a pipeline that did not run. Passes that are still to come are told in one sentence, each once.
fn pipeline_message(error: &PipelineError, advice: &Option<&'static str>) -> String {
    let mut lines = Vec::new();
    match error {
        PipelineError::Resolve(errors) => {
            let mut to_come: Vec<&str> = Vec::new();
            for e in errors {
                match e {
                    ResolveError::NotYet { id, .. } if to_come.contains(&id.as_str()) => {}
                    ResolveError::NotYet { id, .. } => to_come.push(id),
                    other => lines.push(other.to_string()),
                }
            }
            if !to_come.is_empty() {
                lines.push(format!(
                    "the pipeline has passes of coremltools that coremill does not have yet; take them out of it: `{}`",
                    to_come.join("`, `")
                ));
            }
        }
        other => lines.push(other.to_string()),
    }
    lines.extend(advice.map(str::to_owned));
    lines.join("\n")
}

fn list(ids: &[String]) -> String {
    if ids.is_empty() { "no passes".to_owned() } else { format!("`{}`", ids.join("`, `")) }
}

impl Error {
    pub(crate) fn io(path: &Path, error: std::io::Error) -> Error {
        Error::Io { file: path.display().to_string(), error }
    }

    pub(crate) fn unusable(file: impl Display, what: impl Into<String>) -> Error {
        Error::Unusable { file: file.to_string(), what: what.into() }
    }

    pub(crate) fn pte(file: impl Display, error: PteError) -> Error {
        Error::Pte { file: file.to_string(), error }
    }

    pub(crate) fn flatten(file: impl Display, error: FlattenError) -> Error {
        Error::Unusable { file: file.to_string(), what: error.to_string() }
    }
}
