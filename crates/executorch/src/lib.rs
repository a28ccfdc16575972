//! ExecuTorch's side of coremill: compile specs, the Core ML delegate's in-memory file system, and the `.pte` file.
//!
//! The crate promises to take any bytes without panic and to write the same bytes for the same input. It knows
//! nothing of MIL or of `.mlpackage`: a processed blob is a tree of named files here, a model to its callers.
//!
//! - [`compile_spec`]: `(key, bytes)` pairs and their typed meaning for the Core ML backend.
//! - [`inmemory_fs`]: the directory inside a delegate's processed blob, flattened and unflattened.
//! - [`blob`]: what a Core ML delegate keeps in that directory.
//! - [`pte`]: the program file, read whole, edited and written back, or built for one delegate.

pub mod blob;
pub mod compile_spec;
pub mod inmemory_fs;
pub mod pte;

mod generated;
