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
/// Whatever opening or mapping the file reports. A folder, a pipe and a device are errors: these have no bytes to map,
/// and opening a pipe would wait for whoever writes to it.
pub fn map_file(path: &Path) -> io::Result<Bytes> {
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if !kind.is_file() {
        let what = "is a pipe or a device, and only regular files can be mapped; write it to a file first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    map_open(&File::open(path)?)
}

/// Maps an open file for reading, as [`map_file`] does; the file need not have a name any more.
///
/// # Errors
/// Whatever mapping the file reports.
pub fn map_open(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    #[allow(unsafe_code, reason = "memory maps are unsafe because another process may change the file")]
    // SAFETY: the mapping is read-only and private to this process's view; see the function's contract on truncation.
    let map = unsafe { memmap2::Mmap::map(file)? };
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

    #[cfg(unix)]
    #[test]
    fn refuses_what_has_no_bytes_to_map() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [socket.as_path(), Path::new("/dev/zero")] {
            let error = map_file(path).unwrap_err();
            assert!(error.to_string().contains("regular files"), "{error}");
        }
        // Without a writer, opening a pipe would wait for ever.
        let pipe = dir.path().join("p");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
            assert!(map_file(&pipe).is_err());
        }
    }
}
