//! Lower, transform and write Core ML programs: the library's face.
//!
//! * [`Session`]: runs a job, watched by instruments: [`Session::lower`], [`Session::opt`], [`Session::run`].
//! * [`Kind`], [`open_model`], [`open_pte`]: opening files.
//! * [`inspect`], [`extract`], [`diff`]: looking at them.
//!
//! It promises that outputs appear whole or not at all, that the same input and options give the same bytes, and that
//! an error names the file, the place in it and what to do. It prints nothing: what there is to tell besides the
//! result is a [`Note`], handed to a sink.

mod choose;
mod delegates;
mod diff;
mod error;
mod exported;
mod extract;
mod input;
mod inspect;
mod lower;
mod method;
mod note;
mod relower;
mod session;
mod spool;
mod verify;

pub use choose::{PassOption, USER_PIPELINE, pipeline_from_argument, set_options};
pub use diff::{Difference, diff};
pub use error::Error;
pub use extract::extract;
pub use input::{Kind, open_model, open_pte};
pub use inspect::{
    DelegateInfo, FunctionInfo, Inspection, MethodInfo, ModelInfo, ValueInfo, WeightInfo, WeightTotal, inspect,
};
pub use lower::{LowerOptions, Lowered};
pub use note::Note;
pub use session::Session;
pub use verify::problems as verify;

use std::path::Path;

/// Writes a text file that appears whole or not at all.
///
/// # Errors
/// What the file system reports; then nothing has changed.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    Ok(coremill_mlpackage::write_file(path, &text.as_bytes().to_vec().into())?)
}

pub use coremill_executorch::compile_spec;
pub use coremill_mlpackage::Model;
