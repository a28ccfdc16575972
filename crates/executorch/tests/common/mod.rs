//! The files that several tests read.

use std::path::PathBuf;

use bytes::Bytes;

/// The committed program.
pub(crate) fn kv_cache() -> Bytes {
    Bytes::from_static(include_bytes!("../data/kv_cache_seed.pte"))
}

/// The other committed program.
#[allow(dead_code, reason = "not every test file that has this module uses it")]
pub(crate) fn handed_through() -> Bytes {
    Bytes::from_static(include_bytes!("../data/handed_through.pte"))
}

/// Every `.pte` of the shared folder's models; empty, and said aloud, where the folder is not there.
#[allow(dead_code, reason = "not every test file that has this module uses the shared folder")]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn shared_programs() -> Vec<(PathBuf, Bytes)> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("COREMILL_SHARED").map_or(beside, PathBuf::from);
    let Ok(models) = std::fs::read_dir(shared.join("models")) else {
        eprintln!("SKIPPED: no models in {}; set COREMILL_SHARED to the shared folder", shared.display());
        return Vec::new();
    };
    let mut programs = Vec::new();
    for model in models.flatten() {
        for name in ["seed.pte", "default.pte"] {
            let path = model.path().join(name);
            if let Ok(bytes) = std::fs::read(&path) {
                programs.push((path, Bytes::from(bytes)));
            }
        }
    }
    programs
}
