//! `Manifest.json` of a package.
//!
//! Each item of a package has a key, a name, an author and a path below `Data`. Readers take any keys. The keys
//! written here follow from the content, so that the same model gives the same manifest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Content, Error, ErrorKind, Files, check_relative};

/// The name of the manifest in a package.
pub const MANIFEST: &str = "Manifest.json";
/// The folder of items in a package.
const DATA: &str = "Data";
/// The folder of the model and its weights below `Data`.
const MODEL_DIR: &str = "com.apple.CoreML";
/// Path of the model in a package.
pub const MODEL_PATH: &str = "Data/com.apple.CoreML/model.mlmodel";
/// Path of the weight file in a package.
pub const WEIGHTS_PATH: &str = "Data/com.apple.CoreML/weights/weight.bin";

/// A manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the manifest's format, `1.0.0`.
    pub file_format_version: String,
    /// Items by key.
    #[serde(rename = "itemInfoEntries")]
    pub items: BTreeMap<String, Item>,
    /// Key of the item that is the model.
    #[serde(rename = "rootModelIdentifier")]
    pub root: String,
}

/// An item of a package: a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Who put it there.
    #[serde(default)]
    pub author: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
    /// Name.
    #[serde(default)]
    pub name: String,
    /// Path below `Data`.
    pub path: String,
}

impl Manifest {
    /// Reads the manifest of a package.
    ///
    /// # Errors
    /// When it is missing or no manifest, its version is not 1, its root is no item of it, or an item's path
    /// leads out of the package.
    pub fn read(package: &str, files: &Files) -> Result<Manifest, Error> {
        let file = format!("{package}/{MANIFEST}");
        let err = |what: String| Error::new(&file, ErrorKind::Manifest(what));
        let text = files.get(MANIFEST).ok_or_else(|| Error::new(package, ErrorKind::NotAModel))?.to_bytes();
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| err(format!("is not what it should be: {e}")))?;
        if manifest.file_format_version.split('.').next() != Some("1") {
            return Err(err(format!("is of version `{}`; version 1 can be read", manifest.file_format_version)));
        }
        for item in manifest.items.values() {
            let unsafe_path = |why| ErrorKind::UnsafePath { path: item.path.clone(), why };
            check_relative(&item.path).map_err(|why| Error::new(&file, unsafe_path(why)))?;
        }
        if !manifest.items.contains_key(&manifest.root) {
            return Err(err(format!("names `{}` as the model, and has no such item", manifest.root)));
        }
        Ok(manifest)
    }

    /// Path of the model in the package.
    pub fn model_path(&self) -> Option<String> {
        self.items.get(&self.root).map(|i| format!("{DATA}/{}", i.path))
    }

    /// Items that are neither the model nor its weights.
    pub fn other_items(&self) -> BTreeMap<String, Item> {
        let weights = format!("{MODEL_DIR}/weights");
        let mut items = self.items.clone();
        items.retain(|key, item| *key != self.root && item.path != weights);
        items
    }

    /// The manifest of a package of this model and weights, with `others` besides.
    pub fn new(model: &Content, weights: Option<&Content>, others: BTreeMap<String, Item>) -> Manifest {
        let item = |description: &str, name: &str| Item {
            author: "com.apple.CoreML".to_owned(),
            description: description.to_owned(),
            name: name.to_owned(),
            path: format!("{MODEL_DIR}/{name}"),
        };
        let mut items = others;
        let root = key_of("model", model);
        items.insert(root.clone(), item("CoreML Model Specification", "model.mlmodel"));
        if let Some(weights) = weights {
            items.insert(key_of("weights", weights), item("CoreML Model Weights", "weights"));
        }
        Manifest { file_format_version: "1.0.0".to_owned(), items, root }
    }

    /// The text of the file.
    pub fn to_text(&self) -> Content {
        let mut out = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut json = serde_json::Serializer::with_formatter(&mut out, format);
        self.serialize(&mut json).expect("invariant: strings and maps of strings always serialize");
        out.push(b'\n');
        out.into()
    }
}

/// A key in the form of a UUID (version 8) that follows from the content.
fn key_of(kind: &str, content: &Content) -> String {
    let mut hash = Sha256::new();
    hash.update(kind.as_bytes());
    hash.update([0]);
    let hashed = content.for_each_piece(&mut |piece| {
        hash.update(piece);
        Ok(())
    });
    debug_assert!(hashed.is_ok(), "invariant: hashing has no error");
    let mut hex = String::new();
    for (i, byte) in hash.finalize().iter().take(16).enumerate() {
        let byte = match i {
            6 => byte & 0x0f | 0x80,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        if matches!(i, 4 | 6 | 8 | 10) {
            hex.push('-');
        }
        hex.push_str(&format!("{byte:02X}"));
    }
    hex
}
