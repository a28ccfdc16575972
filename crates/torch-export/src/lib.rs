//! torch.export's `.pt2` as plain data, and the lowering of ATen to MIL.
//!
//! [`read`] maps a file that `torch.export.save` wrote and gives an [`ExportedProgram`]: the graph with ids for
//! values, the signature, the symbols' ranges, and weights that are slices of the mapped file. Nothing is
//! unpickled. [`ExportedProgram::functionalize`] makes the in-place ops of the training dialect functional.
//!
//! Promises: no panic on any bytes; no memory taken for a claimed size that the file does not back; everything
//! of one kind that is wrong is reported at once, with the entry, the JSON path or the node. Deliberately not
//! here: running Python, pickles, AOTInductor packages, writing.

mod archive;
mod build;
mod error;
mod functionalize;
mod graph;
pub mod lower;
mod program;
mod schema;
mod sym;
mod text;
mod types;
mod weights;

pub use archive::Archive;
pub use error::{Error, Problem, Result};
pub use graph::{
    Argument, Graph, ModuleRef, NamedArgument, Node, Scalar, Subgraph, TensorMeta, Value, ValueId, ValueKind,
};
pub use program::{
    ExportedProgram, InputKind, InputSpec, ModuleCall, ModuleSignature, OutputKind, OutputSpec, Range, SchemaVersion,
    read, read_archive, read_bytes,
};
pub use sym::{SymBool, SymFloat, SymInt};
pub use types::{Device, Layout, MemoryFormat, ScalarType};
pub use weights::Weight;
