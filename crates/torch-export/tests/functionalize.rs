//! In-place programs made functional. What is expected is what torch 2.13's `run_decompositions({})` gives,
//! up to the names that it makes up.

mod common;

use coremill_torch_export::{ExportedProgram, OutputKind, read};

fn load(name: &str) -> ExportedProgram {
    read(&common::path(name)).unwrap()
}

/// The lines of nodes and outputs, without types.
fn body(p: &ExportedProgram) -> Vec<String> {
    let text = p.to_string();
    let lines = text.lines().map(str::trim).filter(|l| l.contains("aten.") || l.starts_with("output"));
    lines
        .map(|l| match l.split_once(" = ") {
            Some((left, right)) => format!("{} = {right}", left.split(": ").next().unwrap()),
            None => l.to_owned(),
        })
        .collect()
}

#[test]
fn writes_to_buffers_become_outputs() {
    let mut p = load("state");
    p.functionalize().unwrap();
    assert_eq!(
        body(&p),
        [
            "add_ = aten.add.Tensor(b_count, 1)",
            "index_put_ = aten.index_put.default(b_cache, [i], x)",
            "add = aten.add.Tensor(x, add_)",
            "relu_ = aten.relu.default(add)",
            "detach = aten.detach.default(relu_)",
            "mul_ = aten.mul.Tensor(relu_, 2)",
            "sum_1 = aten.sum.dim_IntList(index_put_, [0])",
            "add_1 = aten.add.Tensor(mul_, sum_1)",
            "output add_ -> buffer `count`",
            "output index_put_ -> buffer `cache`",
            "output add_1",
            "output mul_",
        ]
    );
    assert_eq!(p.outputs[1].kind, OutputKind::BufferMutation("cache".into()));
    assert_eq!(p.user_outputs().count(), 2);
    let again = p.clone();
    p.functionalize().unwrap();
    assert_eq!(p.graph, again.graph);
    assert_eq!(p.outputs, again.outputs);
}

#[test]
fn types_and_shapes_stay_those_of_the_written_tensor() {
    let mut p = load("inputs");
    p.functionalize().unwrap();
    let body = body(&p);
    for line in [
        "add__1_float32 = aten.add.Tensor(mul, to)",
        "add__1 = aten._to_copy.default(add__1_float32, dtype=float16)",
        "eq__bool = aten.eq.Scalar(add__1, 0)",
        "eq_ = aten._to_copy.default(eq__bool, dtype=float16)",
        "view_1 = aten.view.default(relu_, [2, 2])",
        "copy_ = aten.copy.default(view_1, ones)",
        "add = aten.add.Tensor(copy_, eq_)",
        "output add_ -> input `x`",
    ] {
        assert!(body.iter().any(|l| l == line), "{line} is not in {body:#?}");
    }
}

#[test]
fn a_write_through_a_view_stops_with_all_its_nodes() {
    let mut p = load("through_view");
    let before = p.graph.clone();
    let e = p.functionalize().unwrap_err();
    let text = e.to_string();
    assert_eq!(e.problems.len(), 2, "{text}");
    assert!(text.contains("node `mul_` (aten.mul_.Tensor): writes to elements that `add` shows"), "{text}");
    assert!(text.contains("node `relu_` (aten.relu_.default)"), "{text}");
    assert!(text.contains("run_decompositions({})"), "{text}");
    assert_eq!(p.graph, before);
}

#[test]
fn graphs_without_gradients_are_inlined() {
    let mut p = load("nested");
    p.functionalize().unwrap();
    let text = p.to_string();
    assert!(!text.contains("wrap_with_set_grad_enabled"), "{text}");
    assert!(text.contains("mul: float32[4] = aten.mul.Tensor(getitem_2, 2)"), "{text}");
    assert!(text.contains("aten.topk.default(mul, 2)"), "{text}");
}

#[test]
fn siblings_without_common_elements_do_not_disturb_each_other() {
    let mut p = load("split");
    p.functionalize().unwrap();
    let body = body(&p);
    let outputs: Vec<&str> = body.iter().filter_map(|l| l.strip_prefix("output ")).collect();
    assert_eq!(outputs, ["getitem", "relu_", "mul_"]);
    let e = load("overlap").functionalize().unwrap_err().to_string();
    assert!(e.contains("node `mul_` (aten.mul_.Tensor)") && e.contains("`output` uses that later"), "{e}");
}
