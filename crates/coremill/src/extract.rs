//! Taking the Core ML models out of a `.pte`.

use std::path::Path;

use coremill_executorch::compile_spec::CompileSpecs;
use coremill_mlpackage::{Files, write_folder};
use serde_json::{Value, json};

use crate::delegates::{core_ml_delegates, files_of};
use crate::{Error, open_pte};

/// Name of the file beside a model that holds its delegate's compile specs.
const SPECS: &str = "compile_specs.json";

/// Writes what the Core ML delegates of a `.pte` hold into the folder `out`: `model.mlpackage`, `metadata.json`,
/// `debug_info.json` where there is one, all bit for bit, and `compile_specs.json`. With several delegates each
/// gets a folder `METHOD-INDEX`. Returns the paths written, relative to `out`.
///
/// # Errors
/// When the file cannot be read, has no Core ML delegate, or `out` is there and holds something else than an
/// earlier extraction. Nothing is written then.
pub fn extract(path: &Path, out: &Path) -> Result<Vec<String>, Error> {
    let pte = open_pte(path)?;
    let delegates = core_ml_delegates(path, &pte)?;
    if delegates.is_empty() {
        return Err(Error::unusable(path.display(), "holds no Core ML delegate, so there is nothing to extract"));
    }
    let mut files = Files::new();
    for d in &delegates {
        let prefix = match delegates.len() {
            1 => String::new(),
            _ => format!("{}-{}/", d.delegate.method, d.delegate.index),
        };
        for (name, content) in files_of(&d.blob.root) {
            files.insert(format!("{prefix}{name}"), content);
        }
        let mut specs = serde_json::to_string_pretty(&specs_json(d.delegate.compile_specs)).unwrap_or_default();
        specs.push('\n');
        files.insert(format!("{prefix}{SPECS}"), specs.into_bytes().into());
    }
    write_folder(out, &files, is_ours)?;
    Ok(files.into_keys().collect())
}

/// Compile specs as a JSON list of `{"key": ..., "value": ...}`; a value that is no text as a list of bytes.
pub(crate) fn specs_json(specs: &CompileSpecs) -> Value {
    let value = |spec: &coremill_executorch::compile_spec::CompileSpec| match spec.text() {
        Some(text) => json!(text),
        None => json!(spec.value.to_vec()),
    };
    specs.iter().map(|spec| json!({"key": spec.key, "value": value(spec)})).collect()
}

/// Is the folder empty or an earlier extraction?
fn is_ours(path: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(path) else { return false };
    let holds = |p: &Path| p.join(SPECS).is_file();
    holds(path) || entries.all(|e| e.is_ok_and(|e| holds(&e.path())))
}
