//! Descriptions: made from a program, and kept as far as they hold.

mod common;

use common::{data, small_program};
use coremill_mil::{Const, Function, NewOp, OpKind, Opset, Place, Program, Type};
use coremill_mlpackage::proto::description::{ArrayFeatureType, FeatureKind, ShapeFlexibility, array_dtype};
use coremill_mlpackage::{Describe, Description, Model, Source};
use coremill_tensor::{DType, Dim, Shape};

fn made(program: Program, how: Describe) -> Model {
    Model::new(program, &Source::default(), how)
}

fn array(f: &coremill_mlpackage::proto::description::FeatureDescription) -> ArrayFeatureType {
    match f.r#type.clone().unwrap().r#type {
        Some(FeatureKind::MultiArray(a)) => a,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fixed_shapes_are_described_as_they_are() {
    let d = made(small_program(Opset::Ios17), Describe::default()).described("m").unwrap();
    let x = array(&d.input[0]);
    assert_eq!((d.input[0].name.as_str(), x.shape, x.data_type), ("x", vec![3, 4], array_dtype::FLOAT32));
    assert_eq!(x.flexibility, None);
    assert!(d.functions.is_empty() && d.default_function_name.is_empty());
}

fn with_input(shape: Shape, dtype: DType) -> Program {
    let mut f = Function::new(Opset::Ios17);
    let body = f.body();
    let x = f.add_input(body, "x", Type::tensor(dtype, shape.clone()));
    let op = NewOp::new(OpKind::Relu).input("x", x).output("y", Type::tensor(dtype, shape));
    let op = f.insert(Place::End(body), op);
    let y = f.op(op).output();
    f.set_outputs(vec![("y".to_owned(), y)]);
    Program::with_main(f)
}

#[test]
fn shapes_that_vary_get_their_ranges() {
    let shape: Shape = [Dim::symbol("s0"), Dim::Known(80), Dim::Unknown].into_iter().collect();
    let mut how = Describe::default();
    how.ranges.insert("s0".to_owned(), (2, Some(8)));
    let d = made(with_input(shape, DType::Fp16), how).described("m").unwrap();
    let x = array(&d.input[0]);
    assert_eq!((x.shape, x.data_type), (vec![2, 80, 1], array_dtype::FLOAT16));
    let Some(ShapeFlexibility::Range(r)) = x.flexibility else { panic!("a range") };
    let ranges: Vec<_> = r.size_ranges.iter().map(|s| (s.lower_bound, s.upper_bound)).collect();
    assert_eq!(ranges, [(2, 8), (80, 80), (1, -1)]);
    assert!(array(&d.output[0]).shape.is_empty(), "an output's shape is left out where it varies");
}

#[test]
fn types_the_interface_does_not_have_are_all_named() {
    let e =
        made(with_input(Shape::of(&[2]), DType::Bool), Describe::default()).to_package("m").unwrap_err().to_string();
    assert!(e.contains("`x` of `main`") && e.contains("`y` of `main`"), "{e}");
}

#[test]
fn several_functions_are_described_one_by_one() {
    let mut p = small_program(Opset::Ios18);
    let f = p.functions["main"].clone();
    p.functions.insert("prefill".to_owned(), f);
    let d = made(p, Describe::default()).described("m").unwrap();
    assert_eq!(d.functions.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["main", "prefill"]);
    assert_eq!(d.default_function_name, "main");
    assert!(d.input.is_empty());
}

#[test]
fn a_kept_description_changes_only_where_the_program_did() {
    let mut model = Model::open(&data("kv_cache.mlpackage")).unwrap();
    let before = model.described("m").unwrap();
    assert_eq!(before.state.len(), 1);
    let f = model.program.functions.get_mut("main").unwrap();
    // The output becomes another one, of another name.
    let (name, v) = (f.output_names()[0].clone(), f.outputs().next().unwrap());
    f.set_outputs(vec![(format!("{name}_new"), v)]);
    let after = model.described("m").unwrap();
    assert_eq!(after.output[0].name, format!("{name}_new"));
    assert_eq!((&after.input, &after.state, &after.metadata), (&before.input, &before.state, &before.metadata));

    let Description::Kept(raw) = &model.description else { panic!("kept") };
    // A field that is not known here (number 99) stays through the change.
    let raw = [raw.as_ref(), &[0x9a, 0x06, 2, b'h', b'i']].concat();
    model.description = Description::Kept(raw.into());
    let bytes = model.to_mlmodel("m").unwrap().to_bytes();
    assert!(bytes.windows(5).any(|w| w == [0x9a, 0x06, 2, b'h', b'i']));
}

#[test]
fn constants_are_no_surprise_as_outputs() {
    let mut f = Function::new(Opset::Ios15);
    let body = f.body();
    let v = f.insert_const(Place::End(body), "c", Const::fp32(1.0));
    f.set_outputs(vec![("c".to_owned(), v)]);
    let d = made(Program::with_main(f), Describe::default()).described("m").unwrap();
    assert!(array(&d.output[0]).shape.is_empty());
}
