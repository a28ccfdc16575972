//! What can be wrong with a model file, said with the file, the place in it, and what to do.

use std::fmt;
use std::path::Path;

use crate::blob::BlobError;

/// Why a model could not be read or written: the file, the place in it, and what is wrong.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    file: String,
    place: Option<Place>,
    kind: ErrorKind,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Bytes from the start.
    Offset(u64),
    /// A field, in the spelling `mlProgram.functions["main"].operations[3].inputs["x"]`.
    Field(String),
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file system said no.
    #[error("{0}")]
    Io(std::io::Error),
    /// The path is neither a package nor a model file.
    #[error(
        "is neither an .mlpackage folder (no Manifest.json in it) nor an .mlmodel file; give the path of the package itself"
    )]
    NotAModel,
    /// The bytes are no protobuf of the kind they should be.
    #[error("is not a valid Core ML protobuf: {0}; the file may be cut short or damaged, copy it again")]
    Protobuf(String),
    /// The model is of another kind.
    #[error(
        "the model is a {0}, not an ML Program; only ML Programs can be read (convert it again with `convert_to=\"mlprogram\"`)"
    )]
    NotAnMlProgram(String),
    /// A field is missing, or holds something it can't.
    #[error("{0}")]
    Malformed(String),
    /// An element type this crate does not know.
    #[error("element type code {0} is not known; the file may come from a newer Core ML")]
    UnknownDType(i32),
    /// An opset this crate does not know.
    #[error("opset `{0}` is not known here (CoreML5 to CoreML8, which are ios15 to ios18, are)")]
    UnknownOpset(String),
    /// A name that no value has.
    #[error("value `{0}` is used but not defined before, in this block or around it")]
    UndefinedValue(String),
    /// A weight file is wrong, or a reference into it.
    #[error("{0}")]
    Blob(#[from] BlobError),
    /// The manifest is wrong.
    #[error("the manifest {0}")]
    Manifest(String),
    /// A path leaves the package, or is none.
    #[error("path `{path}` {why}; refused")]
    UnsafePath {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The package does not hold a file it should.
    #[error("the package holds no file `{0}`")]
    MissingFile(String),
    /// The program can't be written as it is.
    #[error("{0}")]
    Unwritable(String),
}

impl Error {
    /// An error of a file.
    pub fn new(file: impl Into<String>, kind: impl Into<ErrorKind>) -> Error {
        Error(Box::new(Inner { file: file.into(), place: None, kind: kind.into() }))
    }

    /// An error at a place of a file.
    pub fn at(file: impl Into<String>, place: Place, kind: impl Into<ErrorKind>) -> Error {
        Error(Box::new(Inner { file: file.into(), place: Some(place), kind: kind.into() }))
    }

    pub(crate) fn io(path: &Path, e: std::io::Error) -> Error {
        Error::new(path.display().to_string(), ErrorKind::Io(e))
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The file.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// The place in the file, where there is one.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { file, place, kind } = &*self.0;
        match place {
            Some(place) => write!(f, "{file}: {place}: {kind}"),
            None => write!(f, "{file}: {kind}"),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Offset(n) => write!(f, "at byte {n}"),
            Place::Field(p) => f.write_str(p),
        }
    }
}

/// A field path that costs nothing until it is shown: links on the stack.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Index(&'a str, usize),
    Key(&'a str, &'a str),
}

impl<'a> At<'a> {
    pub(crate) fn root(name: &'a str) -> At<'a> {
        At { parent: None, step: Step::Field(name) }
    }

    pub(crate) fn field(&'a self, name: &'a str) -> At<'a> {
        At { parent: Some(self), step: Step::Field(name) }
    }

    pub(crate) fn index(&'a self, name: &'a str, i: usize) -> At<'a> {
        At { parent: Some(self), step: Step::Index(name, i) }
    }

    pub(crate) fn key(&'a self, name: &'a str, key: &'a str) -> At<'a> {
        At { parent: Some(self), step: Step::Key(name, key) }
    }

    /// An error here; the file is filled in by [`Located::in_file`].
    pub(crate) fn err(&self, kind: impl Into<ErrorKind>) -> Located {
        Located { place: self.to_string(), kind: kind.into() }
    }

    pub(crate) fn malformed(&self, what: impl Into<String>) -> Located {
        self.err(ErrorKind::Malformed(what.into()))
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(p) = self.parent {
            write!(f, "{p}.")?;
        }
        match self.step {
            Step::Field(n) => f.write_str(n),
            Step::Index(n, i) => write!(f, "{n}[{i}]"),
            Step::Key(n, k) => write!(f, "{n}[{k:?}]"),
        }
    }
}

/// An error with its field, not yet with its file. Boxed parts keep `Result`s small.
#[derive(Debug)]
pub(crate) struct Located {
    place: String,
    kind: ErrorKind,
}

impl Located {
    pub(crate) fn in_file(self, file: &str) -> Error {
        Error::at(file, Place::Field(self.place), self.kind)
    }
}
