//! The verifier: a right program has no problems, and each thing that can be wrong is found, once.

use coremill_mil::text::PrintOptions;
use coremill_mil::verify::{Diagnostic, Port, Problem, Stage, annotate, verify, verify_at, verify_function};
use coremill_mil::{Const, Function, InferError, NewOp, OpId, OpKind, Opset, Place, Program, Type, ValueId};
use coremill_tensor::{DType, Data, Dim};

fn fp32(dims: &[usize]) -> Type {
    Type::known(DType::Fp32, dims)
}

/// A function of one input `x`, `fp32[2, 3]`.
fn function(opset: Opset) -> (Function, ValueId) {
    let mut f = Function::new(opset);
    let body = f.body();
    let x = f.add_input(body, "x", fp32(&[2, 3]));
    (f, x)
}

fn insert(f: &mut Function, new: NewOp) -> OpId {
    f.insert(Place::End(f.body()), new)
}

fn constant(f: &mut Function, name: &str, value: Const) -> ValueId {
    f.insert_const(Place::End(f.body()), name, value)
}

/// Adds an op and makes its first result the output `out`.
fn last(f: &mut Function, new: NewOp) -> OpId {
    let op = insert(f, new);
    f.set_outputs(vec![("out".to_owned(), f.op(op).output())]);
    op
}

fn found(f: &Function) -> Vec<Diagnostic> {
    verify_function("main", f, Stage::Written)
}

/// The only problem, of the op given.
#[track_caller]
fn only(f: &Function, op: Option<OpId>) -> Problem {
    let found = found(f);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].op, op);
    assert!(!found[0].help.is_empty());
    found[0].problem.clone()
}

#[test]
fn a_right_program_has_no_problems() {
    let (mut f, x) = function(Opset::Ios18);
    let perm = constant(&mut f, "perm", Const::int32s(&[1, 0]));
    let y = NewOp::new(OpKind::Transpose).input("x", x).input("perm", perm).output("y", fp32(&[3, 2]));
    last(&mut f, y);
    assert_eq!(verify(&Program::with_main(f)), []);
}

#[test]
fn a_value_used_before_its_definition() {
    let (mut f, x) = function(Opset::Ios15);
    let a = insert(&mut f, NewOp::new(OpKind::Relu).input("x", x).output("a", fp32(&[2, 3])));
    let a_value = f.op(a).output();
    let b = last(&mut f, NewOp::new(OpKind::Relu).input("x", a_value).output("b", fp32(&[2, 3])));
    f.move_op(b, Place::Before(a));
    let want = Problem::NotVisible { input: "x".to_owned(), value: "a".to_owned(), later: true };
    assert_eq!(only(&f, Some(b)), want);
}

/// `cond` on a constant, each block `relu`.
fn with_cond(f: &mut Function, x: ValueId, results: usize) -> (OpId, ValueId) {
    let pred = constant(f, "pred", Const::bool(true));
    let mut new = NewOp::new(OpKind::Cond).input("pred", pred);
    for i in 0..results {
        new = new.output(format!("c{i}"), fp32(&[2, 3]));
    }
    let op = last(f, new);
    let mut inner = x;
    for name in ["yes", "no"] {
        let block = f.add_block(op);
        let relu = NewOp::new(OpKind::Relu).input("x", x).output(name, fp32(&[2, 3]));
        let relu = f.insert(Place::End(block), relu);
        inner = f.op(relu).output();
        f.set_outputs_of(block, &[inner]);
    }
    (op, inner)
}

#[test]
fn blocks_see_what_is_around_them_and_keep_what_is_theirs() {
    let (mut f, x) = function(Opset::Ios15);
    let (cond, inner) = with_cond(&mut f, x, 1);
    assert_eq!(found(&f), []);

    let user = last(&mut f, NewOp::new(OpKind::Relu).input("x", inner).output("out", fp32(&[2, 3])));
    let want = Problem::NotVisible { input: "x".to_owned(), value: "no".to_owned(), later: false };
    assert_eq!(only(&f, Some(user)), want);
    f.set_outputs(vec![("out".to_owned(), f.op(cond).output())]);
    assert!(f.erase(user));

    // The first block gives what the second defines.
    let first = f.op(cond).blocks()[0];
    f.set_outputs_of(first, &[inner]);
    let want = Problem::OutputNotVisible { index: 0, value: "no".to_owned() };
    assert_eq!(only(&f, Some(cond)), want);

    f.set_outputs(vec![("out".to_owned(), inner)]);
    let problems: Vec<_> = found(&f).into_iter().map(|d| (d.op, d.problem)).collect();
    let want = Problem::OutputNotVisible { index: 0, value: "no".to_owned() };
    assert_eq!(problems, [(Some(cond), want.clone()), (None, want)]);
}

#[test]
fn blocks_that_give_other_values_than_the_op_has() {
    let (mut f, x) = function(Opset::Ios15);
    let (cond, _) = with_cond(&mut f, x, 2);
    assert_eq!(only(&f, Some(cond)), Problem::ResultCount { declared: 2, inferred: 1 });

    let (mut f, x) = function(Opset::Ios15);
    let (cond, _) = with_cond(&mut f, x, 1);
    let first = f.op(cond).blocks()[0];
    f.set_outputs_of(first, &[]);
    assert!(matches!(only(&f, Some(cond)), Problem::NoTypes(InferError::Mismatch(_))));
}

#[test]
fn an_op_that_the_table_or_the_opset_does_not_have() {
    let (mut f, x) = function(Opset::Ios15);
    let mut new = NewOp::new(OpKind::Unknown).input("x", x).output("y", fp32(&[2, 3]));
    new.unknown_type = Some("custom_thing".to_owned());
    let op = last(&mut f, new);
    assert_eq!(only(&f, Some(op)), Problem::UnknownOp("custom_thing".to_owned()));
    assert_eq!(found(&f)[0].op_type, "custom_thing");

    let (mut f, x) = function(Opset::Ios15);
    let op = last(&mut f, NewOp::new(OpKind::FillLike).input("ref_tensor", x).output("y", fp32(&[2, 3])));
    assert_eq!(only(&f, Some(op)), Problem::NotInOpset { since: Opset::Ios16, opset: Opset::Ios15 });
}

#[test]
fn inputs_that_are_missing_or_too_many() {
    let (mut f, x) = function(Opset::Ios15);
    let op = last(&mut f, NewOp::new(OpKind::Add).input("x", x).output("y", fp32(&[2, 3])));
    assert_eq!(only(&f, Some(op)), Problem::MissingInput("y"));

    f.set_input(op, "y", &[x]);
    f.set_input(op, "z", &[x]);
    let want = Problem::UnknownInput { input: "z".to_owned(), opset: Opset::Ios15 };
    assert_eq!(only(&f, Some(op)), want);

    f.remove_input(op, "z");
    f.set_input(op, "y", &[x, x]);
    assert_eq!(only(&f, Some(op)), Problem::TooManyArguments { input: "y", given: 2 });
}

#[test]
fn all_problems_of_an_op_are_told() {
    let (mut f, x) = function(Opset::Ios15);
    let op = last(&mut f, NewOp::new(OpKind::Conv).input("z", x).output("y", fp32(&[2, 3])));
    let problems: Vec<_> = found(&f).into_iter().map(|d| (d.op, d.problem)).collect();
    let missing = |name| (Some(op), Problem::MissingInput(name));
    let unknown = (Some(op), Problem::UnknownInput { input: "z".to_owned(), opset: Opset::Ios15 });
    assert_eq!(problems, [unknown, missing("x"), missing("weight")]);
}

#[test]
fn inputs_of_types_that_the_op_does_not_take() {
    let (mut f, x) = function(Opset::Ios15);
    let flags = constant(&mut f, "flags", Const::bools(&[true, false, true]));
    let half = constant(&mut f, "half", Const::Tensor(Data::scalar(half::f16::ONE)));
    let op = last(&mut f, NewOp::new(OpKind::Add).input("x", flags).input("y", flags).output("z", fp32(&[3])));
    let problems = found(&f);
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems.iter().all(|d| matches!(d.problem, Problem::InputType { .. })));

    // Both take floats, but not of two kinds.
    f.set_input(op, "x", &[x]);
    f.set_input(op, "y", &[half]);
    match only(&f, Some(op)) {
        Problem::InputType { input, what } => assert_eq!((input, what.contains("alike")), ("y", true), "{what}"),
        other => panic!("{other}"),
    }
}

#[test]
fn inputs_that_must_be_constant() {
    let (mut f, x) = function(Opset::Ios16);
    let body = f.body();
    let order = f.add_input(body, "order", Type::known(DType::Int32, &[2]));
    let y = NewOp::new(OpKind::Transpose).input("x", x).input("perm", order).output("y", fp32(&[3, 2]));
    let op = last(&mut f, y);
    assert_eq!(only(&f, Some(op)), Problem::NotConstant("perm"));

    // Computed from constants only: as good as a constant.
    let one = constant(&mut f, "one", Const::int32s(&[1, 0]));
    let same = NewOp::new(OpKind::Identity).input("x", one).output("same", Type::known(DType::Int32, &[2]));
    let same = insert(&mut f, same);
    f.set_input(op, "perm", &[f.op(same).output()]);
    f.move_op(op, Place::End(body));
    assert_eq!(found(&f), []);
}

/// A compressed weight is as good as a constant.
#[test]
fn a_compressed_weight_counts_as_constant() {
    let (mut f, x) = function(Opset::Ios16);
    let mut new = NewOp::new(OpKind::ConstexprCast).output("w", fp32(&[4, 3]));
    let halves = Data::from_elements(&[4, 3], &[half::f16::ONE; 12]);
    new.attributes.insert("source_val".to_owned(), Const::Tensor(halves));
    new.attributes.insert("output_dtype".to_owned(), Const::string("fp32"));
    let weight = insert(&mut f, new);
    let w = f.op(weight).output();
    last(&mut f, NewOp::new(OpKind::Linear).input("x", x).input("weight", w).output("y", fp32(&[2, 4])));
    assert_eq!(found(&f), []);
}

#[test]
fn results_that_are_not_what_the_arguments_give() {
    let (mut f, x) = function(Opset::Ios15);
    let op = last(&mut f, NewOp::new(OpKind::Relu).input("x", x).output("y", fp32(&[3, 3])));
    let want = Problem::ResultType { index: 0, declared: fp32(&[3, 3]), inferred: fp32(&[2, 3]) };
    assert_eq!(only(&f, Some(op)), want);
    let y = f.op(op).output();
    f.set_type(y, Type::tensor(DType::Fp32, vec![Dim::Unknown, Dim::Known(3)]));
    assert_eq!(found(&f), [], "an extent that is not known may be any");

    let (mut f, x) = function(Opset::Ios15);
    let perm = constant(&mut f, "perm", Const::int32s(&[0, 0]));
    let y = NewOp::new(OpKind::Transpose).input("x", x).input("perm", perm).output("y", fp32(&[2, 2]));
    let op = last(&mut f, y);
    assert!(matches!(only(&f, Some(op)), Problem::NoTypes(InferError::Bad { input: "perm", .. })));
}

#[test]
fn a_constant_is_of_the_type_of_its_value() {
    let (mut f, _) = function(Opset::Ios15);
    let op = last(&mut f, NewOp::constant("c", Const::int32(1)));
    let c = f.op(op).output();
    f.set_type(c, Type::scalar(DType::Fp32));
    let inferred = Type::scalar(DType::Int32);
    let want = Problem::ResultType { index: 0, declared: Type::scalar(DType::Fp32), inferred };
    assert_eq!(only(&f, Some(op)), want);
    f.op_mut(op).attributes.clear();
    assert_eq!(only(&f, Some(op)), Problem::MissingInput("val"));
}

#[test]
fn names_of_inputs_and_outputs() {
    let (mut f, x) = function(Opset::Ios15);
    let relu = |name: &str| NewOp::new(OpKind::Relu).input("x", x).output(name, fp32(&[2, 3]));
    let (a, b) = (insert(&mut f, relu("a")), insert(&mut f, relu("b")));
    let (a, b) = (f.op(a).output(), f.op(b).output());
    let outputs = |names: &[(&str, ValueId)]| names.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();

    f.set_outputs(outputs(&[("y", a), ("y", b)]));
    let (first, second) = (Port::Output(0), Port::Output(1));
    assert_eq!(only(&f, None), Problem::SameName { name: "y".to_owned(), first, second });
    f.set_outputs(outputs(&[("x", a)]));
    let (first, second) = (Port::Input(0), Port::Output(0));
    assert_eq!(only(&f, None), Problem::SameName { name: "x".to_owned(), first, second });

    for bad in ["", "1", "a b", "a-b", "\u{e9}"] {
        f.set_outputs(outputs(&[(bad, a)]));
        assert_eq!(only(&f, None), Problem::BadName { of: Port::Output(0), name: bad.to_owned() });
        assert_eq!(verify_function("main", &f, Stage::Passes), []);
    }
    f.set_outputs(outputs(&[("_a1@b", a)]));
    assert_eq!(found(&f), []);
    f.set_name(x, "in/0");
    assert_eq!(only(&f, None), Problem::BadName { of: Port::Input(0), name: "in/0".to_owned() });
    f.set_name(x, "x");
    let problems = verify_function("1st", &f, Stage::Written);
    assert_eq!(problems[0].problem, Problem::BadName { of: Port::Function, name: "1st".to_owned() });

    f.set_outputs(outputs(&[("y", a)]));
    let body = f.body();
    f.set_outputs_of(body, &[a, b]);
    assert_eq!(only(&f, None), Problem::OutputNames { names: 1, outputs: 2 });
}

#[test]
fn outputs_that_share_a_value() {
    let (mut f, x) = function(Opset::Ios15);
    let a = insert(&mut f, NewOp::new(OpKind::Relu).input("x", x).output("a", fp32(&[2, 3])));
    let a = f.op(a).output();
    f.set_outputs(vec![("y".to_owned(), a), ("z".to_owned(), a)]);
    assert_eq!(only(&f, None), Problem::OutputTwice { first: "y".to_owned(), second: "z".to_owned() });
    for name in ["y", "x"] {
        f.set_outputs(vec![(name.to_owned(), x)]);
        let want = Problem::InputReturned { input: "x".to_owned(), output: name.to_owned() };
        assert_eq!(only(&f, None), want);
        assert_eq!(verify_function("main", &f, Stage::Passes), []);
    }
}

#[test]
fn ops_of_dialects_must_be_gone_when_writing() {
    let (mut f, x) = function(Opset::Ios15);
    let new = NewOp::new(OpKind::Complex).input("real_data", x).input("imag_data", x);
    let op = last(&mut f, new.output("c", Type::known(DType::Complex64, &[2, 3])));
    assert_eq!(only(&f, Some(op)), Problem::Dialect);
    assert_eq!(verify_at(&Program::with_main(f), Stage::Passes), []);
}

/// The update of a state is written as two ops, so it may stay.
#[test]
fn an_update_of_state_may_stay() {
    let (mut f, x) = function(Opset::Ios18);
    let body = f.body();
    let state = f.add_input(body, "s", Type::State(Box::new(fp32(&[2, 3]))));
    let new = NewOp::new(OpKind::CoremlUpdateState).input("state", state).input("value", x);
    let op = last(&mut f, new.output("y", fp32(&[2, 3])));
    assert_eq!(found(&f), []);
    f.set_input(op, "state", &[x]);
    assert!(matches!(only(&f, Some(op)), Problem::InputType { input: "state", .. }));
}

#[test]
fn problems_stand_under_their_ops() {
    let (mut f, x) = function(Opset::Ios15);
    let op = last(&mut f, NewOp::new(OpKind::Add).input("x", x).output("y", fp32(&[2, 3])));
    let y = f.op(op).output();
    f.set_outputs(vec![("1".to_owned(), y)]);
    let program = Program::with_main(f);
    let text = annotate(&program, &verify(&program), &PrintOptions::brief());
    assert!(text.starts_with("// main: output 0 is named `1`; begin with"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let op = lines.iter().position(|l| l.contains("add(")).unwrap();
    assert_eq!(lines[op + 1].trim(), "// -> it needs `y`, which is not given; give `y` a value");
    assert_eq!(annotate(&program, &[], &PrintOptions::brief()), "");
}

/// Blocks nested as deep as one likes take no stack.
#[test]
fn deep_nesting_is_walked() {
    let (mut f, x) = function(Opset::Ios15);
    let pred = constant(&mut f, "pred", Const::bool(true));
    let mut place = Place::End(f.body());
    let mut outer: Option<(OpId, coremill_mil::BlockId)> = None;
    for _ in 0..20_000 {
        let op = f.insert(place, NewOp::new(OpKind::Cond).input("pred", pred).output("c", fp32(&[2, 3])));
        let (yes, no) = (f.add_block(op), f.add_block(op));
        f.set_outputs_of(no, &[x]);
        f.set_outputs_of(yes, &[x]);
        if let Some((_, block)) = outer {
            f.set_outputs_of(block, &[f.op(op).output()]);
        } else {
            f.set_outputs(vec![("y".to_owned(), f.op(op).output())]);
        }
        outer = Some((op, yes));
        place = Place::End(yes);
    }
    assert_eq!(found(&f), []);
}

/// A value used many times by the next, and that by the next again: what is followed back is bounded.
#[test]
fn lists_joined_with_themselves_are_not_unfolded() {
    let (mut f, x) = function(Opset::Ios15);
    let axis = constant(&mut f, "axis", Const::int32(0));
    let interleave = constant(&mut f, "interleave", Const::bool(false));
    let mut v = constant(&mut f, "none", Const::int32s(&[]));
    for _ in 0..10 {
        let new = NewOp::new(OpKind::Concat).input_list("values", &[v; 100]).input("axis", axis);
        let op = insert(&mut f, new.input("interleave", interleave).output("c", Type::known(DType::Int32, &[0])));
        v = f.op(op).output();
    }
    let op = last(&mut f, NewOp::new(OpKind::Reshape).input("x", x).input("shape", v).output("y", fp32(&[])));
    assert_eq!(found(&f).len(), 0);
    assert!(f.is_live(op));
}
