//! Type inference of what is no tensor: lists, states, and ops with blocks. The expectations follow the definitions.

use coremill_mil::{Arg, ArgList, Const, InferError, OpArgs, OpKind, Opset, Type, infer};
use coremill_tensor::{DType, Dim};

/// The type of an argument, and its value where it is constant.
type Given = (Type, Option<Const>);

/// A parameter with its arguments.
type Input<'a> = (&'static str, &'a [Given]);

fn fp32(dims: &[usize]) -> Type {
    Type::known(DType::Fp32, dims)
}

fn list(elem: &Type, length: Option<u64>) -> Type {
    Type::List(Box::new(elem.clone()), length)
}

/// Infers an op from arguments that are types, or constants of these types.
fn op(kind: OpKind, inputs: &[Input<'_>]) -> Result<Vec<Type>, InferError> {
    let mut args = OpArgs::new(kind, Opset::Ios18);
    for (name, given) in inputs {
        let given: ArgList<'_> = given.iter().map(|(ty, value)| Arg::new(ty, value.as_ref())).collect();
        args.inputs.push((name, given));
    }
    infer(&args)
}

fn computed(ty: Type) -> Given {
    (ty, None)
}

fn known(value: Const) -> Given {
    (value.ty(), Some(value))
}

#[test]
fn lists() {
    let elem = fp32(&[2, 3]);
    let (ls, int) = ([computed(list(&elem, Some(4)))], [computed(Type::scalar(DType::Int32))]);
    let ints = [computed(Type::known(DType::Int32, &[5]))];
    let extents = [known(Const::int32(2)), known(Const::int32(3))];
    let fixed = [known(Const::bool(false))];
    let length = [known(Const::int32(4))];
    let make = |inputs: &[Input<'_>]| op(OpKind::MakeList, inputs);
    assert_eq!(make(&[("elem_shape", &extents)]), Ok(vec![list(&elem, None)]));
    let four = make(&[("elem_shape", &extents), ("dynamic_length", &fixed), ("init_length", &length)]);
    assert_eq!(four, Ok(vec![list(&elem, Some(4))]));
    let symbolic = make(&[("elem_shape", &[known(Const::string("n")), known(Const::int32(3))])]);
    let want = Type::tensor(DType::Fp32, vec![Dim::symbol("n"), Dim::Known(3)]);
    assert_eq!(symbolic, Ok(vec![list(&want, None)]));
    assert_eq!(make(&[("elem_shape", &int)]), Err(InferError::NotConstant("elem_shape")));
    assert_eq!(make(&[]), Err(InferError::Missing("elem_shape")));

    assert_eq!(op(OpKind::ListLength, &[("ls", &ls)]), Ok(vec![Type::scalar(DType::Int32)]));
    assert_eq!(op(OpKind::ListRead, &[("ls", &ls), ("index", &int)]), Ok(vec![elem.clone()]));
    let gathered = op(OpKind::ListGather, &[("ls", &ls), ("indices", &ints)]);
    assert_eq!(gathered, Ok(vec![fp32(&[5, 2, 3])]));
    let write = |value: Type| op(OpKind::ListWrite, &[("ls", &ls), ("index", &int), ("value", &[computed(value)])]);
    assert_eq!(write(elem.clone()), Ok(vec![list(&elem, Some(4))]));
    assert!(write(fp32(&[2, 4])).is_err());
    let scatter =
        |value: Type| op(OpKind::ListScatter, &[("ls", &ls), ("indices", &ints), ("value", &[computed(value)])]);
    assert_eq!(scatter(fp32(&[5, 2, 3])), Ok(vec![list(&elem, Some(4))]));
    assert!(scatter(fp32(&[4, 2, 3])).is_err());
    assert!(scatter(fp32(&[])).is_err());
    assert!(op(OpKind::ListRead, &[("ls", &[computed(elem)]), ("index", &int)]).is_err());
}

#[test]
fn states() {
    let held = fp32(&[2]);
    let state = [computed(Type::State(Box::new(held.clone())))];
    assert_eq!(op(OpKind::ReadState, &[("input", &state)]), Ok(vec![held.clone()]));
    let same = [computed(held.clone())];
    assert_eq!(op(OpKind::WriteState, &[("input", &state), ("data", &same)]), Ok(vec![]));
    assert_eq!(op(OpKind::CoremlUpdateState, &[("state", &state), ("value", &same)]), Ok(vec![held]));
    let other = [computed(fp32(&[3]))];
    assert!(op(OpKind::WriteState, &[("input", &state), ("data", &other)]).is_err());
    assert!(op(OpKind::ReadState, &[("input", &other)]).is_err());
}

#[test]
fn blocks_give_the_types() {
    let (a, b, flag) = (fp32(&[2]), fp32(&[3]), Type::scalar(DType::Bool));
    let mut cond = OpArgs::new(OpKind::Cond, Opset::Ios15);
    cond.inputs.push(("pred", std::iter::once(Arg::new(&flag, None)).collect()));
    cond.blocks = vec![(vec![], vec![&a, &b]), (vec![], vec![&a, &b])];
    assert_eq!(infer(&cond), Ok(vec![a.clone(), b.clone()]));
    cond.blocks[1] = (vec![], vec![&b, &a]);
    assert!(infer(&cond).is_err());
    cond.blocks.pop();
    assert!(infer(&cond).is_err());

    let mut while_loop = OpArgs::new(OpKind::WhileLoop, Opset::Ios15);
    let vars = [&a, &b].map(|ty| Arg::new(ty, None));
    while_loop.inputs.push(("loop_vars", vars.into_iter().collect()));
    let both = vec![&a, &b];
    while_loop.blocks = vec![(both.clone(), vec![&flag]), (both.clone(), both.clone())];
    assert_eq!(infer(&while_loop), Ok(vec![a.clone(), b.clone()]));
    while_loop.blocks[0].1 = vec![&a];
    assert!(infer(&while_loop).is_err(), "the condition must be a boolean");
    while_loop.blocks[0].1 = vec![&flag];
    while_loop.blocks[1].1 = vec![&a];
    assert!(infer(&while_loop).is_err(), "the body must give every variable");
}
