//! `coremill lower` as a user runs it.

mod common;

use common::{Out, coremill, crepe, package, peer_pte, seed_pipeline};
use serde_json::Value;

fn lower(input: &str, output: &str, more: &[&str]) -> common::Ran {
    coremill([&["lower", input, "-o", output], more].concat())
}

fn inspect(path: &str) -> Value {
    serde_json::from_str(&coremill(["inspect", path, "--json"]).ok().stdout).unwrap()
}

fn spec<'a>(inspection: &'a Value, key: &str) -> Option<&'a str> {
    let specs = inspection["methods"][0]["delegates"][0]["compile_specs"].as_array().unwrap();
    specs.iter().find(|s| s["key"] == key).and_then(|s| s["value"].as_str())
}

#[test]
fn the_main_job_gives_a_pte_with_pipeline_specs_names_and_report() {
    let out = Out::new();
    let (pte, report) = (out.path("crepe.pte"), out.path("report.json"));
    let pipeline = seed_pipeline();
    let target = ["--min-deployment-target", "ios17"];
    let ran = lower(&crepe(), &pte, &[&["--pass-pipeline", &pipeline, "--report", &report], &target[..]].concat()).ok();
    assert_eq!(ran.stdout, "");
    for line in [
        "Running MIL frontend_pytorch pipeline: 100%|██████████| 4/4 [00:00<00:00, ",
        "Running MIL executorch_user_pipeline pipeline: 100%|██████████| 9/9 [00:00<00:00, ",
        "Running MIL backend_mlprogram pipeline: 100%|██████████| ",
        "warning: the program stays float32",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {}", ran.stderr);
    }
    let found = inspect(&pte);
    let method = &found["methods"][0];
    assert_eq!(method["name"], "forward");
    assert_eq!(method["inputs"][0]["type"], "float32 [4, 1024]");
    assert_eq!(method["outputs"][0]["type"], "float32 [4, 360]");
    let metadata = &method["delegates"][0]["metadata"];
    assert_eq!(metadata["inputNames"], serde_json::json!(["x"]));
    assert_eq!(metadata["outputNames"], serde_json::json!(["sigmoid"]));
    assert_eq!(spec(&found, "min_deployment_target"), Some("8"));
    assert_eq!(spec(&found, "model_compute_precision"), Some("float16"));
    let ids: Vec<String> = serde_json::from_str(spec(&found, "pass_pipeline").unwrap()).unwrap();
    assert_eq!(ids.len(), 9);

    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let pipelines = report["pipelines"].as_array().unwrap();
    let names: Vec<&str> = pipelines.iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, ["frontend_pytorch", "executorch_user_pipeline", "backend_mlprogram"]);
    let steps = pipelines[1]["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|s| s["pass"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    assert!(steps.iter().all(|s| s["ran"] == true && s["seconds"].is_f64() && s["ops_before"].is_object()));
    assert_eq!(out.names(), ["crepe.pte", "report.json"]);
}

#[test]
fn the_same_command_twice_gives_the_same_bytes() {
    let out = Out::new();
    let (a, b) = (out.path("a.pte"), out.path("b.pte"));
    for path in [&a, &b] {
        lower(&crepe(), path, &["--pass-pipeline", &seed_pipeline()]).ok();
    }
    assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap());
}

#[test]
fn a_package_and_a_pte_hold_the_same_program() {
    let out = Out::new();
    let (pte, pkg) = (out.path("a.pte"), out.path("a.mlpackage"));
    for path in [&pte, &pkg] {
        lower(&crepe(), path, &["--pass-pipeline", "empty", "--min-deployment-target", "ios17"]).ok();
    }
    assert!(coremill(["diff", &pte, &pkg]).ok().stdout.starts_with("equal\n"));
    let dir = out.path("extracted");
    coremill(["extract", &pte, "-o", &dir]).ok();
    assert!(coremill(["diff", &format!("{dir}/model.mlpackage"), &pkg]).ok().stdout.starts_with("equal\n"));
}

#[test]
fn lowering_a_pte_again_keeps_everything_else() {
    let out = Out::new();
    let again = out.path("again.pte");
    let one = r#"["common::dead_code_elimination"]"#;
    lower(&peer_pte(), &again, &["--pass-pipeline", one, "--compile-spec", "compute_units=cpu_only"]).ok();
    let (old, new) = (inspect(&peer_pte()), inspect(&again));
    assert_eq!(spec(&new, "pass_pipeline"), Some(one));
    assert_eq!(spec(&new, "compute_units"), Some("cpu_only"));
    assert_eq!(spec(&new, "min_deployment_target"), spec(&old, "min_deployment_target"));
    for key in ["name", "inputs", "outputs", "planned_bytes", "operators"] {
        assert_eq!(new["methods"][0][key], old["methods"][0][key], "{key}");
    }
    let delegate = |v: &Value| v["methods"][0]["delegates"][0].clone();
    assert_eq!(delegate(&new)["has_debug_info"], false);
    assert_eq!(delegate(&new)["metadata"]["inputNames"], delegate(&old)["metadata"]["inputNames"]);
    assert_ne!(delegate(&new)["metadata"]["identifier"], delegate(&old)["metadata"]["identifier"]);
    // Without flags the specs of the file hold, the pipeline among them.
    let third = out.path("third.pte");
    lower(&again, &third, &[]).ok();
    assert_eq!(delegate(&inspect(&third))["compile_specs"], delegate(&new)["compile_specs"]);
}

#[test]
fn a_package_goes_through_another_pipeline() {
    let out = Out::new();
    let path = out.path("a.mlpackage");
    let ran = lower(&package(), &path, &["--pass-pipeline", r#"["common::noop_elimination"]"#, "--print-summary"]).ok();
    assert!(ran.stderr.contains("1. common::noop_elimination"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("frontend_pytorch"));
}

#[test]
fn flags_win_over_specs_and_bad_specs_are_told_together() {
    let out = Out::new();
    let pte = out.path("a.pte");
    let precision = ["--compile-spec", "model_compute_precision=float16", "--compute-precision", "float32"];
    let ran = lower(&crepe(), &pte, &[&["--pass-pipeline", "empty"], &precision[..]].concat()).ok();
    assert!(!ran.stderr.contains("stays float32"), "{}", ran.stderr);
    assert_eq!(spec(&inspect(&pte), "model_compute_precision"), Some("float32"));

    let bad = ["--compile-spec", "compute_units=tpu", "--compile-spec", "pass_pipeline={"];
    let ran = lower(&crepe(), &out.path("b.pte"), &bad).failed(1);
    assert!(ran.stderr.contains("'compute_units'") && ran.stderr.contains("'pass_pipeline'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("b\\\"tpu\\\"") || ran.stderr.contains("b\"tpu\""), "{}", ran.stderr);

    let ran = lower(&crepe(), &out.path("b.pte"), &["--pass-pipeline", "empty", "--model-type", "compiled_model"]);
    assert!(ran.failed(1).stderr.contains("Apple's compiler"));
    let ran = lower(&crepe(), &out.path("b.pte"), &["--pass-pipeline", "empty", "--compile-spec", "mystery=1"]).ok();
    assert!(ran.stderr.contains("`mystery`"), "{}", ran.stderr);
    assert_eq!(spec(&inspect(&out.path("b.pte")), "mystery"), Some("1"));
}

#[test]
fn pipelines_come_as_names_files_and_lists_and_wrong_ones_are_explained() {
    let out = Out::new();
    let pte = out.path("a.pte");
    let toml = out.write("p.toml", b"name = \"mine\"\npasses = [\"common::noop_elimination\"]\n");
    assert!(lower(&crepe(), &pte, &["--pass-pipeline", &toml]).ok().stderr.contains("Running MIL mine pipeline: 100%"));
    let wrong = r#"["common::noop_eliminatoin", "common::const_elimination"]"#;
    let ran = lower(&crepe(), &out.path("b.pte"), &["--pass-pipeline", wrong]).failed(1);
    assert!(ran.stderr.contains("did you mean `common::noop_elimination`"), "{}", ran.stderr);
    for text in ["nonsense", "[1, 2]", "missing.json"] {
        lower(&crepe(), &out.path("b.pte"), &["--pass-pipeline", text]).failed(1);
    }
    let option = ["--pass-option", "common::const_elimination:skip_const_by_size=1e6"];
    lower(&crepe(), &pte, &[&["--pass-pipeline", &seed_pipeline()], &option[..]].concat()).ok();
    lower(&crepe(), &out.path("b.pte"), &[&["--pass-pipeline", "empty"], &option[..]].concat()).failed(2);
    assert_eq!(out.names(), ["a.pte", "p.toml"]);
}

#[test]
fn programs_are_printed_and_dumped_as_mil() {
    let out = Out::new();
    let dir = out.path("dumps");
    let flags = ["--pass-pipeline", &seed_pipeline(), "--dump-dir", &dir, "--print-changed", "--time-passes"];
    let ran = lower(&crepe(), &out.path("a.pte"), &[&flags[..], &["--verify-each"]].concat()).ok();
    assert!(ran.stderr.contains("func main<ios15>"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ms 100.0 %  all passes"));
    let first = std::fs::read_to_string(format!("{dir}/001-common-dead_code_elimination.before.mil")).unwrap();
    assert!(first.contains("func main<ios15>(tensor<fp32, [4, 1024]> x)"), "{first}");
    let ran = lower(&crepe(), &out.path("a.pte"), &["--pass-pipeline", "empty", "--print-after", "common::nope"]);
    ran.failed(2);
}
