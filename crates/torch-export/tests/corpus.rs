//! Every `.pt2` of the shared models and of the conformance corpus reads; skipped aloud when they are not there.
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let dir = std::env::var_os("COREMILL_SHARED").map_or(root, PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no shared folder at {} (set COREMILL_SHARED)", dir.display());
    None
}

/// Cases that write through a view whose base is used later.
const THROUGH_VIEW: &[&str] = &["275e3ddc462d"];

/// Reads a file, checks what must hold of any, and says how many nodes it has.
fn check(path: &Path) -> Result<usize, String> {
    let p = coremill_torch_export::read(path).map_err(|e| e.to_string())?;
    if !p.unknown_arguments().is_empty() {
        return Err(format!("{}: {:?}", path.display(), p.unknown_arguments()));
    }
    for w in p.weights.values().chain(p.constants.values()) {
        let d = w.to_contiguous().map_err(|e| format!("{}: {}: {e}", path.display(), w.name))?;
        assert_eq!(Some(d.len()), w.len(), "{}", w.name);
    }
    assert!(!p.to_string().is_empty());
    let mut functional = p.clone();
    match functional.functionalize() {
        Ok(()) => {}
        Err(e) if THROUGH_VIEW.iter().any(|case| path.ends_with(format!("{case}/model.pt2"))) => {
            assert!(e.to_string().contains("run_decompositions"), "{e}");
            return Ok(p.graph.nodes.len());
        }
        Err(e) => return Err(format!("{}: {e}", path.display())),
    }
    let in_place = |n: &&coremill_torch_export::Node| {
        n.aten().is_some_and(|(name, _)| name.ends_with('_') && !name.ends_with("__"))
    };
    if let Some(n) = functional.graph.nodes.iter().find(in_place) {
        return Err(format!("{}: `{}` is still {}", path.display(), n.name, n.target));
    }
    Ok(p.graph.nodes.len())
}

fn check_all(files: &[PathBuf]) {
    let (mut nodes, mut failed) = (0, Vec::new());
    for f in files {
        match check(f) {
            Ok(n) => nodes += n,
            Err(e) => failed.push(e),
        }
    }
    println!("{} of {} programs read, {nodes} nodes", files.len() - failed.len(), files.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn programs(dir: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path().join("model.pt2"));
    let mut files: Vec<PathBuf> = folders.filter(|p| p.is_file()).collect();
    files.sort();
    files
}

#[test]
fn shared_models_read() {
    let Some(shared) = shared() else { return };
    let files = programs(&shared.join("models"));
    assert!(files.len() >= 10);
    check_all(&files);
}

#[test]
fn conformance_programs_read() {
    let Some(shared) = shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let tar = Command::new("tar")
        .args(["--zstd", "-xf"])
        .arg(shared.join("conformance/torch.tar.zst"))
        .arg("-C")
        .arg(dir.path())
        .args(["--wildcards", "*/model.pt2"])
        .status();
    if !tar.is_ok_and(|s| s.success()) {
        println!("skipped: the corpus needs tar and zstd");
        return;
    }
    let files = programs(dir.path());
    assert!(files.len() > 500, "{}", files.len());
    check_all(&files);
}
