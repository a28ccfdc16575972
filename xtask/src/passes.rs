//! Pass file = pass id = spec file.

use std::path::Path;

/// The namespaces of passes.
const NAMESPACES: &[&str] = &["common", "mil_backend", "nn_backend", "torch"];

/// Every pass whose file, id and spec do not go together.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let crate_dir = root.join("crates/passes");
    let registry = std::fs::read_to_string(crate_dir.join("src/registry.rs")).unwrap_or_default();
    let mut findings = Vec::new();
    for namespace in NAMESPACES {
        let Ok(entries) = std::fs::read_dir(crate_dir.join("src").join(namespace)) else { continue };
        for entry in entries.flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix(".rs").filter(|n| *n != "mod") else { continue };
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let id = format!("{namespace}::{name}");
            if !text.contains(&format!("id: \"{id}\"")) {
                findings.push(format!("{namespace}/{file}: does not declare `{id}`"));
            }
            if !registry.contains(&format!("{id}::PASS")) {
                findings.push(format!("{id}: is not in registry.rs"));
            }
            let spec = crate_dir.join("specs").join(namespace).join(format!("{name}.mil"));
            let cases = std::fs::read_to_string(spec).unwrap_or_default();
            if !cases.contains("// after") {
                findings.push(format!("{id}: its spec has no case that changes anything"));
            }
            if !cases.contains("// unchanged") {
                findings.push(format!("{id}: its spec has no case that must stay as it is"));
            }
        }
    }
    findings
}
