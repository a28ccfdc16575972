//! The verifier on everything that the peer wrote: types inferred again are those declared, and constants are where
//! they must be.

mod common;

use std::io::Read;

use bytes::Bytes;
use coremill_mil::verify::{Stage, verify, verify_at};
use coremill_mlpackage::{Model, read_folder};

/// Programs of the peer that are wrong, and how often.
const WRONG: &[(&str, usize)] = &[
    // It lets one value be an output twice, under one name.
    ("output 0 and output 1 are both named `transpose_2`", 13),
    // It removes any axis that `axes` names, whatever its extent.
    ("`axes` name axis 2, whose extent is 4", 2),
];

#[test]
fn programs_of_the_pass_cases_are_right() {
    let Some(shared) = common::shared() else { return };
    let archive = std::fs::File::open(shared.join("conformance/passes.tar.zst")).unwrap();
    let mut tar = tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(archive).unwrap());
    let (mut programs, mut ops) = (0, 0);
    let mut known = vec![0; WRONG.len()];
    let mut wrong = Vec::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let label = entry.path().unwrap().display().to_string();
        if !label.ends_with(".mlmodel") {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let program = Model::from_mlmodel(&label, &Bytes::from(bytes)).unwrap().program;
        for d in verify_at(&program, Stage::Passes) {
            match WRONG.iter().position(|(what, _)| d.problem.to_string() == *what) {
                Some(k) => known[k] += 1,
                None => wrong.push(format!("{label}: {d}")),
            }
        }
        ops += program.functions.values().map(|f| f.all_ops().len()).sum::<usize>();
        programs += 1;
    }
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(known, WRONG.iter().map(|(_, n)| *n).collect::<Vec<_>>());
    assert_eq!(programs, 2 * 2594);
    assert!(ops > 50_000, "{ops} ops");
}

#[test]
fn packages_are_ready_to_be_written() {
    let Some(shared) = common::shared() else { return };
    let mut seen = 0;
    for dir in std::fs::read_dir(shared.join("models")).unwrap() {
        let Ok(entries) = std::fs::read_dir(dir.unwrap().path()) else { continue };
        for path in entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "mlpackage")) {
            let label = path.display().to_string();
            let model = Model::from_package(&label, &read_folder(&path).unwrap()).unwrap();
            let found: Vec<String> = verify(&model.program).iter().map(ToString::to_string).collect();
            assert!(found.is_empty(), "{label}:\n{}", found.join("\n"));
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen} packages");
}
