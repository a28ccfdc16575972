//! The pass cases recorded from coremltools: each program goes through one pass, and comes out as the recorded one.
//!
//! Run on the whole corpus where it is there (`COREMILL_SHARED`, or `../shared` beside the repository), else on the
//! cases committed under `conformance/cases`. Cases of `conformance/accepted.toml` are settled; all others of the
//! passes that are here must be equal.
//!
//! `COREMILL_ONLY=ID,ID` runs the cases of these passes only, which is what one wants while writing one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use coremill::{Model, Session};
use coremill_mil::compare::{Checks, compare};
use coremill_passes::{PassSpec, Pipeline, find_pass};
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Row {
    case: String,
    pass: String,
    options: IndexMap<String, Value>,
    test: String,
}

#[derive(Deserialize)]
struct Accepted {
    difference: Vec<Difference>,
}

#[derive(Deserialize)]
struct Difference {
    pass: String,
    cases: Vec<String>,
    reason: String,
    proof: String,
}

/// Files of the corpus by path.
type Corpus = BTreeMap<String, Vec<u8>>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn whole_corpus() -> Option<Corpus> {
    let shared = std::env::var_os("COREMILL_SHARED").map_or_else(|| repository().join("../shared"), PathBuf::from);
    let file = File::open(shared.join("conformance/passes.tar.zst")).ok()?;
    let mut archive = tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(file).expect("a zstd file"));
    let mut corpus = Corpus::new();
    for entry in archive.entries().expect("a tar file") {
        let mut entry = entry.expect("a tar entry");
        let path = entry.path().expect("a path").to_string_lossy().trim_start_matches("./").to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("its bytes");
        corpus.insert(path, bytes);
    }
    Some(corpus)
}

fn committed_corpus() -> Corpus {
    let root = repository().join("conformance/cases");
    let mut corpus = Corpus::new();
    let mut pending = vec![root.clone()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).expect("the committed cases").map(|e| e.expect("an entry").path()) {
            if entry.is_dir() {
                pending.push(entry);
            } else {
                let name = entry.strip_prefix(&root).expect("below").to_string_lossy().replace('\\', "/");
                corpus.insert(name, fs::read(&entry).expect("a file"));
            }
        }
    }
    corpus
}

/// What a pass is about beside the dataflow.
fn checks_of(pass: &str) -> Checks {
    let mut checks = Checks::default();
    match pass {
        "common::dead_code_elimination" | "common::const_deduplication" => checks.consts = true,
        "common::topological_reorder" => checks.order = true,
        "common::dedup_op_and_var_names"
        | "common::sanitize_input_output_names"
        | "mil_backend::sanitize_name_strings" => checks.names = true,
        _ => {}
    }
    checks
}

/// Runs one case; what differs.
fn run(row: &Row, corpus: &Corpus) -> Option<String> {
    let read = |which: &str| {
        let bytes = corpus.get(&format!("{}/{which}.mlmodel", row.case)).expect("the case's file");
        Model::from_mlmodel(which, &bytes.clone().into()).map_err(|e| e.to_string())
    };
    let judged = || -> Result<Option<String>, String> {
        let mut model = read("before")?;
        let step = PassSpec { id: row.pass.clone(), options: row.options.clone() };
        let pipeline = Pipeline { name: "case".to_owned(), steps: vec![step] };
        Session::new().opt(&mut model, &pipeline).map_err(|e| e.to_string())?;
        let written = model.to_mlmodel("written").map_err(|e| e.to_string())?.to_bytes();
        let again = Model::from_mlmodel("written", &written).map_err(|e| e.to_string())?;
        Ok(compare(&again.program, &read("after")?.program, checks_of(&row.pass)))
    };
    judged().unwrap_or_else(Some)
}

#[test]
#[allow(clippy::print_stdout, reason = "the counts are what one wants to see of this test")]
fn passes_do_what_coremltools_was_recorded_to_do() {
    let corpus = whole_corpus().unwrap_or_else(|| {
        println!("SKIPPED: the whole corpus is not there (set COREMILL_SHARED); running the committed cases only");
        committed_corpus()
    });
    let accepted = fs::read_to_string(repository().join("conformance/accepted.toml")).expect("accepted.toml");
    let accepted: Accepted = toml::from_str(&accepted).expect("the list of accepted differences");
    for d in &accepted.difference {
        assert!(!d.reason.trim().is_empty() && !d.proof.trim().is_empty(), "{}: a reason and a proof", d.pass);
    }
    let index = corpus.get("index.jsonl").expect("the index");
    let rows = index.split(|b| *b == b'\n').filter(|l| !l.is_empty());
    let rows: Vec<Row> = rows.map(|l| serde_json::from_slice(l).expect("a row of the index")).collect();
    let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    let only = std::env::var("COREMILL_ONLY").ok();
    let chosen = |id: &str| only.as_ref().is_none_or(|o| o.split(',').any(|o| o == id));
    for row in rows.iter().filter(|r| find_pass(&r.pass).is_some() && chosen(&r.pass)) {
        let id = row.case.rsplit('/').next().unwrap_or_default();
        let settled = accepted.difference.iter().any(|d| d.pass == row.pass && d.cases.iter().any(|c| c == id));
        let difference = run(row, &corpus);
        let (equal, listed, total) = counts.entry(&row.pass).or_default();
        *total += 1;
        *equal += usize::from(difference.is_none());
        *listed += usize::from(settled);
        match difference {
            None if settled => wrong.push(format!("{}: is equal, and listed as a difference", row.case)),
            Some(what) if !settled => {
                wrong.push(format!("{} [{}]: {what}", row.case, row.test));
            }
            _ => {}
        }
    }
    for (pass, (equal, listed, total)) in &counts {
        println!("{pass}: {equal}/{total} equal, {listed} accepted differences");
    }
    let (equal, listed, total) = counts.values().fold((0, 0, 0), |a, c| (a.0 + c.0, a.1 + c.1, a.2 + c.2));
    println!("all: {equal}/{total} equal, {listed} accepted differences");
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// Not a case of the corpus: its programs as inputs, since they use ops and types that models seldom have.
#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn recorded_programs_go_through_the_default_pipeline() {
    let Some(corpus) = whole_corpus() else {
        println!("SKIPPED: the whole corpus is not there (set COREMILL_SHARED)");
        return;
    };
    let pipeline = coremill_passes::preset("default").expect("there is a default pipeline");
    let mut wrong = Vec::new();
    // One in eight: all of them take a minute in a debug build.
    for (path, bytes) in corpus.iter().filter(|(p, _)| p.ends_with("before.mlmodel")).step_by(8) {
        let Ok(mut model) = Model::from_mlmodel(path, &bytes.clone().into()) else { continue };
        let problems =
            |p: &coremill_mil::Program| coremill_mil::verify::verify_at(p, coremill_mil::verify::Stage::Passes);
        if !problems(&model.program).is_empty() {
            continue;
        }
        let ran = Session::new().verify_each(true).opt(&mut model, &pipeline);
        wrong.extend(ran.err().map(|e| format!("{path}: {e}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
