//! `cargo xtask tidy`: checks what no compiler checks, the shape of the repository.
//!
//! Crate borders (ARCHITECTURE.md, invariant 1), file length, module documentation, one spec per pass, and that no
//! path of somebody's machine is in the tree. It prints every finding, and fails when there is one.

mod borders;
mod files;
mod passes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = root();
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => {
            let mut findings = borders::check(&root);
            findings.extend(files::check(&root));
            findings.extend(passes::check(&root));
            findings.iter().for_each(|f| eprintln!("tidy: {f}"));
            println!("tidy: {} findings", findings.len());
            if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        _ => {
            eprintln!("usage: cargo xtask tidy");
            ExitCode::from(2)
        }
    }
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}
