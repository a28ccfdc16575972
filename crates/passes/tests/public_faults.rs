//! Faults that users of coremltools have reported about passes and pipelines, as far as no single pass's spec holds
//! them: each is checked on the smallest program that shows it.

use coremill_mil::text::{NoBlobs, PrintOptions, parse, print};
use coremill_mil::verify::{Stage, verify_at};
use coremill_mil::{OpKind, Program};
use coremill_passes::{PassManager, Pipeline, preset};

const SEED: [&str; 9] = [
    "common::const_elimination",
    "common::const_deduplication",
    "common::remove_symbolic_reshape",
    "common::noop_elimination",
    "common::merge_consecutive_relus",
    "common::merge_consecutive_reshapes",
    "common::merge_consecutive_transposes",
    "common::dedup_op_and_var_names",
    "common::dead_code_elimination",
];

const CASTS: [&str; 2] = ["common::add_fp16_cast", "common::add_int16_cast"];

fn program(body: &str, signature: &str, output: &str) -> Program {
    let text = format!("program(1.3)\n{{ func main<ios17>({signature}) {{\n{body}\n}} -> ({output}); }}");
    parse(&text, &NoBlobs).unwrap_or_else(|e| panic!("{e}"))
}

fn problems(program: &Program) -> Vec<String> {
    verify_at(program, Stage::Passes).iter().map(ToString::to_string).collect()
}

/// Runs the passes; an error, or a program that does not verify, fails the test.
fn run(pipeline: &Pipeline, program: &mut Program) {
    let ran = PassManager::new().verify_each(&problems).run(pipeline, program);
    ran.unwrap_or_else(|e| panic!("{:?}: {e}", pipeline.ids()));
}

#[test]
fn seed_passes_with_casts_first_last_in_the_middle_and_twice_end() {
    let body = "tensor<fp32, [2, 3]> a = relu(x = x);
        tensor<fp32, [2, 3]> b = gather(x = a, indices = i, axis = int32(0), batch_dims = int32(0), validate_indices = bool(false));
        tensor<fp32, [3, 2]> c = transpose(x = b, perm = tensor<int32, [2]>([1, 0]));
        tensor<fp32, [3, 2]> y = mul(x = c, y = fp32(1e-12));";
    let mut orders: Vec<Vec<&str>> = Vec::new();
    for at in [0, 4, 9] {
        orders.push([&SEED[..at], &CASTS, &SEED[at..]].concat());
    }
    orders.push([&CASTS[..], &SEED, &CASTS].concat());
    orders.push([&SEED[..4], &CASTS, &SEED[4..6], &CASTS, &SEED[6..]].concat());
    for ids in orders {
        let mut p = program(body, "tensor<fp32, [2, 3]> x, tensor<int32, [2]> i", "y");
        run(&Pipeline::from_ids("mixed", ids), &mut p);
    }
}

#[test]
fn the_divisor_of_padded_average_pooling_stays() {
    let body = "tensor<fp32, [1, 1, 3, 3]> y = avg_pool(x = x, kernel_sizes = tensor<int32, [2]>([3, 3]), \
        strides = tensor<int32, [2]>([2, 2]), pad_type = string(\"custom\"), pad = tensor<int32, [4]>([1, 1, 1, 1]), \
        exclude_padding_from_average = bool(false), ceil_mode = bool(false));";
    let mut p = program(body, "tensor<fp32, [1, 1, 5, 5]> x", "y");
    run(&preset("default").unwrap(), &mut p);
    let f = &p.functions["main"];
    let pools: Vec<_> = f.all_ops().into_iter().filter(|&op| f.kind(op) == OpKind::AvgPool).collect();
    let [pool] = pools[..] else { panic!("{}", print(&p, &PrintOptions::brief())) };
    let ints = |name| f.const_arg(pool, name).and_then(|c| c.as_i64s()).unwrap();
    assert_eq!(f.const_arg(pool, "exclude_padding_from_average").and_then(|c| c.as_bool()), Some(false));
    assert_eq!((ints("kernel_sizes"), ints("strides"), ints("pad")), (vec![3, 3], vec![2, 2], vec![1, 1, 1, 1]));
    assert!(f.all_ops().into_iter().all(|op| f.kind(op) != OpKind::Pad));
}

#[test]
fn a_loop_that_swaps_its_variables_keeps_both() {
    // (i + 1, b, a): after one iteration a is b; after none, both are what they were.
    let body = "tensor<int32, []> i, tensor<fp32, [2]> p, tensor<fp32, [2]> q = while_loop(loop_vars = (s, x, z)) \
        (tensor<int32, []> i_, tensor<fp32, [2]> a_, tensor<fp32, [2]> b_) { tensor<bool, []> c = less(x = i_, y = n); } -> (c), \
        (tensor<int32, []> i_, tensor<fp32, [2]> a_, tensor<fp32, [2]> b_) { tensor<int32, []> j = add(x = i_, y = 1); } -> (j, b_, a_);";
    let signature = "tensor<int32, []> s, tensor<int32, []> n, tensor<fp32, [2]> x, tensor<fp32, [2]> z";
    let mut p = program(body, signature, "p, q");
    run(&Pipeline::from_ids("one", ["common::loop_invariant_elimination"]), &mut p);
    let f = &p.functions["main"];
    let loops: Vec<_> = f.all_ops().into_iter().filter(|&op| f.kind(op) == OpKind::WhileLoop).collect();
    assert_eq!(f.op(loops[0]).outputs().len(), 3);
    assert!(f.outputs().all(|v| f.producer(v) == Some(loops[0])));
}

#[test]
fn a_pass_that_reports_no_change_has_changed_no_constant() {
    // The weight is shared: coremltools' fusion turned its sign in place and then declined.
    let body = "tensor<fp32, [1, 1, 1]> w = const()[val = tensor<fp32, [1, 1, 1]>([[[2]]])];
        tensor<fp32, [1, 1, 3]> c = conv(x = x, weight = w);
        tensor<fp32, [1, 1, 3]> d = sub(x = fp32(1), y = c);
        tensor<fp32, [1, 1, 3]> e = conv(x = x, weight = w);
        tensor<fp32, [1, 1, 3]> y = add(x = d, y = e);";
    let mut p = program(body, "tensor<fp32, [1, 1, 3]> x", "y, c, e");
    let before = print(&p, &PrintOptions::brief());
    for pass in coremill_passes::all_passes() {
        let mut q = p.clone();
        let summary = PassManager::new().run(&Pipeline::from_ids("one", [pass.id]), &mut q).unwrap();
        let after = print(&q, &PrintOptions::brief());
        assert!(summary.changed > 0 || before == after, "{}", pass.id);
    }
    run(&Pipeline::from_ids("bias", ["common::fuse_conv_bias"]), &mut p);
    assert_eq!(print(&p, &PrintOptions::brief()), before);
}
