//! What can go wrong when a `.pt2` is read.
//!
//! An [`Error`] says which file, and its [`Problem`]s say the entry, the place in it and what to do.
//! Problems of a kind are collected: a file with three unreadable weights names all three at once.

use std::fmt;
use std::path::{Path, PathBuf};

/// A `.pt2` that can't be read: the file, and everything of one kind that is wrong with it.
#[derive(Debug)]
pub struct Error {
    /// The file, where there is one; `None` for bytes in memory.
    pub file: Option<PathBuf>,
    /// What is wrong, at least one.
    pub problems: Vec<Problem>,
}

/// The result of this crate's readers.
pub type Result<T> = std::result::Result<T, Error>;

/// One thing that is wrong with a `.pt2`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file can't be opened or mapped.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is no zip archive, or its directory is broken.
    #[error("byte {at}: {what}")]
    Zip {
        /// Byte offset into the file.
        at: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// One entry of the zip archive is refused.
    #[error("entry `{entry}`: {what}")]
    Entry {
        /// The entry's name as the archive has it.
        entry: String,
        /// What is wrong with it.
        what: String,
    },
    /// An entry that a `.pt2` must have is not there.
    #[error("no entry `{entry}`: {hint}")]
    MissingEntry {
        /// The entry's name without the archive's top folder.
        entry: String,
        /// What its absence says, and what to do.
        hint: String,
    },
    /// JSON that can't be read, or not as what it should be.
    #[error("entry `{entry}`, at `{path}`: {what}")]
    Json {
        /// The entry's name.
        entry: String,
        /// The path inside the JSON, as in `graph_module.graph.nodes[3].inputs[0]`.
        path: String,
        /// What is wrong there.
        what: String,
    },
    /// A schema version that this crate does not know.
    #[error(
        "entry `{entry}`: schema version {major}.{minor} is not known (this reader knows {known}); \
         save the program again with a torch that writes it"
    )]
    SchemaVersion {
        /// The entry's name.
        entry: String,
        /// Major version in the file.
        major: i64,
        /// Minor version in the file.
        minor: i64,
        /// The major versions that are known.
        known: &'static str,
    },
    /// The graph contradicts itself.
    #[error("entry `{entry}`, at `{path}`: {what}")]
    Graph {
        /// The entry's name.
        entry: String,
        /// The place: the graph's path and the node's name.
        path: String,
        /// What is wrong there.
        what: String,
    },
    /// A weight or constant that can't be had.
    #[error("{section} `{name}`: {what}")]
    Weight {
        /// `weight` or `constant`.
        section: &'static str,
        /// Its fully qualified name.
        name: String,
        /// What is wrong with it and what to do.
        what: String,
    },
    /// A node that can't be made functional.
    #[error("node `{node}` ({target}): {what}")]
    InPlace {
        /// The node's name.
        node: String,
        /// The op.
        target: String,
        /// Why, and what to do.
        what: String,
    },
}

impl Error {
    /// The same error, said to be of the file at `path`.
    pub fn in_file(mut self, path: &Path) -> Error {
        self.file = Some(path.to_owned());
        self
    }

    /// `Ok` when nothing is wrong, else all of it.
    pub(crate) fn check(problems: Vec<Problem>) -> Result<()> {
        if problems.is_empty() { Ok(()) } else { Err(Error { file: None, problems }) }
    }
}

impl From<Problem> for Error {
    fn from(p: Problem) -> Error {
        Error { file: None, problems: vec![p] }
    }
}

impl fmt::Display for Error {
    /// One line for one problem, else a line for each, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        match self.problems.as_slice() {
            [one] => write!(f, "{one}"),
            many => {
                write!(f, "{} problems", many.len())?;
                many.iter().try_for_each(|p| write!(f, "\n  {p}"))
            }
        }
    }
}

impl std::error::Error for Error {}
