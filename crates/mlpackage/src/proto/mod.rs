//! The protobuf messages of Core ML's model format that an ML Program needs, written by hand for `prost`.
//!
//! Field numbers are those of Core ML's published format. Maps are ordered, so that encoding is deterministic.
//! A message that this crate never looks into (the other kinds of model, fields it does not know) is kept as raw
//! bytes by `wire.rs` and has no struct here.
//!
//! Decoding bytes from anywhere is safe: `prost` checks every length against what is left before it takes
//! memory, and stops at 100 levels of nesting.

pub mod description;
pub mod mil;
