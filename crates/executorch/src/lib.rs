//! ExecuTorch's side of coremill: compile specs, the Core ML delegate's in-memory file system, and the `.pte` file.
//!
//! The crate promises to take any bytes without panic and to write the same bytes for the same input. It knows
//! nothing of MIL or of `.mlpackage`: a processed blob is a tree of named files here, a model to its callers.
//!
//! - [`compile_spec`]: `(key, bytes)` pairs and their typed meaning for the Core ML backend.
//! - [`inmemory_fs`]: the directory inside a delegate's processed blob, flattened and unflattened.
//! - [`blob`]: what a Core ML delegate keeps in that directory.
//! - [`pte`]: the program file, read whole, edited and written back, or built for one delegate.
//!
//! Giving a program another pass pipeline and package, and keeping everything else:
//!
//! ```
//! use coremill_executorch::blob::CoreMlBlob;
//! use coremill_executorch::compile_spec::CompileSpec;
//! use coremill_executorch::inmemory_fs::Directory;
//! use coremill_executorch::pte::PteFile;
//!
//! fn relower(file: &bytes::Bytes, package: Directory) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
//!     let mut program = PteFile::read(file)?;
//!     let delegate = program.delegate("forward", 0)?;
//!     let mut specs = delegate.compile_specs.clone();
//!     specs.set(CompileSpec::pass_pipeline(&["common::noop_elimination"]));
//!     let (blob, _) = program.model_blob(&delegate)?;
//!     let mut blob = CoreMlBlob::read(&blob)?;
//!     blob.set_package(package);
//!     program.replace_delegate("forward", 0, specs, blob.write()?.into())?;
//!     Ok(program.write()?)
//! }
//!
//! let file = include_bytes!("../tests/data/kv_cache_seed.pte").as_slice();
//! let written = relower(&bytes::Bytes::from_static(file), Directory::new())?;
//! assert_eq!(PteFile::read(&written.into())?.methods()[0].memory_planned_buffer_sizes, [80]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod blob;
pub mod compile_spec;
pub mod inmemory_fs;
pub mod pte;

mod generated;
