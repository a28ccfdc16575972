//! The other commands: `opt`, `passes`, `inspect`, `extract`, `diff`, and what `--help` says.

mod common;

use common::{Out, case, coremill, crepe, package, peer_pte};
use expect_test::{expect, expect_file};
use serde_json::Value;

#[test]
fn opt_runs_exactly_the_passes_named() {
    let out = Out::new();
    let (before, after) = case("common::merge_consecutive_transposes");
    let done = out.path("done.mlmodel");
    let ran = coremill(["opt", &before, "-o", &done, "--passes", "common::merge_consecutive_transposes"]).ok();
    assert!(ran.stderr.starts_with("Running MIL opt pipeline: 100%|██████████| 1/1 ["), "{}", ran.stderr);
    assert!(coremill(["diff", &done, &after]).ok().stdout.starts_with("equal\n"));
    assert!(!coremill(["diff", &done, &before]).failed(1).stdout.starts_with("equal\n"));
    // None at all: the same program, and no description where there was none.
    let same = out.path("same.mlmodel");
    coremill(["opt", &before, "-o", &same, "--passes", ""]).ok();
    assert!(coremill(["diff", &before, &same, "--check", "consts,order,names"]).ok().stdout.starts_with("equal\n"));
}

#[test]
fn opt_takes_options_as_words_numbers_and_json() {
    let out = Out::new();
    let (before, _) = case("common::const_elimination");
    let done = out.path("done.mlmodel");
    let opt = |option: &str| {
        let passes = ["--passes", "common::const_elimination", "--pass-option", option];
        coremill([&["opt", &before, "-o", &done], &passes[..]].concat())
    };
    for value in ["1e6", "1000000", "\"1e6\""] {
        opt(&format!("common::const_elimination:skip_const_by_size={value}")).ok();
    }
    assert!(opt("common::const_elimination:skip_const_by_size=-1").failed(1).stderr.contains("at least zero"));
    assert!(opt("common::const_elimination:size=1").failed(1).stderr.contains("it has `skip_const_by_size`"));
    opt("common::noop_elimination:x=1").failed(2);
    opt("nonsense").failed(2);
}

#[test]
fn pipelines_are_changed_from_the_command_line() {
    let out = Out::new();
    let (before, after) = case("common::merge_consecutive_transposes");
    let done = out.path("done.mlmodel");
    let passes = "common::noop_elimination,common::merge_consecutive_transposes,common::noop_elimination";
    let opt = |more: &[&str]| coremill([&["opt", &before, "-o", &done, "--passes", passes], more].concat());
    let equal = || coremill(["diff", &done, &after]).ok().stdout.starts_with("equal\n");
    opt(&["--remove-pass", "common::noop_elimination"]).ok();
    assert!(equal());
    opt(&["--stop-after", "common::noop_elimination#1"]).ok();
    assert!(coremill(["diff", &done, &before]).ok().stdout.starts_with("equal\n"));
    let two = ["--insert-pass", "common::dead_code_elimination@after:2", "--append-pass", "common::const_elimination"];
    let report = out.path("r.json");
    opt(&[&two[..], &["--report", &report]].concat()).ok();
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let ran: Vec<&str> =
        record["pipelines"][0]["steps"].as_array().unwrap().iter().filter_map(|s| s["pass"].as_str()).collect();
    assert_eq!(ran[2..], ["common::dead_code_elimination", "common::noop_elimination", "common::const_elimination"]);
    // What is not clear or not there is a slip on the command line.
    assert!(
        opt(&["--stop-after", "common::noop_elimination"])
            .failed(2)
            .stderr
            .contains("`common::noop_elimination#1` (step 1)")
    );
    assert!(opt(&["--remove-pass", "common::fuse_conv_bias"]).failed(2).stderr.contains("has no step"));
    assert!(opt(&["--insert-pass", "common::fuse_conv_bias"]).failed(2).stderr.contains("@before:STEP"));
}

#[test]
fn limits_stop_a_pipeline_and_say_so() {
    let out = Out::new();
    let (before, after) = case("common::merge_consecutive_transposes");
    let done = out.path("done.mlmodel");
    let passes = "common::noop_elimination,common::merge_consecutive_transposes";
    let opt = |more: &[&str]| coremill([&["opt", &before, "-o", &done, "--passes", passes], more].concat()).ok();
    let ran = opt(&["--bisect-limit", "1"]);
    assert_eq!(
        ran.stderr,
        "BISECT: running pass (1) common::noop_elimination on opt (step 1 of 2)\n\
         BISECT: NOT running pass (2) common::merge_consecutive_transposes on opt (step 2 of 2)\n"
    );
    assert!(coremill(["diff", &done, &before]).ok().stdout.starts_with("equal\n"));
    let summary = opt(&["--rewrite-limit", "0", "--print-summary"]).stderr;
    assert!(summary.contains("not run") && !summary.contains("failed"), "{summary}");
    assert!(coremill(["diff", &done, &before]).ok().stdout.starts_with("equal\n"));
    opt(&["--bisect-limit", "2", "--rewrite-limit", "100"]);
    assert!(coremill(["diff", &done, &after]).ok().stdout.starts_with("equal\n"));
}

#[test]
fn opt_takes_a_pipeline_as_a_value() {
    let out = Out::new();
    let (before, after) = case("common::merge_consecutive_transposes");
    let (done, file) = (out.path("done.mlmodel"), out.path("p.toml"));
    std::fs::write(&file, "name = 'mine'\npasses = ['common::merge_consecutive_transposes']\n").unwrap();
    let ran = coremill(["opt", &before, "-o", &done, "--pipeline", &file]).ok();
    assert!(ran.stderr.starts_with("Running MIL mine pipeline: "), "{}", ran.stderr);
    assert!(coremill(["diff", &done, &after]).ok().stdout.starts_with("equal\n"));
    coremill(["opt", &before, "-o", &done, "--pipeline", "empty"]).ok();
    assert!(coremill(["diff", &done, &before]).ok().stdout.starts_with("equal\n"));
    coremill(["opt", &before, "-o", &done]).failed(2);
}

#[test]
fn opt_keeps_a_package_and_refuses_other_kinds() {
    let out = Out::new();
    let done = out.path("done.mlpackage");
    coremill(["opt", &package(), "-o", &done, "--passes", "common::dead_code_elimination"]).ok();
    assert!(coremill(["diff", &package(), &done]).ok().stdout.starts_with("equal\n"));
    coremill(["opt", &crepe(), "-o", &done, "--passes", ""]).failed(1);
    coremill(["opt", &package(), "-o", &out.path("a.pte"), "--passes", ""]).failed(1);
    coremill(["opt", &package(), "-o", &out.path("a.txt"), "--passes", ""]).failed(1);
    let ran = coremill(["opt", &package(), "-o", &done, "--passes", "common::fuse_conv_bais"]).failed(1);
    assert!(ran.stderr.contains("common::fuse_conv_bias"), "{}", ran.stderr);
    assert_eq!(out.names(), ["done.mlpackage"]);
}

#[test]
fn passes_are_listed_and_explained() {
    let all = coremill(["passes"]).ok().stdout;
    assert!(all.contains("common::noop_elimination") && all.contains("frontend_pytorch"));
    let json: Value = serde_json::from_str(&coremill(["passes", "--json"]).ok().stdout).unwrap();
    let ids: Vec<&str> = json["passes"].as_array().unwrap().iter().filter_map(|p| p["id"].as_str()).collect();
    assert!(ids.contains(&"common::dead_code_elimination"));
    let one = coremill(["passes", "common::const_elimination"]).ok().stdout;
    assert!(one.contains("skip_const_by_size") && one.contains("func "), "{one}");
    let steps = coremill(["passes", "--pipeline", "frontend_pytorch"]).ok().stdout;
    assert!(steps.contains(" 1. common::dead_code_elimination"), "{steps}");
    assert!(coremill(["passes", "common::nope_elimination"]).failed(1).stderr.contains("did you mean"));
    assert!(coremill(["passes", "--pipeline", "nope"]).failed(1).stderr.contains("backend_mlprogram"));
}

#[test]
fn inspect_shows_every_kind() {
    let pt2 = coremill(["inspect", &crepe()]).ok().stdout;
    assert!(pt2.contains("x: float32 [4, 1024]") && pt2.contains("aten.conv2d"), "{pt2}");
    let pte = coremill(["inspect", &peer_pte()]).ok().stdout;
    for text in
        ["method forward", "delegate 0: CoreMLBackend", "compile spec pass_pipeline: [", "function main <ios18>"]
    {
        assert!(pte.contains(text), "{text}: {pte}");
    }
    let mil = coremill(["inspect", &package(), "--mil"]).ok().stdout;
    assert!(mil.starts_with("program(1.3)\n") && mil.contains("func main<ios18>("), "{mil}");
    let json: Value =
        serde_json::from_str(&coremill(["inspect", &package(), "--json", "--weights"]).ok().stdout).unwrap();
    assert_eq!(json["kind"], "mlpackage");
    assert!(json["model"]["functions"][0]["ops"].is_object() && json["each_weight"].is_array());
}

#[test]
fn extract_gives_back_the_files_and_replaces_only_its_own() {
    let out = Out::new();
    let dir = out.path("x");
    let listed = coremill(["extract", &peer_pte(), "-o", &dir]).ok().stdout;
    for name in ["metadata.json", "compile_specs.json", "model.mlpackage/Manifest.json"] {
        assert!(listed.contains(name), "{listed}");
        assert!(std::path::Path::new(&dir).join(name).is_file());
    }
    coremill(["extract", &peer_pte(), "-o", &dir]).ok();
    std::fs::create_dir(out.path("y")).unwrap();
    out.write("y/precious.txt", b"mine");
    coremill(["extract", &peer_pte(), "-o", &out.path("y")]).failed(1);
    coremill(["extract", &package(), "-o", &out.path("z")]).failed(1);
    assert_eq!(out.names(), ["x", "y"]);
}

#[test]
fn diff_shows_both_counts() {
    let (before, after) = case("common::merge_consecutive_relus");
    let ran = coremill(["diff", &before, &after]).failed(1);
    let relus = ran.stdout.lines().find(|l| l.starts_with("relu ")).unwrap();
    assert!(relus.ends_with('*'), "{}", ran.stdout);
    assert_eq!(coremill(["diff", &before, &before]).ok().stderr, "");
    coremill(["diff", &before, &after, "--check", "nope"]).failed(2);
    coremill(["diff", &before, &crepe()]).failed(1);
}

#[test]
fn usage_is_exit_2_and_help_is_exit_0() {
    coremill(["nope"]).failed(2);
    coremill(["lower"]).failed(2);
    coremill(["lower", "a.pt2", "-o", "b.pte", "--compute-precision", "float8"]).failed(2);
    coremill(["lower", "a.pt2", "-o", "b.pte", "--compile-spec", "nothing"]).failed(2);
    assert_eq!(coremill(["--version"]).ok().stdout, format!("coremill {}\n", env!("CARGO_PKG_VERSION")));
    expect![[r#"
        Lower a PyTorch model to Core ML through the graph passes that you choose, and see what each pass
        did
    "#]]
    .assert_eq(&coremill(["--help"]).ok().stdout.split_inclusive('\n').take(2).collect::<String>());
}

#[test]
fn help_of_every_command() {
    for command in ["lower", "opt", "passes", "inspect", "extract", "diff"] {
        let help = coremill([command, "--help"]).ok().stdout;
        expect_file![format!("data/help/{command}.txt")].assert_eq(&help);
    }
    expect_file!["data/help/coremill.txt"].assert_eq(&coremill(["--help"]).ok().stdout);
}
