//! File contents as shared pieces, and sets of files by path.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;

/// The bytes of a file as pieces that are shared, so that a weight file can be put together from mapped
/// weights without copying them.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pieces: Vec<Bytes>,
    len: u64,
}

/// Files by path relative to a folder, `/` between parts.
pub type Files = BTreeMap<String, Content>;

impl Content {
    /// No bytes.
    pub fn new() -> Content {
        Content::default()
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.len += piece.len() as u64;
            self.pieces.push(piece);
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces in order; none is empty.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// All bytes as one piece: shared where there is one, copied together where there are several.
    pub fn to_bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [] => Bytes::new(),
            [one] => one.clone(),
            many => many.concat().into(),
        }
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.pieces.iter().try_for_each(|p| out.write_all(p))
    }

    pub(crate) fn replace_first(&mut self, piece: Bytes) {
        if let Some(first) = self.pieces.first_mut() {
            self.len = self.len - first.len() as u64 + piece.len() as u64;
            *first = piece;
        }
    }
}

impl<B: Into<Bytes>> From<B> for Content {
    fn from(b: B) -> Content {
        let mut c = Content::new();
        c.push(b);
        c
    }
}

impl PartialEq for Content {
    /// The same bytes, however cut into pieces.
    fn eq(&self, other: &Content) -> bool {
        self.len == other.len
            && self.pieces.iter().flat_map(|p| p.iter()).eq(other.pieces.iter().flat_map(|p| p.iter()))
    }
}

impl Eq for Content {}
