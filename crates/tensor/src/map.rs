//! Mapping a file into memory, the only `unsafe` of the workspace.

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;

/// Maps the file at `path` for reading; slices of the result share the mapping and cost nothing.
///
/// An empty file gives empty bytes. The file must not be truncated by another process while the mapping
/// lives; every reader of weights takes that risk, since copying gigabytes is the alternative.
///
/// # Errors
/// Whatever opening or mapping the file reports; a directory is an error.
pub fn map_file(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if meta.len() == 0 {
        return Ok(Bytes::new());
    }
    #[allow(unsafe_code, reason = "memory maps are unsafe because another process may change the file")]
    // SAFETY: the mapping is read-only and private to this process's view; see the function's contract on truncation.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_a_file_and_an_empty_file() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("a");
        std::fs::write(&p, b"hello").unwrap();
        assert_eq!(&map_file(&p).unwrap()[1..3], b"el");
        std::fs::write(&p, b"").unwrap();
        assert!(map_file(&p).unwrap().is_empty());
        assert!(map_file(dir.path()).is_err());
    }
}
