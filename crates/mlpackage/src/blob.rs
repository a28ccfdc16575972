//! Weight files: MIL blob storage, version 2.
//!
//! A file is a 64-byte header (number of blobs, version), then for each blob a 64-byte record and its data, each
//! from a multiple of 64 bytes on. A record holds a sentinel, the element type's code, the size and the offset of the
//! data in bytes and, for sub-byte types, how many bits of the last byte are padding; everything is little-endian.
//! Programs refer to a blob by the offset of its record.
//!
//! The reader shares the file's bytes and checks each record against the file before it hands data out. The writer
//! collects shared pieces; nothing is copied until they are written. Neither looks at other versions of the format.

use std::collections::HashMap;

use bytes::{BufMut, Bytes, BytesMut};
use coremill_tensor::{DType, Data, DataError};

use crate::Content;
use crate::dtype::{blob_code, from_blob_code};

/// Everything begins at a multiple of this.
const ALIGN: u64 = 64;
/// Bytes of the header and of a record.
const RECORD: usize = 64;
const SENTINEL: u32 = 0xDEAD_BEEF;
const VERSION: u32 = 2;
static ZEROS: [u8; RECORD] = [0; RECORD];

/// What is wrong with a weight file, or with a reference into it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// The file has no room for the header.
    #[error("the weight file holds {0} bytes, fewer than its header needs; it is cut short")]
    NoHeader(usize),
    /// The version is not 2.
    #[error("the weight file is of version {0}; only version 2 can be read")]
    Version(u32),
    /// No record begins there.
    #[error("the weight file holds no blob record at byte {0}")]
    NoRecord(u64),
    /// The data reaches past the end.
    #[error(
        "the blob at byte {record} claims {size} bytes of data from byte {offset} on, but the weight file ends at byte {len}"
    )]
    PastEnd {
        /// Offset of the record.
        record: u64,
        /// Offset of the data.
        offset: u64,
        /// Size of the data.
        size: u64,
        /// Size of the file.
        len: u64,
    },
    /// The element type's code is not known.
    #[error("the blob at byte {record} has element type code {code}, which is not known")]
    UnknownDType {
        /// Offset of the record.
        record: u64,
        /// The code.
        code: u32,
    },
    /// The element type is not what the program says.
    #[error("the blob at byte {record} holds {found}, and the program says {wanted}")]
    DType {
        /// Offset of the record.
        record: u64,
        /// The file's.
        found: DType,
        /// The program's.
        wanted: DType,
    },
    /// The data is not what the shape needs.
    #[error("the blob at byte {record} does not fit: {error}")]
    Size {
        /// Offset of the record.
        record: u64,
        /// Why.
        error: DataError,
    },
    /// Weight files can't hold the type.
    #[error("weight files can't hold {0}")]
    Unsupported(DType),
}

/// One blob of a file.
#[derive(Clone, Debug)]
pub struct Blob {
    /// Offset of its record, which programs refer to.
    pub record: u64,
    /// Element type.
    pub dtype: DType,
    /// Bits at the end of the data that are no element; 0 but for sub-byte types.
    pub padding_bits: u64,
    /// The data, shared with the file.
    pub bytes: Bytes,
}

/// A weight file.
#[derive(Clone, Debug)]
pub struct BlobFile {
    bytes: Bytes,
    count: u32,
}

impl BlobFile {
    /// A weight file of these bytes.
    ///
    /// # Errors
    /// When the header is cut short or of another version. Records are checked when they are asked for.
    pub fn new(bytes: Bytes) -> Result<BlobFile, BlobError> {
        let header = bytes.get(..RECORD).ok_or(BlobError::NoHeader(bytes.len()))?;
        let (count, version) = (u32_at(header, 0), u32_at(header, 4));
        if version != VERSION {
            return Err(BlobError::Version(version));
        }
        Ok(BlobFile { bytes, count })
    }

    /// Number of blobs, as the header says.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The blob whose record begins at byte `record`.
    ///
    /// # Errors
    /// When there is no record, or its data reaches past the end of the file, or its type is not known.
    pub fn blob(&self, record: u64) -> Result<Blob, BlobError> {
        let none = BlobError::NoRecord(record);
        let start = usize::try_from(record).map_err(|_| none.clone())?;
        let end = start.checked_add(RECORD).ok_or(none.clone())?;
        let r = self.bytes.get(start..end).ok_or(none.clone())?;
        if u32_at(r, 0) != SENTINEL {
            return Err(none);
        }
        let (code, size, offset, padding_bits) = (u32_at(r, 4), u64_at(r, 8), u64_at(r, 16), u64_at(r, 24));
        let len = self.bytes.len() as u64;
        let past = BlobError::PastEnd { record, offset, size, len };
        let data_end = offset.checked_add(size).filter(|&e| e <= len).ok_or(past)?;
        let dtype = from_blob_code(code).ok_or(BlobError::UnknownDType { record, code })?;
        // Both ends are within the file, so they fit the address space.
        let bytes = self.bytes.slice(offset as usize..data_end as usize);
        let padding_bits = if dtype.is_sub_byte() { padding_bits } else { 0 };
        Ok(Blob { record, dtype, padding_bits, bytes })
    }

    /// The blob at `record` as a tensor.
    ///
    /// # Errors
    /// As [`BlobFile::blob`]; also when type or size are not those asked for.
    pub fn tensor(&self, record: u64, dtype: DType, shape: &[usize]) -> Result<Data, BlobError> {
        let blob = self.blob(record)?;
        // Booleans have no code of their own; a writer may keep them as bytes.
        if blob.dtype != dtype && !(dtype == DType::Bool && blob.dtype == DType::UInt8) {
            return Err(BlobError::DType { record, found: blob.dtype, wanted: dtype });
        }
        Data::new(dtype, shape, blob.bytes).map_err(|error| BlobError::Size { record, error })
    }

    /// All blobs in file order, found by going from record to record; it stops at the first that is wrong.
    pub fn blobs(&self) -> impl Iterator<Item = Result<Blob, BlobError>> + '_ {
        let mut next = Some(RECORD as u64);
        (0..self.count).map_while(move |_| {
            let blob = self.blob(next.take()?);
            if let Ok(b) = &blob {
                // Data lies within the file, so the end fits; it is past the record, so this ends.
                let end = u64_at(self.bytes.get(b.record as usize..)?, 16) + b.bytes.len() as u64;
                next = Some(end.next_multiple_of(ALIGN)).filter(|&n| n > b.record);
            }
            Some(blob)
        })
    }
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    b.get(at..at + 4).and_then(|s| s.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(b: &[u8], at: usize) -> u64 {
    b.get(at..at + 8).and_then(|s| s.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Makes a weight file of shared pieces.
///
/// Data that was already added (the very same bytes in memory, as when two constants share one weight) is not added
/// again. Data that is merely equal is: telling that it is equal is the work of a pass.
#[derive(Debug, Default)]
pub struct BlobWriter {
    content: Content,
    count: u32,
    known: HashMap<(usize, usize, DType), u64>,
}

impl BlobWriter {
    /// An empty file.
    pub fn new() -> BlobWriter {
        BlobWriter::default()
    }

    /// Are there no blobs?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a tensor and returns the offset of its record.
    ///
    /// # Errors
    /// [`BlobError::Unsupported`] for a type that weight files do not have.
    pub fn add(&mut self, data: &Data) -> Result<u64, BlobError> {
        let dtype = data.dtype();
        let code = blob_code(dtype).ok_or(BlobError::Unsupported(dtype))?;
        let key = (data.address(), data.byte_len(), dtype);
        if let Some(&record) = self.known.get(&key).filter(|_| !data.is_empty()) {
            return Ok(record);
        }
        if self.content.is_empty() {
            self.content.push(Bytes::from_static(&ZEROS));
        }
        self.pad();
        let record = self.content.len();
        let bits = data.len().wrapping_mul(dtype.bits()) % 8;
        let mut r = BytesMut::with_capacity(RECORD);
        r.put_u32_le(SENTINEL);
        r.put_u32_le(code);
        r.put_u64_le(data.byte_len() as u64);
        r.put_u64_le(record + RECORD as u64);
        r.put_u64_le(if bits == 0 { 0 } else { 8 - bits as u64 });
        r.put_bytes(0, RECORD - r.len());
        self.content.push(r.freeze());
        self.content.push_data(data);
        self.count = self.count.saturating_add(1);
        self.known.insert(key, record);
        Ok(record)
    }

    fn pad(&mut self) {
        let over = (self.content.len() % ALIGN) as usize;
        if over != 0 {
            self.content.push(Bytes::from_static(&ZEROS).slice(over..));
        }
    }

    /// The file.
    pub fn finish(mut self) -> Content {
        if self.count == 0 {
            return Content::new();
        }
        let mut header = BytesMut::with_capacity(RECORD);
        header.put_u32_le(self.count);
        header.put_u32_le(VERSION);
        header.put_bytes(0, RECORD - header.len());
        self.content.replace_first(header.freeze());
        self.content
    }
}
