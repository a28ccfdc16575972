//! Length and opening of source files; paths of somebody's machine.

use std::path::{Path, PathBuf};

/// Lines a source file may have.
const MAX_LINES: usize = 600;
/// Lines a pass may have.
const MAX_PASS_LINES: usize = 300;

/// Files that may be longer, with the reason.
const LONG: &[(&str, &str)] =
    &[("crates/executorch/src/generated/program_generated.rs", "generated from the schema beside it by flatc")];

/// Every finding about source files.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    for path in rust_files(root) {
        let shown = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let Ok(text) = std::fs::read_to_string(&path) else {
            findings.push(format!("{shown}: cannot be read"));
            continue;
        };
        let lines = text.lines().count();
        let is_pass = shown.starts_with("crates/passes/src/") && shown.matches('/').count() == 4;
        let limit = if is_pass { MAX_PASS_LINES } else { MAX_LINES };
        if lines > limit && !LONG.iter().any(|(p, _)| *p == shown) {
            findings.push(format!("{shown}: {lines} lines, more than {limit}; split it, or give a reason in xtask"));
        }
        if !text.trim_start().starts_with("//!") && !shown.contains("/generated/") {
            findings.push(format!("{shown}: opens without `//!`: say what the module is and promises"));
        }
        // Put together here, so that this file does not hold what it looks for.
        for home in ["home", "root", "Users"] {
            let path = format!("\"/{home}/");
            if text.contains(&path) {
                findings.push(format!("{shown}: holds a path of somebody's machine"));
            }
        }
    }
    findings
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.join("crates"), root.join("xtask"), root.join("fuzz"), root.join("benches")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
