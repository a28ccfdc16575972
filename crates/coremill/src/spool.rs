//! Bytes that are too many to hold in memory on their way into a file: they are written to an unnamed temporary file, and
//! mapped from there. The file goes with the last slice of it.

use std::io::{self, BufWriter, Write};

use coremill_tensor::{Bytes, map_open};

use crate::Error;

/// Fewer bytes are held in memory.
const FEW: u64 = 1 << 20;

/// The bytes that `write` writes, about `len` of them.
///
/// # Errors
/// What `write` and the folder for temporary files report.
pub(crate) fn spool(len: u64, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Bytes, Error> {
    let spooled = || {
        if len < FEW {
            let mut bytes = Vec::new();
            write(&mut bytes)?;
            return Ok(bytes.into());
        }
        let file = tempfile::tempfile()?;
        let mut out = BufWriter::with_capacity(1 << 16, &file);
        write(&mut out)?;
        out.flush()?;
        drop(out);
        map_open(&file)
    };
    spooled().map_err(|e| Error::io(&std::env::temp_dir(), e))
}
