//! File contents as shared pieces, and sets of files by path.

use std::collections::BTreeMap;
use std::io;

use bytes::Bytes;
use coremill_tensor::Data;

/// The bytes of a file as pieces that are shared, so that a weight file can be put together from mapped
/// weights without copying them, and from weights that are computed when they are read.
#[derive(Clone, Debug, Default)]
pub struct Content {
    pieces: Vec<Piece>,
    len: u64,
}

/// A part of a file.
#[derive(Clone, Debug)]
enum Piece {
    Bytes(Bytes),
    Weight(Data),
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
            self.pieces.push(Piece::Bytes(piece));
        }
    }

    /// Appends the bytes of a tensor. What is computed when it is read is computed when the content is written.
    pub fn push_data(&mut self, data: &Data) {
        if data.byte_len() > 0 {
            self.len += data.byte_len() as u64;
            self.pieces.push(Piece::Weight(data.clone()));
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

    /// Hands all bytes to `f`, piece by piece in order.
    ///
    /// # Errors
    /// What `f` reports.
    pub fn for_each_piece(&self, f: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Bytes(bytes) => f(bytes),
            Piece::Weight(data) => data.for_each_piece(f),
        })
    }

    /// All bytes as one piece: shared where there is one, put together where there are several.
    pub fn to_bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [] => Bytes::new(),
            [Piece::Bytes(one)] => one.clone(),
            [Piece::Weight(one)] => one.bytes(),
            _ => {
                let mut all = Vec::with_capacity(usize::try_from(self.len).unwrap_or(0));
                let copied = self.for_each_piece(&mut |piece| {
                    all.extend_from_slice(piece);
                    Ok(())
                });
                debug_assert!(copied.is_ok(), "invariant: appending to a vector has no error");
                all.into()
            }
        }
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_to(&self, out: &mut dyn io::Write) -> io::Result<()> {
        self.for_each_piece(&mut |piece| out.write_all(piece))
    }

    pub(crate) fn replace_first(&mut self, piece: Bytes) {
        if let Some(first) = self.pieces.first_mut() {
            let old = match first {
                Piece::Bytes(bytes) => bytes.len(),
                Piece::Weight(data) => data.byte_len(),
            };
            self.len = self.len - old as u64 + piece.len() as u64;
            *first = Piece::Bytes(piece);
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
        self.len == other.len && self.to_bytes() == other.to_bytes()
    }
}

impl Eq for Content {}
