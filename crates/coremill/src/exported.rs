//! `.pt2` files: the one place of the library that knows their reader and the lowering.

use std::path::Path;

use coremill_mil::{Opset, Program};
use coremill_mlpackage::{Describe, Source as Made};
use serde_json::Value;

use crate::Error;
use crate::method::Signature;

/// A lowered `.pt2`, before any pipeline.
pub(crate) struct Source {
    pub(crate) program: Program,
    /// How callers see it.
    pub(crate) method: Signature,
    /// What the model will say it was made from.
    pub(crate) source: Made,
    /// Ranges of its symbols.
    pub(crate) describe: Describe,
    /// The opset it is for.
    pub(crate) opset: Opset,
}

/// What a `.pt2` holds, as data.
pub(crate) fn describe(path: &Path) -> Result<Value, Error> {
    Err(Error::unusable(path.display(), "this build reads no .pt2 files yet"))
}

/// The program of a `.pt2` as MIL, for this opset or the oldest that will do.
pub(crate) fn lower(path: &Path, _opset: Option<Opset>) -> Result<Source, Error> {
    Err(Error::unusable(path.display(), "this build reads no .pt2 files yet"))
}
