//! Identities: small typed numbers, stable for the life of a function.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            pub(crate) fn new(index: usize) -> $name {
                $name(u32::try_from(index).expect("invariant: fewer than 2^32 entities in a function"))
            }

            /// The number, usable as an index of a side table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
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
