//! The same trees on a real disk.
//!
//! Names in a tree are plain file names by construction or by check, so nothing is written outside the folder given.
//! Replacing a folder in one step is left to the caller, who knows what stood there.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use bytes::Bytes;
use indexmap::IndexMap;

use super::{Directory, MAX_DEPTH, Node, check_name};

impl Directory {
    /// Reads the folder at `path` into memory, entries in the order of their names.
    ///
    /// # Errors
    /// Those of the disk; a symbolic link, a name that is not UTF-8 or no plain name, and nesting deeper than
    /// [`MAX_DEPTH`] are [`io::ErrorKind::InvalidInput`]. The message names the path.
    pub fn read_from_disk(path: &Path) -> io::Result<Self> {
        read_directory(path, 1)
    }

    /// Writes the tree's entries into the folder at `path`, which is made if it is not there. Never replaces a file.
    ///
    /// # Errors
    /// Those of the disk, with the path; a name that is no plain file name is [`io::ErrorKind::InvalidInput`].
    pub fn write_to_disk(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path).map_err(|error| at(path, error))?;
        for (name, node) in &self.entries {
            let inner = path.join(name);
            check_name(name).map_err(|problem| invalid(&inner, problem))?;
            match node {
                Node::Directory(directory) => directory.write_to_disk(&inner)?,
                Node::File(contents) => {
                    let file = fs::File::create_new(&inner).and_then(|mut file| file.write_all(contents));
                    file.map_err(|error| at(&inner, error))?;
                }
            }
        }
        Ok(())
    }
}

fn read_directory(path: &Path, depth: usize) -> io::Result<Directory> {
    if depth > MAX_DEPTH {
        return Err(invalid(path, "directories nest too deeply"));
    }
    let listing = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut listing = listing.map_err(|error| at(path, error))?;
    listing.sort_by_key(fs::DirEntry::file_name);
    let mut entries = IndexMap::with_capacity(listing.len());
    for entry in listing {
        let inner = entry.path();
        let name = entry.file_name().into_string().map_err(|_| invalid(&inner, "the name is not UTF-8"))?;
        check_name(&name).map_err(|problem| invalid(&inner, problem))?;
        let kind = entry.file_type().map_err(|error| at(&inner, error))?;
        let node = if kind.is_dir() {
            Node::Directory(read_directory(&inner, depth + 1)?)
        } else if kind.is_file() {
            Node::File(Bytes::from(fs::read(&inner).map_err(|error| at(&inner, error))?))
        } else {
            return Err(invalid(&inner, "it is neither a file nor a folder"));
        };
        entries.insert(name, node);
    }
    Ok(Directory { entries })
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn invalid(path: &Path, problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {problem}", path.display()))
}
