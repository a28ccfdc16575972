//! Where ops and values live: a list that grows without moving what it holds.
//!
//! A long program doubles in length when it is made to compute in float16; moving it each time would cost as much as
//! looking at it.

use std::ops::{Index, IndexMut};

/// Elements per piece.
const PIECE: usize = 1 << 10;

/// A growing list of which elements may be taken out; the others keep their places.
#[derive(Clone, Debug)]
pub(crate) struct Arena<T> {
    pieces: Vec<Vec<Option<T>>>,
    len: usize,
}

impl<T> Arena<T> {
    pub(crate) const fn new() -> Arena<T> {
        Arena { pieces: Vec::new(), len: 0 }
    }

    /// How many elements there have been.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds an element behind the others.
    pub(crate) fn push(&mut self, element: T) {
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(Some(element)),
            // The first piece of a small function grows as it needs; later ones have their size at once.
            last => {
                let mut piece = if last.is_none() { Vec::new() } else { Vec::with_capacity(PIECE) };
                piece.push(Some(element));
                self.pieces.push(piece);
            }
        }
        self.len += 1;
    }

    /// The element at a place, if it was not taken out.
    pub(crate) fn get(&self, at: usize) -> Option<&T> {
        self.pieces.get(at / PIECE)?.get(at % PIECE)?.as_ref()
    }

    /// The places in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Option<T>> {
        self.pieces.iter().flatten()
    }
}

impl<T> Index<usize> for Arena<T> {
    type Output = Option<T>;

    fn index(&self, at: usize) -> &Option<T> {
        &self.pieces[at / PIECE][at % PIECE]
    }
}

impl<T> IndexMut<usize> for Arena<T> {
    fn index_mut(&mut self, at: usize) -> &mut Option<T> {
        &mut self.pieces[at / PIECE][at % PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_places() {
        let mut arena = Arena::new();
        (0..3 * PIECE + 1).for_each(|i| arena.push(i));
        arena[PIECE] = None;
        assert_eq!((arena.len(), arena.get(PIECE), arena.get(PIECE + 1)), (3 * PIECE + 1, None, Some(&(PIECE + 1))));
        assert_eq!((arena.get(3 * PIECE), arena.get(3 * PIECE + 1)), (Some(&(3 * PIECE)), None));
        arena[0] = Some(7);
        assert_eq!((arena.iter().flatten().count(), arena[0]), (3 * PIECE, Some(7)));
    }
}
