//! Element types, shapes with symbolic dimensions, dense data and mapped files.
//!
//! The bottom layer of coremill: it knows numbers and bytes, and no op, model format or pass.
//!
//! * [`DType`]: the element types of MIL and of `torch.export`, down to one bit.
//! * [`Dim`], [`Shape`], [`SymExpr`]: extents that may be unknown or an expression over symbols.
//! * [`Data`]: a dense, row-major tensor whose bytes are shared ([`bytes::Bytes`]), often straight from a mapped file.
//!   Large ones are rounded to float16, scaled and transposed when the elements are read, piece by piece.
//! * [`map_file`], [`map_open`]: the one place that maps a file, and the one place with `unsafe`.
//!
//! It deliberately has no other arithmetic on tensors (`coremill-interp` does) and no strides: data that
//! arrives strided is made dense by the reader.

mod data;
mod dim;
mod dtype;
mod lazy;
mod map;
mod shape;
mod sym;

pub use data::{Data, DataError, Element};
pub use dim::Dim;
pub use dtype::DType;
pub use map::{map_file, map_open};
pub use shape::Shape;
pub use sym::{ParseSymError, SymExpr};

pub use bytes::Bytes;
pub use half::{bf16, f16};
