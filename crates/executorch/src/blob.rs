//! The contents of a Core ML delegate's processed blob: a model, its metadata, and debug information.
//!
//! A blob is an in-memory directory ([`crate::inmemory_fs`]) with `metadata.json`, `model.mlpackage` (or
//! `model.mlmodelc`, compiled) and, where there are debug handles, `debug_info.json`. [`CoreMlBlob`] gives these typed
//! access and keeps whatever else is there. The package itself stays a tree of files; reading it is another crate's.

use bytes::Bytes;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::compile_spec::to_python_json;
use crate::inmemory_fs::{Directory, FlattenError, Node, UnflattenError};

const METADATA: &str = "metadata.json";
const PACKAGE: &str = "model.mlpackage";
const COMPILED: &str = "model.mlmodelc";
const DEBUG_INFO: &str = "debug_info.json";
/// Name of the root directory in blobs of ExecuTorch.
const ROOT_NAME: &str = "lowered_module";

/// A blob that is not what a Core ML delegate takes.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BlobError {
    #[error(transparent)]
    Unflatten(#[from] UnflattenError),
    #[error(transparent)]
    Flatten(#[from] FlattenError),
    #[error("the delegate's blob has no {0}")]
    Missing(&'static str),
    #[error("{path} in the delegate's blob is not what the Core ML delegate writes: {error}")]
    BadJson { path: &'static str, error: serde_json::Error },
}

/// Names by which the runtime binds a method's arguments, by position, to the model's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MethodNames {
    /// The model's inputs, in the order of the delegate call's inputs.
    #[serde(rename = "inputNames")]
    pub inputs: Vec<String>,
    /// The model's outputs, in the order of the delegate call's outputs.
    #[serde(rename = "outputNames")]
    pub outputs: Vec<String>,
}

/// What `metadata.json` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The model's identity; the runtime's cache of compiled models goes by it.
    pub identifier: String,
    /// The model's names.
    pub names: ModelNames,
}

/// The names of one model, or of each function of a model that several methods share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelNames {
    /// A model for one method.
    Single(MethodNames),
    /// A model with a function for each method.
    PerMethod(IndexMap<String, MethodNames>),
}

/// Both forms at once, as a reader meets them.
#[derive(Deserialize)]
struct MetadataFile {
    identifier: String,
    #[serde(rename = "inputNames")]
    inputs: Option<Vec<String>>,
    #[serde(rename = "outputNames")]
    outputs: Option<Vec<String>>,
    methods: Option<IndexMap<String, MethodNames>>,
}

impl Metadata {
    /// Reads `metadata.json`.
    ///
    /// # Errors
    /// When it is no JSON or lacks a field.
    pub fn from_json(bytes: &[u8]) -> Result<Self, BlobError> {
        let file: MetadataFile = serde_json::from_slice(bytes).map_err(bad_metadata)?;
        let names = match (file.methods, file.inputs, file.outputs) {
            (Some(methods), ..) => ModelNames::PerMethod(methods),
            (None, Some(inputs), Some(outputs)) => ModelNames::Single(MethodNames { inputs, outputs }),
            (None, None, _) => return Err(bad_metadata(serde::de::Error::missing_field("inputNames"))),
            (None, _, None) => return Err(bad_metadata(serde::de::Error::missing_field("outputNames"))),
        };
        Ok(Self { identifier: file.identifier, names })
    }

    /// `metadata.json` as ExecuTorch writes it.
    pub fn to_json(&self) -> String {
        let names = |names: &MethodNames| json!({"inputNames": names.inputs, "outputNames": names.outputs});
        let value = match &self.names {
            ModelNames::Single(single) => {
                let mut value = names(single);
                if let Value::Object(fields) = &mut value {
                    fields.insert("identifier".to_owned(), self.identifier.clone().into());
                }
                value
            }
            ModelNames::PerMethod(methods) => {
                let methods: serde_json::Map<_, _> =
                    methods.iter().map(|(method, of)| (method.clone(), names(of))).collect();
                json!({"identifier": self.identifier, "methods": methods})
            }
        };
        to_python_json(&value)
    }
}

fn bad_metadata(error: serde_json::Error) -> BlobError {
    BlobError::BadJson { path: METADATA, error }
}

/// A blob's tree, with the parts of a Core ML delegate in reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreMlBlob {
    /// Name of the root directory.
    pub root_name: String,
    /// The whole tree.
    pub root: Directory,
}

impl CoreMlBlob {
    /// A new blob, its entries in the order in which ExecuTorch's have them.
    pub fn new(metadata: &Metadata, package: Directory, debug_info: Option<Bytes>) -> Self {
        let mut root = Directory::new();
        root.entries.insert(METADATA.to_owned(), Node::File(metadata.to_json().into()));
        root.entries.insert(PACKAGE.to_owned(), Node::Directory(package));
        if let Some(debug_info) = debug_info {
            root.entries.insert(DEBUG_INFO.to_owned(), Node::File(debug_info));
        }
        put_in_order(&mut root);
        Self { root_name: ROOT_NAME.to_owned(), root }
    }

    /// Reads a blob; files are slices of it.
    ///
    /// # Errors
    /// When it is no flattened directory. Which parts are there shows when they are asked for.
    pub fn read(blob: &Bytes) -> Result<Self, BlobError> {
        let unflattened = Directory::unflatten(blob)?;
        Ok(Self { root_name: unflattened.root_name, root: unflattened.root })
    }

    /// The blob's bytes.
    ///
    /// # Errors
    /// When a name in the tree is no plain file name or it nests too deeply.
    pub fn write(&self) -> Result<Vec<u8>, BlobError> {
        Ok(self.root.flatten(&self.root_name)?)
    }

    /// Writes what [`CoreMlBlob::write`] returns, without holding it in memory.
    ///
    /// # Errors
    /// Those of the writer; a tree that cannot be written is an [`io::ErrorKind::InvalidInput`](std::io::ErrorKind).
    pub fn write_to(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        self.root.flatten_to(&self.root_name, out)
    }

    /// About how many bytes the blob has: those of its files.
    pub fn size(&self) -> u64 {
        self.root.files().iter().map(|(_, contents)| contents.len() as u64).sum()
    }

    /// What `metadata.json` says.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn metadata(&self) -> Result<Metadata, BlobError> {
        Metadata::from_json(self.root.file(METADATA).ok_or(BlobError::Missing(METADATA))?)
    }

    /// Writes `metadata.json` anew.
    pub fn set_metadata(&mut self, metadata: &Metadata) {
        self.root.entries.insert(METADATA.to_owned(), Node::File(metadata.to_json().into()));
    }

    /// The files of `model.mlpackage`.
    ///
    /// # Errors
    /// When there is none.
    pub fn package(&self) -> Result<&Directory, BlobError> {
        match self.root.get(PACKAGE) {
            Some(Node::Directory(package)) => Ok(package),
            _ => Err(BlobError::Missing(PACKAGE)),
        }
    }

    /// Puts another package in place of the old one, or of a compiled model.
    pub fn set_package(&mut self, package: Directory) {
        self.root.entries.shift_remove(COMPILED);
        self.root.entries.insert(PACKAGE.to_owned(), Node::Directory(package));
        put_in_order(&mut self.root);
    }

    /// Whether the model is compiled already, so that there is no package to read.
    pub fn is_compiled(&self) -> bool {
        self.root.entries.contains_key(COMPILED)
    }

    /// `debug_info.json`, where there is one.
    pub fn debug_info(&self) -> Option<&Bytes> {
        self.root.file(DEBUG_INFO)
    }

    /// Puts other debug information in place, or takes it out: what was made for one program misleads about another.
    pub fn set_debug_info(&mut self, debug_info: Option<Bytes>) {
        match debug_info {
            Some(bytes) => {
                self.root.entries.insert(DEBUG_INFO.to_owned(), Node::File(bytes));
                put_in_order(&mut self.root);
            }
            None => {
                self.root.entries.shift_remove(DEBUG_INFO);
            }
        }
    }
}

/// An identifier for a package: `executorch_` and a UUID that comes from its files' names and bytes, so that equal
/// packages have equal ones and a changed one is never served from a cache.
pub fn identifier_of(package: &Directory) -> String {
    let mut hash = Sha256::new();
    for (path, contents) in package.files() {
        for part in [path.as_bytes(), contents] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let mut bits = hash.finalize().iter().take(16).fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    // The version for UUIDs of one's own making, and the variant.
    bits = bits & !(0xf << 76) | 0x8 << 76;
    bits = bits & !(0x3 << 62) | 0x2 << 62;
    let hex = format!("{bits:032x}");
    let mut uuid = String::from("executorch_");
    for (position, digit) in hex.chars().enumerate() {
        if matches!(position, 8 | 12 | 16 | 20) {
            uuid.push('-');
        }
        uuid.push(digit);
    }
    uuid
}

/// Brings the entries that every Core ML blob has into the order of ExecuTorch's blobs, others behind them as they
/// were. ExecuTorch's order is that of a hash map, the same for the same names.
fn put_in_order(root: &mut Directory) {
    const ORDER: [&str; 8] =
        [METADATA, PACKAGE, COMPILED, "Manifest.json", "Data", "weights", "model.mlmodel", DEBUG_INFO];
    let rank = |name: &String| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len());
    root.entries.sort_by(|a, _, b, _| rank(a).cmp(&rank(b)));
    for (name, node) in &mut root.entries {
        if let Node::Directory(inner) = node
            && [PACKAGE, "Data", "com.apple.CoreML"].contains(&name.as_str())
        {
            put_in_order(inner);
        }
    }
}
