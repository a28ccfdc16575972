//! `.pte`: ExecuTorch's program file, read whole, edited and written back.
//!
//! A file is a FlatBuffer (identifier `ET12`) with, when there are segments, an extended header behind the identifier
//! and the segments behind the FlatBuffer. [`PteFile::read`] verifies the FlatBuffer, checks every index that this
//! module follows later, and shares the file's bytes; [`PteFile::write`] gives back the bytes that ExecuTorch would
//! write. A file with parts that this schema does not know is refused rather than written back without them.
//!
//! The module does not run programs and does not look into a delegate's blob, except to tell a model from a
//! reference to one.

mod build;
mod check;
mod decode;
mod delegate;
mod encode;
mod error;
mod header;
mod memory_plan;
mod method;
pub mod program;

use std::io::Write;

use bytes::Bytes;

pub use build::{DelegateStorage, InputSpec, MethodSpec, OutputSpec, TensorSpec, single_delegate};
pub use delegate::{Delegate, ModelReference};
pub use error::PteError;
pub use method::{Method, TensorInfo, ValueInfo};
pub use program::Program;

use header::ExtendedHeader;
use program::Segment;

/// The backend id of Core ML delegates.
pub const CORE_ML_BACKEND: &str = "CoreMLBackend";

const IDENTIFIER: &[u8; 4] = b"ET12";
/// Where segments start in the file is a multiple of this.
const SEGMENT_BASE_ALIGNMENT: u64 = 128;
/// Largest alignment of a segment that is taken from a file; more would only pad.
const MAX_SEGMENT_ALIGNMENT: u64 = 1 << 16;

/// A program file in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct PteFile {
    /// Everything that the file holds. Whoever changes it keeps its indices right; [`PteFile::write`] checks them.
    pub program: Program,
}

impl PteFile {
    /// Reads a program. Blobs are slices of `file`.
    ///
    /// # Errors
    /// When the file is not a program, is cut or damaged, has segments that overlap or lie outside it, indices that
    /// lead nowhere, or parts of a schema newer than ExecuTorch 1.5.
    pub fn read(file: &Bytes) -> Result<Self, PteError> {
        let len = file.len() as u64;
        let cut = PteError::Truncated { len, what: "the root offset and identifier", wanted: 8 };
        let found: [u8; 4] = *file.get(4..).and_then(<[u8]>::first_chunk).ok_or(cut)?;
        if &found != IDENTIFIER {
            return Err(PteError::NotAProgram { found });
        }
        let header = ExtendedHeader::read(file)?;
        // The header was checked against the file, whose length is a usize.
        let program_size = header.map_or(file.len(), |header| header.program_size as usize);
        let (mut program, table) = decode::decode(file, program_size)?;
        program.segments = read_segments(file, header, &table)?;
        check::check(&program)?;
        Ok(Self { program })
    }

    /// The program as a file's bytes.
    ///
    /// # Errors
    /// Those of [`PteFile::write_to`], except the writer's.
    pub fn write(&self) -> Result<Vec<u8>, PteError> {
        let data: usize = self.program.segments.iter().map(|segment| segment.data.len()).sum();
        let mut bytes = Vec::with_capacity(data.saturating_add(8 << 10));
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes the program; segments go to `out` straight from where they are.
    ///
    /// # Errors
    /// When indices lead nowhere, when inline data is too much for a FlatBuffer, and those of the writer.
    pub fn write_to(&self, out: &mut impl Write) -> Result<(), PteError> {
        check::check(&self.program)?;
        let segments = &self.program.segments;
        let table = place_segments(segments);
        let mut flatbuffer = encode::encode(&self.program, &table)?;
        let data_size = table.last().map_or(0, |(offset, size)| offset + size);
        if data_size == 0 {
            out.write_all(&flatbuffer)?;
            return Ok(());
        }
        let program_size = (flatbuffer.len() + header::LENGTH) as u64;
        let segment_base_offset = program_size.next_multiple_of(SEGMENT_BASE_ALIGNMENT);
        let header = ExtendedHeader { program_size, segment_base_offset, segment_data_size: data_size };
        encode::insert_after_identifier(&mut flatbuffer, &header.to_bytes());
        out.write_all(&flatbuffer)?;
        write_padding(out, segment_base_offset - program_size)?;
        let mut position = 0;
        for (segment, (offset, size)) in segments.iter().zip(&table) {
            // An empty segment has no bytes to align; padding in front of it would end the file in zeros.
            if *size > 0 {
                write_padding(out, offset - position)?;
                out.write_all(&segment.data)?;
                position = offset + size;
            }
        }
        Ok(write_padding(out, data_size - position)?)
    }
}

fn write_padding(out: &mut impl Write, count: u64) -> std::io::Result<()> {
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), count), out).map(|_| ())
}

/// Offset from the base and size of every segment.
fn place_segments(segments: &[Segment]) -> Vec<(u64, u64)> {
    let mut end = 0u64;
    let place = |segment: &Segment| {
        let offset = end.next_multiple_of(segment.alignment.max(1));
        end = offset + segment.data.len() as u64;
        (offset, segment.data.len() as u64)
    };
    segments.iter().map(place).collect()
}

fn read_segments(file: &Bytes, header: Option<ExtendedHeader>, table: &[(u64, u64)]) -> Result<Vec<Segment>, PteError> {
    let base = header.map_or(0, |header| header.segment_base_offset);
    // A file without a base offset has no segment data; its segments can only be empty.
    let available = if base == 0 { 0 } else { file.len() as u64 - base };
    let mut problems = Vec::new();
    let mut segments = Vec::with_capacity(table.len());
    let mut ranges = Vec::new();
    let mut previous_end = 0;
    for (index, (offset, size)) in table.iter().copied().enumerate() {
        let Some(end) = offset.checked_add(size).filter(|end| size == 0 || *end <= available) else {
            problems.push(format!(
                "segment {index} claims {size} bytes at offset {offset} of the {available} bytes of segments in the file"
            ));
            continue;
        };
        let data = if size == 0 {
            Bytes::new()
        } else {
            ranges.push((offset, end, index));
            // Both ends lie inside the file, so they fit a usize.
            file.slice((base + offset) as usize..(base + end) as usize)
        };
        segments.push(Segment { data, alignment: guess_alignment(previous_end, offset) });
        previous_end = end;
    }
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        if let [(_, end, first), (start, _, second)] = pair
            && start < end
        {
            problems.push(format!("segments {first} and {second} overlap at offset {start}"));
        }
    }
    if problems.is_empty() { Ok(segments) } else { Err(PteError::Invalid(problems)) }
}

/// The file does not say how a segment is aligned. The largest power of two that explains its offset keeps the layout
/// of an unchanged file and is never less than what was asked for.
fn guess_alignment(previous_end: u64, offset: u64) -> u64 {
    let mut alignment = MAX_SEGMENT_ALIGNMENT;
    while alignment > Segment::DEFAULT_ALIGNMENT {
        if offset != 0 && previous_end.checked_next_multiple_of(alignment) == Some(offset) {
            return alignment;
        }
        alignment /= 2;
    }
    Segment::DEFAULT_ALIGNMENT
}
