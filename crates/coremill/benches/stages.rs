//! Time of each stage of a lowering: read, lower, each pipeline, write; on the example and on MobileNetV3 where the
//! shared folder is there (`COREMILL_SHARED`, or `../shared` beside the repository).
//!
//! `cargo bench -p coremill`

use std::path::{Path, PathBuf};

use coremill_mil::{Opset, Program};
use coremill_mlpackage::{Describe, Model, Source};
use coremill_passes::{PassManager, Pipeline, backend_for, frontend_for, preset};
use coremill_torch_export::lower::{LowerOptions, lower};
use coremill_torch_export::{ExportedProgram, read};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Name and file of each model that is there.
fn models() -> Vec<&'static str> {
    ["crepe_tiny", "mobilenet_v3_035"].into_iter().filter(|m| file(m).exists()).collect()
}

fn file(model: &str) -> PathBuf {
    let shared = std::env::var_os("COREMILL_SHARED").map_or_else(|| repository().join("../shared"), PathBuf::from);
    match model {
        "crepe_tiny" => repository().join("examples/crepe_tiny.pt2"),
        other => shared.join("models").join(other).join("model.pt2"),
    }
}

fn exported(model: &str) -> ExportedProgram {
    read(&file(model)).expect("the model reads")
}

fn lowered(model: &str) -> Program {
    lower(&exported(model), LowerOptions { opset: Opset::Ios17 }).expect("the model lowers")
}

fn seed() -> Pipeline {
    let text = std::fs::read_to_string(repository().join("examples/seed_pipeline.json")).expect("the example is there");
    Pipeline::from_json("seed", &text).expect("the example is a pipeline")
}

fn run(bencher: Bencher<'_, '_>, model: &str, before: &[Pipeline], measured: &Pipeline) {
    let mut program = lowered(model);
    for p in before {
        PassManager::new().run(p, &mut program).expect("it runs");
    }
    bencher.with_inputs(|| program.clone()).bench_values(|mut program| {
        PassManager::new().run(measured, &mut program).expect("it runs");
        program
    });
}

#[divan::bench(args = models())]
fn read_pt2(model: &str) -> ExportedProgram {
    read(black_box(&file(model))).expect("the model reads")
}

#[divan::bench(args = models())]
fn lower_to_mil(bencher: Bencher<'_, '_>, model: &str) {
    let exported = exported(model);
    bencher.bench(|| lower(black_box(&exported), LowerOptions { opset: Opset::Ios17 }).expect("the model lowers"));
}

#[divan::bench(args = models())]
fn pipeline_frontend_pytorch(bencher: Bencher<'_, '_>, model: &str) {
    run(bencher, model, &[], &frontend_for(&seed()));
}

#[divan::bench(args = models())]
fn pipeline_seed(bencher: Bencher<'_, '_>, model: &str) {
    run(bencher, model, &[frontend_for(&seed())], &seed());
}

#[divan::bench(args = models())]
fn pipeline_backend_mlprogram(bencher: Bencher<'_, '_>, model: &str) {
    run(bencher, model, &[frontend_for(&seed()), seed()], &backend_for(&seed()));
}

#[divan::bench(args = models())]
fn pipeline_empty(bencher: Bencher<'_, '_>, model: &str) {
    run(bencher, model, &[], &preset("empty").expect("it is a preset"));
}

#[divan::bench(args = models())]
fn write_mlpackage(bencher: Bencher<'_, '_>, model: &str) {
    let source = Source { framework: Some("torch".to_owned()), dialect: None };
    let model = Model::new(lowered(model), &source, Describe::default());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("out.mlpackage");
    bencher.bench_local(|| model.save(black_box(&out)).expect("it writes"));
}
