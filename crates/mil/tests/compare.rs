//! Two programs are the same when they compute the same, and the first difference is said.

use coremill_mil::compare::{Checks, compare, counts, is_written_as_literal};
use coremill_mil::{Const, Function, NewOp, OpKind, Opset, Place, Program, Type, ValueId};
use coremill_tensor::{DType, Data};

struct Maker {
    f: Function,
}

impl Maker {
    fn new(inputs: &[&str]) -> (Maker, Vec<ValueId>) {
        let mut f = Function::new(Opset::Ios17);
        let body = f.body();
        let inputs = inputs.iter().map(|n| f.add_input(body, *n, ty())).collect();
        (Maker { f }, inputs)
    }

    fn op(&mut self, kind: OpKind, name: &str, inputs: &[(&'static str, ValueId)]) -> ValueId {
        let mut new = NewOp::new(kind).output(name, ty());
        for (param, v) in inputs {
            new = new.input(param, *v);
        }
        let body = self.f.body();
        let op = self.f.insert(Place::End(body), new);
        self.f.op(op).output()
    }

    fn constant(&mut self, value: Const) -> ValueId {
        let body = self.f.body();
        self.f.insert_const(Place::End(body), "c", value)
    }

    fn done(mut self, outputs: &[(&str, ValueId)]) -> Program {
        self.f.set_outputs(outputs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect());
        Program::with_main(self.f)
    }
}

fn ty() -> Type {
    Type::known(DType::Fp32, &[2])
}

fn vector(v: &[f32]) -> Const {
    Const::Tensor(Data::from_elements(&[v.len()], v))
}

/// `relu(x) + exp(x)` with the two ops in either order and any names.
fn sum(relu_first: bool, a: &str, b: &str) -> Program {
    let (mut m, v) = Maker::new(&["x"]);
    let (relu, exp);
    if relu_first {
        relu = m.op(OpKind::Relu, a, &[("x", v[0])]);
        exp = m.op(OpKind::Exp, b, &[("x", v[0])]);
    } else {
        exp = m.op(OpKind::Exp, b, &[("x", v[0])]);
        relu = m.op(OpKind::Relu, a, &[("x", v[0])]);
    }
    let y = m.op(OpKind::Add, "y", &[("x", relu), ("y", exp)]);
    m.done(&[("y", y)])
}

fn difference(a: &Program, b: &Program) -> String {
    compare(a, b, Checks::default()).expect("they differ")
}

#[test]
fn names_and_order_matter_only_when_asked_for() {
    let (a, b) = (sum(true, "p", "q"), sum(false, "r", "s"));
    assert_eq!(compare(&a, &b, Checks::default()), None);
    let order = compare(&a, &b, Checks { order: true, ..Checks::default() });
    assert_eq!(order.as_deref(), Some("main: op 0 is relu against exp, in another order"));
    let names = compare(&a, &b, Checks { names: true, ..Checks::default() });
    assert_eq!(names.as_deref(), Some(r#"relu: named ["p"] against ["r"]"#));
}

#[test]
fn dead_ops_and_constants_count() {
    let make = |dead: bool, consts: usize| {
        let (mut m, v) = Maker::new(&["x"]);
        if dead {
            m.op(OpKind::Exp, "dead", &[("x", v[0])]);
        }
        for _ in 0..consts {
            m.constant(vector(&[1.0]));
        }
        let y = m.op(OpKind::Relu, "y", &[("x", v[0])]);
        m.done(&[("y", y)])
    };
    assert_eq!(difference(&make(true, 0), &make(false, 0)), "main: numbers of ops differ: exp 1 against 0");
    assert_eq!(compare(&make(false, 1), &make(false, 2), Checks::default()), None);
    let consts = Checks::from_names(["consts"]).unwrap();
    let said = compare(&make(false, 1), &make(false, 2), consts);
    assert_eq!(said.as_deref(), Some("main: numbers of ops differ: const 1 against 2"));
    let (a, b) = (make(true, 1), make(false, 2));
    let counts = counts(&a.functions["main"], &b.functions["main"], true);
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [("const".to_owned(), (1, 2)), ("exp".to_owned(), (1, 0)), ("relu".to_owned(), (1, 1))]
    );
    assert_eq!(Checks::from_names(["const"]), Err("const".to_owned()));
}

#[test]
fn constants_are_compared_within_a_tolerance() {
    let make = |c: Const| {
        let (mut m, v) = Maker::new(&["x"]);
        let c = m.constant(c);
        let y = m.op(OpKind::Add, "y", &[("x", v[0]), ("y", c)]);
        m.done(&[("y", y)])
    };
    let one = make(vector(&[1.0, f32::NAN]));
    assert_eq!(compare(&one, &make(vector(&[1.00001, f32::NAN])), Checks::default()), None);
    let said = difference(&one, &make(vector(&[1.001, f32::NAN])));
    assert!(said.starts_with("add.y: constant differs at element 0"), "{said}");
    assert_eq!(difference(&one, &make(vector(&[1.0]))), "add.y: constant of shape [2] against [1]");
    assert_eq!(difference(&one, &make(Const::int32s(&[1, 2]))), "add.y: constant of fp32 against int32");
    assert_eq!(
        difference(&one, &make(Const::string("a"))),
        "add.y: constant of tensor<fp32, [2]> against tensor<string, []>"
    );
}

#[test]
fn a_negative_axis_is_the_axis_from_the_front() {
    let make = |kind, axis: i32| {
        let (mut m, v) = Maker::new(&["x"]);
        let axis = m.constant(Const::int32(axis));
        let y = m.op(kind, "y", &[("x", v[0]), ("axis", axis)]);
        m.done(&[("y", y)])
    };
    assert_eq!(compare(&make(OpKind::Softmax, -1), &make(OpKind::Softmax, 0), Checks::default()), None);
    assert!(compare(&make(OpKind::Stack, -1), &make(OpKind::Stack, 0), Checks::default()).is_some());
}

#[test]
fn inputs_go_by_name_or_by_position() {
    let make = |names: [&str; 2], swap: bool, out: &str| {
        let (mut m, v) = Maker::new(&names);
        let (x, y) = if swap { (v[1], v[0]) } else { (v[0], v[1]) };
        let y = m.op(OpKind::Sub, "r", &[("x", x), ("y", y)]);
        m.done(&[(out, y)])
    };
    let a = make(["a", "b"], false, "y");
    assert_eq!(compare(&a, &make(["b", "a"], true, "y"), Checks::default()), None);
    assert_eq!(difference(&a, &make(["a", "b"], true, "y")), "sub.x: an input against another input");
    assert!(difference(&a, &make(["a", "b"], false, "z")).starts_with("main: outputs"));
    assert!(difference(&a, &make(["a", "c"], false, "y")).starts_with("main: inputs"));
    let positional = Checks { positional: true, ..Checks::default() };
    assert_eq!(compare(&a, &make(["p", "q"], false, "z"), positional), None);
    assert!(compare(&a, &make(["p", "q"], true, "z"), positional).is_some());
}

#[test]
fn an_attribute_is_as_good_as_a_constant_input() {
    let make = |as_input: bool| {
        let (mut m, _) = Maker::new(&[]);
        let c = vector(&[1.0, 2.0]);
        let mut new = NewOp::new(OpKind::ConstexprCast).output("y", ty());
        if as_input {
            let v = m.constant(c);
            new = new.input("source_val", v);
        } else {
            new = new.attribute("source_val", c);
        }
        let body = m.f.body();
        let op = m.f.insert(Place::End(body), new);
        let y = m.f.op(op).output();
        m.done(&[("y", y)])
    };
    let (a, b) = (make(true), make(false));
    assert_eq!(compare(&a, &b, Checks { consts: true, ..Checks::default() }), None);
    let f = &a.functions["main"];
    assert!(is_written_as_literal(f, f.all_ops()[0]));
}

#[test]
fn nested_blocks_are_part_of_the_graph() {
    let make = |kind: OpKind| {
        let (mut m, v) = Maker::new(&["x"]);
        let body = m.f.body();
        let op = m.f.insert(Place::End(body), NewOp::new(OpKind::WhileLoop).input("loop_vars", v[0]).output("y", ty()));
        let block = m.f.add_block(op);
        let x = m.f.add_input(block, "i", ty());
        let inner = m.f.insert(Place::End(block), NewOp::new(kind).input("x", x).output("r", ty()));
        let r = m.f.op(inner).output();
        m.f.set_outputs_of(block, &[r]);
        let y = m.f.op(op).output();
        m.done(&[("y", y)])
    };
    assert_eq!(compare(&make(OpKind::Relu), &make(OpKind::Relu), Checks::default()), None);
    assert_eq!(difference(&make(OpKind::Relu), &make(OpKind::Exp)), "op relu against exp");
}
