//! Running the command, and the files that the tests run it on.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn ok(self) -> Ran {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }

    pub(crate) fn failed(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("internal error"), "{}", self.stderr);
        self
    }
}

pub(crate) fn coremill<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_coremill")).args(args).output().unwrap();
    Ran {
        code: out.status.code().unwrap_or(-1),
        stdout: String::from_utf8(out.stdout).unwrap(),
        stderr: String::from_utf8(out.stderr).unwrap(),
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
pub(crate) fn at(path: &str) -> String {
    let path = repository().join(path);
    assert!(path.exists(), "{}", path.display());
    path.display().to_string()
}

pub(crate) fn crepe() -> String {
    at("examples/crepe_tiny.pt2")
}

pub(crate) fn seed_pipeline() -> String {
    at("examples/seed_pipeline.json")
}

/// A `.pte` that ExecuTorch wrote, with a model inside.
pub(crate) fn peer_pte() -> String {
    at("crates/executorch/tests/data/kv_cache_seed.pte")
}

pub(crate) fn package() -> String {
    at("crates/mlpackage/tests/data/kv_cache.mlpackage")
}

/// A program before and after a pass that changes it.
pub(crate) fn case(pass: &str) -> (String, String) {
    let index = std::fs::read_to_string(at("conformance/cases/index.jsonl")).unwrap();
    let rows = index.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap());
    let row = rows.into_iter().find(|r| r["pass"] == pass && r["changed"] == true).unwrap();
    let file = |which: &str| at(&format!("conformance/cases/{}/{which}.mlmodel", row["case"].as_str().unwrap()));
    (file("before"), file("after"))
}

/// A folder for outputs.
pub(crate) struct Out(tempfile::TempDir);

impl Out {
    pub(crate) fn new() -> Out {
        Out(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// Names of all that is in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            std::fs::read_dir(self.0.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
