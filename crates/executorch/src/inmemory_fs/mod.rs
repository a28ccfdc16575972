//! The in-memory file system of ExecuTorch's Core ML delegate: a directory as one run of bytes.
//!
//! Layout: the files' bytes one after the other, then JSON metadata with its bytes in reverse order, so that a reader
//! finds it from the end. The metadata lists the nodes, children before their parents and the root last: name, kind
//! (0 file, 1 directory), byte range of a file, and the children of a directory as name to node number.
//!
//! [`Directory::unflatten`] shares the blob's bytes and takes any input without panic: it refuses names that are no
//! plain file names, ranges outside the blob, shared or circular nodes and excessive depth. [`Directory::flatten`]
//! writes files in the order of the tree (ExecuTorch's own order is that of a hash map), so equal trees give equal
//! bytes, and a tree that was read gives the bytes it came from.

mod disk;
mod flatten;
mod unflatten;

use bytes::Bytes;
use indexmap::IndexMap;

pub use flatten::FlattenError;
pub use unflatten::{UnflattenError, Unflattened};

/// Deepest nesting of directories that is read or written.
pub const MAX_DEPTH: usize = 64;

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A file and its contents.
    File(Bytes),
    /// A directory within.
    Directory(Directory),
}

/// A directory: entries by name, in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// The entries. Names are plain file names; [`Directory::flatten`] checks that.
    pub entries: IndexMap<String, Node>,
}

impl Directory {
    /// A directory without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces the file at `path` (components joined by `/`), making directories on the way.
    ///
    /// # Errors
    /// When a component of the path is already a file, or the last one a directory, or a name is not a plain one.
    pub fn insert_file(&mut self, path: &str, contents: impl Into<Bytes>) -> Result<(), FlattenError> {
        let refuse = |problem: &'static str| FlattenError { path: path.to_owned(), problem };
        let mut directory = self;
        let (parents, name) = match path.rsplit_once('/') {
            Some((parents, name)) => (Some(parents), name),
            None => (None, path),
        };
        for component in parents.into_iter().flat_map(|parents| parents.split('/')) {
            check_name(component).map_err(refuse)?;
            let node = directory.entries.entry(component.to_owned());
            match node.or_insert_with(|| Node::Directory(Directory::new())) {
                Node::Directory(inner) => directory = inner,
                Node::File(_) => return Err(refuse("a directory on the way is a file")),
            }
        }
        check_name(name).map_err(refuse)?;
        match directory.entries.get_mut(name) {
            Some(Node::Directory(_)) => return Err(refuse("a directory has this name")),
            Some(Node::File(old)) => *old = contents.into(),
            None => {
                directory.entries.insert(name.to_owned(), Node::File(contents.into()));
            }
        }
        Ok(())
    }

    /// The node at `path` (components joined by `/`).
    pub fn get(&self, path: &str) -> Option<&Node> {
        let mut components = path.split('/');
        let mut node = self.entries.get(components.next()?)?;
        for component in components {
            let Node::Directory(directory) = node else {
                return None;
            };
            node = directory.entries.get(component)?;
        }
        Some(node)
    }

    /// The contents of the file at `path` (components joined by `/`).
    pub fn file(&self, path: &str) -> Option<&Bytes> {
        match self.get(path)? {
            Node::File(contents) => Some(contents),
            Node::Directory(_) => None,
        }
    }

    /// All files below this directory with their paths, in order.
    pub fn files(&self) -> Vec<(String, &Bytes)> {
        let mut files = Vec::new();
        self.collect_files("", &mut files);
        files
    }

    fn collect_files<'a>(&'a self, prefix: &str, files: &mut Vec<(String, &'a Bytes)>) {
        for (name, node) in &self.entries {
            let path = format!("{prefix}{name}");
            match node {
                Node::File(contents) => files.push((path, contents)),
                Node::Directory(directory) => directory.collect_files(&format!("{path}/"), files),
            }
        }
    }
}

/// Refuses what is no plain file name on some system that may unpack the blob, and what ExecuTorch's own reader
/// cannot take: it ends a JSON string at any quote that has no backslash before it, so a name may not hold either.
fn check_name(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("a name is empty"),
        "." | ".." => Err("a name points at another directory"),
        _ if name.contains(['/', '\\', '"']) => Err("a name holds a slash, backslash or quote"),
        _ if name.contains('\0') => Err("a name holds a zero byte"),
        // `C:` and `C:x` are places of their own on Windows, and `a:b` is a stream of `a`.
        _ if name.contains(':') => Err("a name holds a colon"),
        _ => Ok(()),
    }
}
