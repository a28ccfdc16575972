//! The FlatBuffer accessors of `schema/program.fbs`, as flatc 24.3.25 writes them; never edited by hand.
//!
//! Made by `flatc --rust -o src/generated schema/program.fbs`, run in this crate's folder. Nothing outside
//! `pte::{decode, encode}` uses these types: their unions and raw enum numbers do not belong in a public API.

#[allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    missing_docs,
    unreachable_pub,
    unused_imports,
    dead_code,
    deprecated,
    elided_lifetimes_in_paths,
    unused_lifetimes,
    mismatched_lifetime_syntaxes,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code; its unsafe accessors run only behind the FlatBuffers verifier"
)]
#[rustfmt::skip]
mod program_generated;

pub(crate) use program_generated::executorch_flatbuffer as fb;
