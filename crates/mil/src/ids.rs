//! Identities: small typed numbers, stable for the life of a function.

use std::fmt;
use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(NonZeroU32);

        impl $name {
            pub(crate) fn new(index: usize) -> $name {
                // One more than the index, so that an `Option` of it takes no more room.
                let number = index.checked_add(1).and_then(|n| u32::try_from(n).ok()).and_then(NonZeroU32::new);
                $name(number.expect("invariant: fewer than 2^32 entities in a function"))
            }

            /// The number, usable as an index of a side table.
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.index())
            }
        }
    )* };
}

ids! {
    /// An op of a function.
    OpId "op";
    /// A value of a function: an input, a block's input or an op's output.
    ValueId "v";
    /// A block of a function: its body, or one nested in an op.
    BlockId "block";
}
