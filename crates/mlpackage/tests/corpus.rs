//! Every model of the shared folder, read and written back.

mod common;

use std::io::Read;

use bytes::Bytes;
use coremill_mil::compare::compare;
use coremill_mlpackage::{BlobFile, Description, Model, WEIGHTS_PATH, read_folder};

#[test]
fn packages_survive() {
    let Some(shared) = common::shared() else { return };
    let mut seen = 0;
    for dir in std::fs::read_dir(shared.join("models")).unwrap() {
        let dir = dir.unwrap().path();
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "mlpackage")) {
            let label = path.display().to_string();
            let files = read_folder(&path).unwrap();
            let model = Model::from_package(&label, &files).unwrap();
            let out = model.to_package(&label).unwrap();
            let back = Model::from_package(&label, &out).unwrap();
            common::assert_same(&model.program, &back.program);
            let (Description::Kept(a), Description::Kept(b)) = (&model.description, &back.description) else {
                panic!("{label}: a description");
            };
            assert_eq!(a, b, "{label}");
            same_weights(&label, files.get(WEIGHTS_PATH), out.get(WEIGHTS_PATH));
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen} packages");
}

/// The same blobs at the same offsets; unused bytes of records may differ, since old writers left them as they were.
fn same_weights(label: &str, a: Option<&coremill_mlpackage::Content>, b: Option<&coremill_mlpackage::Content>) {
    let blobs = |c: Option<&coremill_mlpackage::Content>| -> Vec<_> {
        let Some(c) = c else { return Vec::new() };
        let file = BlobFile::new(c.to_bytes()).unwrap();
        let blobs: Vec<_> = file.blobs().map(|b| b.unwrap()).map(|b| (b.record, b.dtype, b.bytes)).collect();
        assert_eq!(blobs.len(), file.count() as usize, "{label}");
        blobs
    };
    assert!(blobs(a) == blobs(b), "{label}: weights differ");
}

/// Programs that define a name twice in one block, so that names can't all be kept.
const DOUBLE_NAMES: usize = 11;

#[test]
fn all_programs_of_the_pass_cases_survive() {
    let Some(shared) = common::shared() else { return };
    let archive = std::fs::File::open(shared.join("conformance/passes.tar.zst")).unwrap();
    let mut tar = tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(archive).unwrap());
    let (mut seen, mut renamed) = (0, 0);
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let label = entry.path().unwrap().display().to_string();
        if !label.ends_with(".mlmodel") {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let model = Model::from_mlmodel(&label, &Bytes::from(bytes)).unwrap();
        let written = model.to_mlmodel(&label).unwrap().to_bytes();
        let back = Model::from_mlmodel(&label, &written).unwrap();
        let strict = compare(&model.program, &back.program, common::STRICT);
        if let Some(difference) = &strict {
            assert!(difference.contains("named"), "{label}: {difference}");
            assert_eq!(compare(&model.program, &back.program, Default::default()), None, "{label}");
            renamed += 1;
        }
        assert!(matches!(back.description, Description::Absent));
        seen += 1;
    }
    assert_eq!(seen, 2 * 2594);
    assert!(renamed <= DOUBLE_NAMES, "{renamed} programs have other names");
}
