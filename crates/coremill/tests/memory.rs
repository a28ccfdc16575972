//! How much memory a lowering to float16 takes: the program, and about one weight. Weights are read from the mapped file
//! and written as they are computed, also those that a fusion changes.
//!
//! The figures are of the heap, counted by the allocator; a mapped file is not on it.

use std::path::Path;

use coremill::compile_spec::{CompileSpec, keys};
use coremill::{LowerOptions, Session};
use coremill_mil::{Builder, Const, Function, OpKind, Opset, Place, Program, Type};
use coremill_mlpackage::{Describe, Model, Source};
use coremill_tensor::{DType, Data};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const WIDTH: usize = 1024;
const CHANNELS: usize = 256;

/// Bytes of the largest weight.
const LARGEST: usize = WIDTH * WIDTH * 4;

/// Bytes of all weights.
const ALL: usize = 6 * LARGEST + 6 * CHANNELS * CHANNELS * 9 * 4;

fn weight(shape: &[usize], seed: usize) -> Const {
    let n = shape.iter().product::<usize>();
    Const::Tensor(Data::from_vec(shape, (0..n).map(|i| ((i * 31 + seed) % 997) as f32 * 1e-3).collect::<Vec<_>>()))
}

/// Six convolutions with batch normalisation, and six linear layers: the weights of two are packed in one, as attention has
/// them, and one is turned.
fn package(path: &Path) {
    let mut f = Function::new(Opset::Ios17);
    let image = f.add_input(f.body(), "image", Type::known(DType::Fp32, &[1, CHANNELS, 8, 8]));
    let row = f.add_input(f.body(), "row", Type::known(DType::Fp32, &[1, WIDTH]));
    let body = f.body();
    let mut b = Builder::new(&mut f, Place::End(body));
    let (mut x, mut y) = (image, row);
    let packed = b.op(OpKind::Split).name("packed").literal("x", weight(&[2 * WIDTH, WIDTH], 1));
    let packed = packed.literal("num_splits", Const::int32(2)).literal("axis", Const::int32(0)).build_op().unwrap();
    let turned = b.op(OpKind::Transpose).name("turned").literal("x", weight(&[WIDTH, WIDTH], 2));
    let turned = turned.literal("perm", Const::int32s(&[1, 0])).one().unwrap();
    let ready = [b.f.op(packed).outputs(), &[turned]].concat();
    for i in 0..6 {
        let conv = b.op(OpKind::Conv).name(format!("conv{i}")).input("x", x);
        let conv =
            conv.literal("weight", weight(&[CHANNELS, CHANNELS, 3, 3], i)).literal("pad_type", Const::string("same"));
        let conv = conv.one().unwrap();
        let norm = b.op(OpKind::BatchNorm).name(format!("norm{i}")).input("x", conv);
        let norm = norm.literal("mean", weight(&[CHANNELS], i)).literal("variance", weight(&[CHANNELS], i + 1));
        x = norm.literal("epsilon", Const::fp32(1e-3)).one().unwrap();
        let linear = b.op(OpKind::Linear).name(format!("linear{i}")).input("x", y);
        let linear = match ready.get(i) {
            Some(&v) => linear.input("weight", v),
            None => linear.literal("weight", weight(&[WIDTH, WIDTH], i)),
        };
        y = linear.literal("bias", weight(&[WIDTH], i)).one().unwrap();
    }
    f.set_outputs(vec![("image_out".to_owned(), x), ("row_out".to_owned(), y)]);
    Model::new(Program::with_main(f), &Source::default(), Describe::default()).save(path).unwrap();
}

/// The most bytes on the heap during `work`, beyond those there before.
fn peak(work: impl FnOnce()) -> usize {
    let profiler = dhat::Profiler::builder().testing().build();
    work();
    let peak = dhat::HeapStats::get().max_bytes;
    drop(profiler);
    peak
}

#[test]
#[allow(clippy::print_stdout, reason = "a test of figures shows them")]
fn a_lowering_to_float16_holds_about_one_weight() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.mlpackage");
    package(&input);
    let options =
        LowerOptions { specs: vec![CompileSpec::new(keys::MIN_DEPLOYMENT_TARGET, "8")], ..LowerOptions::default() };
    for output in ["out.mlpackage", "out.pte"] {
        let output = folder.path().join(output);
        let bytes = peak(|| Session::new().lower(&input, &options).unwrap().save(&output).unwrap());
        println!("{}: {bytes} bytes of heap, {LARGEST} of the largest weight, {ALL} of all", output.display());
        assert!(bytes < LARGEST * 13 / 10, "{bytes} bytes against {LARGEST} of the largest weight and {ALL} of all");
        assert!(output.exists());
    }
}
