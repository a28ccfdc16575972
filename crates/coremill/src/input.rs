//! Opening inputs: what kind of file it is, and reading it.

use std::path::Path;

use coremill_executorch::pte::PteFile;
use coremill_mlpackage::Model;
use coremill_tensor::{Bytes, map_file};

use crate::Error;

/// The kinds of file that are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `torch.export.save`'s file.
    Pt2,
    /// Core ML's package, a folder.
    MlPackage,
    /// Core ML's model file.
    MlModel,
    /// ExecuTorch's program file.
    Pte,
}

impl Kind {
    /// The extension without its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Kind::Pt2 => "pt2",
            Kind::MlPackage => "mlpackage",
            Kind::MlModel => "mlmodel",
            Kind::Pte => "pte",
        }
    }

    /// The kind that the path's extension names.
    pub fn of_extension(path: &Path) -> Option<Kind> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        [Kind::Pt2, Kind::MlPackage, Kind::MlModel, Kind::Pte].into_iter().find(|k| k.extension() == extension)
    }

    /// The kind of an output: `.mlpackage`, `.mlmodel` or `.pte`.
    ///
    /// # Errors
    /// When the path ends otherwise.
    pub fn of_output(path: &Path) -> Result<Kind, Error> {
        match Kind::of_extension(path) {
            Some(Kind::Pt2) | None => {
                Err(Error::unusable(path.display(), "an output ends in .mlpackage, .mlmodel or .pte"))
            }
            Some(kind) => Ok(kind),
        }
    }

    /// The kind of an input: by its extension, or by its first bytes where that says nothing.
    ///
    /// # Errors
    /// When there is no such file, or it is of no known kind.
    pub fn of_input(path: &Path) -> Result<Kind, Error> {
        let meta = path.metadata().map_err(|e| Error::io(path, e))?;
        if let Some(kind) = Kind::of_extension(path) {
            return Ok(kind);
        }
        if meta.is_dir() {
            return Ok(Kind::MlPackage);
        }
        let head = map_file(path).map_err(|e| Error::io(path, e))?;
        if head.get(4..8) == Some(b"ET12") {
            return Ok(Kind::Pte);
        }
        if head.starts_with(b"PK") {
            return Ok(Kind::Pt2);
        }
        Err(Error::unusable(
            path.display(),
            "is none of the files read here: a .pt2 of torch.export, an .mlpackage, an .mlmodel or a .pte",
        ))
    }
}

/// Opens an `.mlpackage` or `.mlmodel`.
///
/// # Errors
/// When it cannot be read; the error names the place.
pub fn open_model(path: &Path) -> Result<Model, Error> {
    Ok(Model::open(path)?)
}

/// Opens a `.pte`. Its blobs are slices of the mapped file.
///
/// # Errors
/// When it cannot be read; the error names the place.
pub fn open_pte(path: &Path) -> Result<PteFile, Error> {
    let bytes: Bytes = map_file(path).map_err(|e| Error::io(path, e))?;
    PteFile::read(&bytes).map_err(|e| Error::pte(path.display(), e))
}
