//! Runs the spec of every pass: each case is read, checked, run through exactly its pass, checked and compared;
//! then the pass runs again and must change nothing more. Where the evaluator can run the program, it must compute
//! the same numbers after the pass as before.
//!
//! `COREMILL_ONLY=ID,ID` runs the specs of these passes only.

#![allow(clippy::print_stdout, reason = "a test says what it has covered")]

mod common;

use common::{computes_in_half, outputs_on_seeded_inputs, same};
use coremill_mil::compare::{Checks, compare};
use coremill_mil::text::spec::{SpecCase, parse_spec, type_problems};
use coremill_mil::text::{NoBlobs, parse};
use coremill_mil::{OpKind, Program};
use coremill_passes::{PassInfo, PassManager, Pipeline, all_passes};

/// What a pass is about, beyond the dataflow graph: its spec is held to that too.
fn checks_of(id: &str) -> Checks {
    match id {
        "common::dead_code_elimination" | "common::const_deduplication" => Checks::from_names(["consts"]).unwrap(),
        "common::topological_reorder" => Checks::from_names(["order"]).unwrap(),
        _ => Checks::default(),
    }
}

fn read(pass: &PassInfo, case: &SpecCase, text: &str) -> Program {
    let program = parse(text, &NoBlobs).unwrap_or_else(|e| panic!("{}, case `{}`:\n{e}", pass.id, case.name));
    check_types(pass, case, &program);
    program
}

/// Every op gives what it is declared to give.
fn check_types(pass: &PassInfo, case: &SpecCase, program: &Program) {
    for f in program.functions.values() {
        // What a symbolic constant holds is not part of the text.
        let mut problems = type_problems(f);
        problems.retain(|p| !p.contains("_const_symbolic"));
        assert!(problems.is_empty(), "{}, case `{}`: {problems:?}", pass.id, case.name);
    }
}

fn op_names(program: &Program) -> Vec<Option<String>> {
    let ops = program.functions.values().flat_map(|f| f.all_ops().into_iter().map(move |op| (f, op)));
    ops.filter(|(f, op)| f.op(*op).kind != OpKind::Const).map(|(f, op)| f.op(op).name.clone()).collect()
}

fn run(pass: &PassInfo, case: &SpecCase, program: &mut Program) -> bool {
    let mut pipeline = Pipeline::from_ids("spec", [pass.id]);
    if let Some(opts) = &case.opts {
        let opts: serde_json::Map<String, serde_json::Value> = serde_json::from_str(opts).unwrap();
        opts.iter().for_each(|(name, value)| assert_eq!(pipeline.set_option(pass.id, name, value), 1));
    }
    let summary = PassManager::new().run(&pipeline, program);
    summary.unwrap_or_else(|e| panic!("{}, case `{}`: {e}", pass.id, case.name)).changed > 0
}

/// Changes that are meant to change numbers: the interface's element type, and the root of a negative number.
const CHANGES_VALUES: &[&str] = &[
    "mil_backend::adjust_io_to_supported_types",
    "mil_backend::fuse_pow2_sqrt",
    "mil_backend::insert_image_preprocessing_ops",
    "common::image_input_preprocess",
    "common::update_output_dtypes",
];

/// Did the evaluator run the program? Then it computed the same before and after.
fn check_values(pass: &PassInfo, case: &SpecCase, before: &Program, after: &Program) -> bool {
    if CHANGES_VALUES.contains(&pass.id) {
        return false;
    }
    let run = |p: &Program| p.functions.values().next().and_then(outputs_on_seeded_inputs);
    let (Some(a), Some(b)) = (run(before), run(after)) else { return false };
    let half = before.functions.values().chain(after.functions.values()).any(computes_in_half);
    assert!(
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b, half)),
        "{}, case `{}`: {a:?} became {b:?}",
        pass.id,
        case.name
    );
    true
}

/// Checks a case; returns whether it was checked by value.
fn check(pass: &PassInfo, case: &SpecCase) -> bool {
    let before = read(pass, case, &case.before);
    let mut program = before.clone();
    let changed = run(pass, case, &mut program);
    check_types(pass, case, &program);
    let by_value = check_values(pass, case, &before, &program);
    let expected = read(pass, case, case.after.as_ref().unwrap_or(&case.before));
    if let Some(difference) = compare(&program, &expected, checks_of(pass.id)) {
        panic!("{}, case `{}` (line {}): {difference}", pass.id, case.name, case.line);
    }
    assert_eq!(changed, case.after.is_some(), "{}, case `{}`: changed", pass.id, case.name);
    if pass.id.contains("name") {
        assert_eq!(op_names(&program), op_names(&expected), "{}, case `{}`", pass.id, case.name);
    }
    assert!(!run(pass, case, &mut program), "{}, case `{}`: not idempotent", pass.id, case.name);
    by_value
}

#[test]
fn every_case_of_every_pass() {
    let mut failed = Vec::new();
    let (mut cases, mut by_value) = (0, 0);
    let only = std::env::var("COREMILL_ONLY").ok();
    let chosen = |id: &str| only.as_ref().is_none_or(|o| o.split(',').any(|o| o == id));
    for pass in all_passes().filter(|p| chosen(p.id)) {
        for case in parse_spec(pass.spec).unwrap_or_else(|e| panic!("{}: {e}", pass.id)) {
            cases += 1;
            // All failing cases at once, not one a run.
            match std::panic::catch_unwind(|| check(pass, &case)) {
                Ok(checked) => by_value += usize::from(checked),
                Err(_) => failed.push(format!("{}, case `{}`", pass.id, case.name)),
            }
        }
    }
    assert!(failed.is_empty(), "{} of {cases} cases failed:\n{}", failed.len(), failed.join("\n"));
    println!("{cases} cases, {by_value} of them also by value");
    assert!(only.is_some() || by_value > cases / 2, "the evaluator ran only {by_value} of {cases} cases");
}
