//! Folders and files on disk: reading a folder as a set of mapped files, and writing all or nothing.
//!
//! Reading never leaves the folder: a symbolic link that points out of it is refused. Writing goes to a sibling with a
//! temporary name first; the output appears, or is replaced, by rename at the very end. What a reader has mapped of
//! a replaced output stays valid.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use coremill_tensor::map_file;

use crate::{Content, Error, ErrorKind, Files};

/// Folders nested deeper than this are no package.
const MAX_DEPTH: usize = 32;

/// All files below a folder, mapped.
///
/// # Errors
/// When a file can't be read, has a name that is not UTF-8, or is a link out of the folder.
pub fn read_folder(root: &Path) -> Result<Files, Error> {
    let real = root.canonicalize().map_err(|e| Error::io(root, e))?;
    let mut files = Files::new();
    let mut pending = vec![(root.to_path_buf(), String::new(), 0)];
    while let Some((dir, prefix, depth)) = pending.pop() {
        for entry in fs::read_dir(&dir).map_err(|e| Error::io(&dir, e))? {
            let entry = entry.map_err(|e| Error::io(&dir, e))?;
            let path = entry.path();
            let refuse = |why| {
                let file = root.display().to_string();
                Error::new(file, ErrorKind::UnsafePath { path: path.display().to_string(), why })
            };
            let name = entry.file_name().into_string().map_err(|_| refuse("is not UTF-8"))?;
            let relative = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(|e| Error::io(&path, e))?;
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(refuse("is nested too deep"));
                }
                pending.push((path, format!("{relative}/"), depth + 1));
                continue;
            }
            if kind.is_symlink() {
                let target = path.canonicalize().map_err(|e| Error::io(&path, e))?;
                if !target.starts_with(&real) {
                    return Err(refuse("is a link that leads out of the package"));
                }
                if target.is_dir() {
                    return Err(refuse("is a link to a folder"));
                }
            } else if !kind.is_file() {
                return Err(refuse("is no regular file"));
            }
            files.insert(relative, map_file(&path).map_err(|e| Error::io(&path, e))?.into());
        }
    }
    Ok(files)
}

/// A file below `root`, mapped; the path must not lead out of it.
pub(crate) fn read_below(root: &Path, relative: &str) -> Result<Bytes, Error> {
    let path = root.join(relative);
    let real = path.canonicalize().map_err(|e| Error::io(&path, e))?;
    let real_root = root.canonicalize().map_err(|e| Error::io(root, e))?;
    if !real.starts_with(&real_root) {
        let why = "is a link that leads out of the folder of the model";
        return Err(Error::new(root.display().to_string(), ErrorKind::UnsafePath { path: relative.to_owned(), why }));
    }
    map_file(&real).map_err(|e| Error::io(&path, e))
}

/// Checks a path that a file names: relative, with `/` between parts, and within the folder it is relative to.
///
/// # Errors
/// Why the path is refused, as the rest of a sentence.
pub fn check_relative(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("is empty");
    }
    if path.starts_with('/') || path.starts_with('\\') || path.as_bytes().get(1) == Some(&b':') {
        return Err("is absolute");
    }
    if path.contains(['\\', '\0']) {
        return Err("holds a character that paths in models do not have");
    }
    for part in path.split('/') {
        match part {
            ".." => return Err("leads out of the package"),
            "" | "." => return Err("has an empty part"),
            _ => {}
        }
    }
    Ok(())
}

/// Writes a file so that it appears, or replaces the old one, whole or not at all.
///
/// # Errors
/// What the file system reports; then nothing has changed.
pub fn write_file(path: &Path, content: &Content) -> Result<(), Error> {
    write_file_with(path, |out| content.write_to(out))
}

/// [`write_file`] of what `write` writes.
///
/// # Errors
/// As [`write_file`], and what `write` reports; then nothing has changed.
pub fn write_file_with(path: &Path, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Error> {
    let parent = parent_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".coremill-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temp = builder.tempfile_in(&parent).map_err(|e| Error::io(&parent, e))?;
    put(temp.as_file(), write).map_err(|e| Error::io(path, e))?;
    temp.persist(path).map_err(|e| Error::io(path, e.error))?;
    Ok(())
}

/// Writes a folder of files so that it appears, or replaces the old one, whole or not at all.
///
/// An existing folder is replaced only when `replaceable` says that it is what it is taken for, so that a
/// slip of the keyboard does not remove a folder of something else.
///
/// # Errors
/// When a path of `files` is not a plain relative one, something is in the way, or the file system says no;
/// then nothing has changed.
pub fn write_folder(path: &Path, files: &Files, replaceable: impl Fn(&Path) -> bool) -> Result<(), Error> {
    let label = || path.display().to_string();
    for name in files.keys() {
        check_relative(name).map_err(|why| Error::new(label(), ErrorKind::UnsafePath { path: name.clone(), why }))?;
    }
    let exists = path.symlink_metadata().is_ok();
    if exists && !(path.is_dir() && replaceable(path)) {
        let what = "there is something else at this path already; remove it or choose another path".to_owned();
        return Err(Error::new(label(), ErrorKind::Unwritable(what)));
    }
    let parent = parent_of(path);
    let temp = temp_dir(&parent)?;
    let fresh = temp.path().join("new");
    for (name, content) in files {
        let file = fresh.join(name);
        let dir = parent_of(&file);
        fs::create_dir_all(&dir).map_err(|e| Error::io(&dir, e))?;
        let out = fs::File::create_new(&file).map_err(|e| Error::io(&file, e))?;
        put(&out, |out| content.write_to(out)).map_err(|e| Error::io(&file, e))?;
    }
    if !exists {
        return fs::rename(&fresh, path).map_err(|e| Error::io(path, e));
    }
    let old = temp.path().join("old");
    fs::rename(path, &old).map_err(|e| Error::io(path, e))?;
    if let Err(e) = fs::rename(&fresh, path) {
        // Put the old one back; if even that fails, the first error is still the one to tell.
        let _ = fs::rename(&old, path);
        return Err(Error::io(path, e));
    }
    Ok(())
}

fn temp_dir(parent: &Path) -> Result<tempfile::TempDir, Error> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".coremill-");
    builder.tempdir_in(parent).map_err(|e| Error::io(parent, e))
}

fn put(file: &fs::File, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out)?;
    out.flush()
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
