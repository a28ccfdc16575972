//! Core ML's `.mlpackage` and `.mlmodel`, read into MIL and written from it.
//!
//! * [`Model`]: a program with its description and everything else that its file or package holds.
//! * [`BlobFile`], [`BlobWriter`]: weight files.
//! * [`Manifest`], [`Files`], [`Content`]: packages, on disk or in memory (as a `.pte` holds them).
//! * [`proto`]: the protobuf messages.
//!
//! # What it promises
//!
//! Reading and writing back loses nothing of an ML Program: unknown ops, attributes, the description, other files of
//! the package, fields that are not known here outside the program itself. Any bytes can be read without panic and
//! without more memory than a small multiple of their size, and no path leads out of a package. Weights are
//! slices of the mapped file from reading to writing. The same model gives the same bytes. Outputs appear whole
//! or not at all.
//!
//! # What it does not do
//!
//! It reads no other kind of model (a neural network is refused by that name), checks no op against the op table
//! (the verifier does), and drops what has no place in MIL: free text on constants, attributes of tensor types.

mod content;
mod describe;
mod disk;
mod dtype;
mod envelope;
mod error;
mod manifest;
mod model;
mod read;
mod wire;
mod write;

pub mod blob;
pub mod proto;

pub use blob::{Blob, BlobError, BlobFile, BlobWriter};
pub use content::{Content, Files};
pub use describe::{Describe, default_function};
pub use disk::{check_relative, read_folder, write_file, write_file_with, write_folder};
pub use dtype::{blob_code, from_blob_code, from_proto_code, proto_code};
pub use error::{Error, ErrorKind, Place};
pub use manifest::{Item, MANIFEST, MODEL_PATH, Manifest, WEIGHTS_PATH};
pub use model::{Description, Model, Source};
