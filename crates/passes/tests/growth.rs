//! Folding must not make gigabytes out of a few bytes.

use coremill_mil::Program;
use coremill_mil::text::{NoBlobs, parse};
use coremill_passes::{PassManager, Pipeline};

fn folded(text: &str) -> (u64, Program) {
    let mut program = parse(text, &NoBlobs).unwrap();
    let pipeline = Pipeline::from_ids("test", ["common::const_elimination"]);
    let rewrites = PassManager::new().run(&pipeline, &mut program).unwrap().rewrites;
    (rewrites, program)
}

#[test]
fn a_column_and_a_row_do_not_become_a_plane_of_gigabytes() {
    let n = 40_000;
    let zeros = |n: usize, shape: &str| format!("tensor<fp32, {shape}>([{}])", vec!["0"; n].join(", "));
    for op in ["add(x = a, y = c)", "matmul(x = a, y = c, transpose_x = no, transpose_y = no)"] {
        // Whether the type is told or not.
        let text = format!(
            "program(1.3)\n{{ func main<ios18>(tensor<fp32, [1]> x) {{\n\
             bool no = const()[name = string(\"no\"), val = bool(false)];\n\
             tensor<fp32, [{n}, 1]> a = const()[name = string(\"a\"), val = {}];\n\
             tensor<fp32, [1, {n}]> c = const()[name = string(\"c\"), val = {}];\n\
             tensor<fp32, [?, ?]> z = {op}[name = string(\"z\")];\n}} -> (z); }}",
            zeros(n, &format!("[{n}, 1]")).replace("([", "([[").replace("])", "]])").replace(", 0", "], [0"),
            zeros(n, &format!("[1, {n}]")).replace("([", "([[").replace("])", "]])"),
        );
        assert_eq!(folded(&text).0, 0, "{op}");
        assert_eq!(folded(&text.replace("[?, ?]", &format!("[{n}, {n}]"))).0, 0, "{op}");
    }
}
