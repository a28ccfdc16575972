//! The extended header: where the FlatBuffer ends and where the segments begin.
//!
//! It stands between the FlatBuffer's identifier (byte 8) and its tables, and is absent when there are no segments.

use super::PteError;

/// Where the header starts.
const START: usize = 8;
const MAGIC: &[u8; 4] = b"eh00";
/// Bytes of a header without the segment data size, as old files have it.
const MIN_LENGTH: u32 = 24;
/// Bytes of the header that is written. A multiple of every alignment inside the FlatBuffer, so that putting it in
/// leaves all alignments as they were.
pub(super) const LENGTH: usize = 32;

/// The numbers in an extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExtendedHeader {
    /// Bytes of the FlatBuffer, this header included.
    pub program_size: u64,
    /// Where the first segment starts.
    pub segment_base_offset: u64,
    /// Bytes of all segments and the padding between; 0 when the file does not say.
    pub segment_data_size: u64,
}

impl ExtendedHeader {
    /// Reads the header if there is one, and checks it against the file.
    pub(super) fn read(file: &[u8]) -> Result<Option<Self>, PteError> {
        let len = file.len() as u64;
        let Some(head) = file.get(START..).filter(|head| head.starts_with(MAGIC)) else {
            return Ok(None);
        };
        let cut = || PteError::Truncated { len, what: "the extended header", wanted: (START + LENGTH) as u64 };
        let length = read_u32(head, 4).ok_or_else(cut)?;
        if length < MIN_LENGTH {
            return Err(problem(
                4,
                format!("it claims {length} bytes, fewer than the {MIN_LENGTH} of its first fields"),
            ));
        }
        let header = Self {
            program_size: read_u64(head, 8).ok_or_else(cut)?,
            segment_base_offset: read_u64(head, 16).ok_or_else(cut)?,
            segment_data_size: if length > MIN_LENGTH { read_u64(head, 24).ok_or_else(cut)? } else { 0 },
        };
        if header.program_size > len {
            let what = format!("the program claims {} bytes of a file of {len}", header.program_size);
            return Err(problem(8, what));
        }
        if header.segment_base_offset != 0 && header.segment_base_offset < header.program_size {
            let what = format!(
                "segments start at byte {}, inside the program of {} bytes",
                header.segment_base_offset, header.program_size
            );
            return Err(problem(16, what));
        }
        let segments_end = header.segment_base_offset.checked_add(header.segment_data_size);
        if segments_end.is_none_or(|end| end > len) {
            let what = format!(
                "{} bytes of segments from byte {} on reach past the end of the file at {len}",
                header.segment_data_size, header.segment_base_offset
            );
            return Err(problem(24, what));
        }
        Ok(Some(header))
    }

    /// The header's bytes.
    pub(super) fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let fields = MAGIC
            .iter()
            .copied()
            .chain((LENGTH as u32).to_le_bytes())
            .chain(self.program_size.to_le_bytes())
            .chain(self.segment_base_offset.to_le_bytes())
            .chain(self.segment_data_size.to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(fields) {
            *to = from;
        }
        bytes
    }
}

fn problem(field: usize, problem: String) -> PteError {
    PteError::Header { offset: (START + field) as u64, problem }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
