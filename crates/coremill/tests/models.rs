//! Real models through the seed and the default pipeline, beside what coremltools makes of them.
//!
//! Needs the folder of models (`COREMILL_SHARED`, or `../shared` beside the repository), and says so where it is not
//! there.

use std::path::{Path, PathBuf};

use coremill::compile_spec::{CompileSpec, keys};
use coremill::{LowerOptions, Session, diff, pipeline_from_argument};
use coremill_mil::compare::Checks;

/// The models, and whether the program must be that of coremltools. `mtcnn_pnet` gives its outputs to the delegate
/// in another order there; coremltools fails on `mtcnn_onet`.
const MODELS: [(&str, bool); 8] = [
    ("crepe_tiny", true),
    ("mtcnn_pnet", false),
    ("mtcnn_onet", false),
    ("mobilenet_v3_035", true),
    ("vit_tiny", true),
    ("encoder_tiny", true),
    ("llama_tiny", true),
    ("bert_tiny", true),
];

fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("COREMILL_SHARED").map_or_else(beside, PathBuf::from);
    shared.join("models").is_dir().then_some(shared)
}

/// Lowers every model through a pipeline and holds it to coremltools' package of that name.
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn hold_to(package: &str, pipeline: Option<&str>) {
    let Some(shared) = shared() else {
        println!("SKIPPED: the models are not there (set COREMILL_SHARED)");
        return;
    };
    let pipeline = pipeline.map(|p| shared.join(p).display().to_string());
    let options = LowerOptions {
        pipeline: pipeline.map(|p| pipeline_from_argument(&p).unwrap()),
        specs: vec![CompileSpec::new(keys::MIN_DEPLOYMENT_TARGET, "8")],
        ..LowerOptions::default()
    };
    let out = tempfile::tempdir().unwrap();
    for (name, equal) in MODELS {
        let folder = shared.join("models").join(name);
        let lowered = Session::new().verify_each(true).lower(&folder.join("model.pt2"), &options);
        let lowered = lowered.unwrap_or_else(|e| panic!("{name}: {e}"));
        let pte = out.path().join(format!("{name}.pte"));
        lowered.save(&pte).unwrap();
        let theirs = folder.join(package);
        if !theirs.exists() {
            continue;
        }
        let found = diff(&pte, &theirs, Checks { positional: true, ..Checks::default() }).unwrap();
        assert!(!equal || found.first.is_none(), "{name}: {:?}", found.first);
        let (ours, peer) = found.ops.values().fold((0, 0), |sum, (a, b)| (sum.0 + a, sum.1 + b));
        assert!(ours <= peer, "{name}: {ours} ops against {peer}");
        let saved = out.path().join(format!("{name}.mlpackage"));
        lowered.save(&saved).unwrap();
        let weights = |p: &Path| {
            let file = p.join("Data/com.apple.CoreML/weights/weight.bin");
            std::fs::metadata(file).map_or(0, |m| m.len())
        };
        let (ours, peer) = (weights(&saved), weights(&theirs));
        assert!(ours * 100 <= peer * 101, "{name}: {ours} bytes of weights against {peer}");
    }
}

#[test]
fn models_through_the_seed_pipeline_are_those_of_coremltools() {
    hold_to("seed.mlpackage", Some("peer/seed_pipeline.json"));
}

#[test]
fn models_through_the_default_pipeline_are_those_of_coremltools() {
    hold_to("default.mlpackage", None);
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn every_pte_of_executorch_lowers_again_to_the_same_program() {
    let Some(shared) = shared() else {
        println!("SKIPPED: the models are not there (set COREMILL_SHARED)");
        return;
    };
    let options = LowerOptions { pipeline: Some(pipeline_from_argument("empty").unwrap()), ..LowerOptions::default() };
    let out = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for folder in std::fs::read_dir(shared.join("models")).unwrap().map(|e| e.unwrap().path()) {
        for name in ["seed.pte", "default.pte"] {
            let path = folder.join(name);
            if !path.exists() {
                continue;
            }
            let again = out.path().join("again.pte");
            let lowered = Session::new().lower(&path, &options).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            lowered.save(&again).unwrap();
            let found = diff(&path, &again, Checks { order: true, ..Checks::default() }).unwrap();
            assert_eq!(found.first, None, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 18, "{seen} programs");
}
