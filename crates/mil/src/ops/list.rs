//! Lists of tensors of one type, which loops fill.

use coremill_tensor::{DType, Dim, Shape};

use super::common::{BOOL, INT32, STRING, bool_or, int, one, string_or, tensor};
use crate::Opset::Ios15;
use crate::schema::{Default, Domain, Flags, InputSpec, OpSchema, OpVersion};
use crate::{Const, InferError, OpArgs, OpKind, Type};

const LS: InputSpec = InputSpec::of("ls", Domain::List);
const VALUE: InputSpec = InputSpec::same("value", 'T', &[DType::Fp16, DType::Fp32, DType::Bool, DType::Int32]);

const fn index(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, INT32)
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::MakeList,
        summary: "An empty list; a dynamic one grows as it is written.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                index("init_length").default(Default::Int(1)),
                InputSpec::tensor("dynamic_length", BOOL).constant().default(Default::Bool(true)),
                InputSpec::of("elem_shape", Domain::Any).variadic(),
                InputSpec::tensor("dtype", STRING).constant().default(Default::Str("fp32")),
            ],
        )],
        flags: Flags::PURE,
        infer: make_list,
    },
    OpSchema {
        kind: OpKind::ListLength,
        summary: "The number of elements.",
        versions: &[OpVersion::new(Ios15, &[LS])],
        flags: Flags::PURE.and(Flags::FOLDABLE),
        infer: |a| list(a).map(|_| vec![Type::scalar(DType::Int32)]),
    },
    OpSchema {
        kind: OpKind::ListWrite,
        summary: "The list with `value` at `index`.",
        versions: &[OpVersion::new(Ios15, &[LS, index("index"), VALUE])],
        flags: Flags::PURE,
        infer: list_write,
    },
    OpSchema {
        kind: OpKind::ListRead,
        summary: "The element at `index`.",
        versions: &[OpVersion::new(Ios15, &[LS, index("index")])],
        flags: Flags::PURE,
        infer: |a| list(a).map(|(elem, _)| vec![elem.clone()]),
    },
    OpSchema {
        kind: OpKind::ListGather,
        summary: "The elements at `indices`, stacked along a new outermost axis.",
        versions: &[OpVersion::new(Ios15, &[LS, index("indices")])],
        flags: Flags::PURE,
        infer: list_gather,
    },
    OpSchema {
        kind: OpKind::ListScatter,
        summary: "The list with the slices of `value` along its outermost axis at `indices`.",
        versions: &[OpVersion::new(Ios15, &[LS, index("indices"), VALUE])],
        flags: Flags::PURE,
        infer: list_scatter,
    },
];

type Inferred<T> = Result<T, InferError>;

/// Element type and length of `ls`.
fn list<'a>(args: &OpArgs<'a>) -> Inferred<(&'a Type, Option<u64>)> {
    match args.ty("ls").ok_or(InferError::Missing("ls"))? {
        Type::List(elem, length) => Ok((elem, *length)),
        other => Err(InferError::bad("ls", format!("is {other}, not a list"))),
    }
}

fn make_list(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let dtype = string_or(args, "dtype", "fp32")?;
    let dtype: DType = dtype.parse().map_err(|_| InferError::bad("dtype", format!("is `{dtype}`")))?;
    let extents: Vec<Option<&Const>> = match args.all("elem_shape") {
        [] => vec![Some(args.value("elem_shape").ok_or(InferError::Missing("elem_shape"))?)],
        given => given.iter().map(|a| a.value).collect(),
    };
    let mut shape = Vec::new();
    for extent in extents {
        let extent = extent.ok_or(InferError::NotConstant("elem_shape"))?;
        match (extent, extent.as_i64s()) {
            (_, Some(ns)) => {
                let dim = |n: i64| u64::try_from(n).map(Dim::Known);
                let dims = ns.into_iter().map(dim).collect::<Result<Vec<_>, _>>();
                shape.extend(dims.map_err(|_| InferError::bad("elem_shape", "has a negative extent"))?);
            }
            (Const::Strings(_, names), None) => shape.extend(names.iter().map(|n| Dim::symbol(n))),
            _ => return Err(InferError::bad("elem_shape", "must be integers or names of symbols")),
        }
    }
    // How long a list is shows in its type only when it stays that long.
    let fixed = !bool_or(args, "dynamic_length", true)?;
    let length = match args.value("init_length") {
        _ if !fixed => None,
        Some(_) => Some(int(args, "init_length")?),
        None if args.is_given("init_length") => None,
        None => Some(1),
    };
    let length = length.map(|n| u64::try_from(n).map_err(|_| InferError::bad("init_length", "is negative")));
    Ok(vec![Type::List(Box::new(Type::tensor(dtype, shape)), length.transpose()?)])
}

fn written(args: &OpArgs<'_>, value: &Type) -> Inferred<Vec<Type>> {
    let (elem, length) = list(args)?;
    if elem.compatible(value) {
        Ok(vec![Type::List(Box::new(elem.clone()), length)])
    } else {
        Err(InferError::Mismatch(format!("a list of {elem} does not take {value}")))
    }
}

fn list_write(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    tensor(args, "index")?;
    written(args, args.ty("value").ok_or(InferError::Missing("value"))?)
}

/// The number of `indices`.
fn count(args: &OpArgs<'_>) -> Inferred<Dim> {
    let first = tensor(args, "indices")?.shape.first().cloned();
    first.ok_or_else(|| InferError::bad("indices", "must be of rank 1"))
}

fn list_gather(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (elem, _) = list(args)?;
    let elem = elem.as_tensor().ok_or_else(|| InferError::bad("ls", format!("holds {elem}, no tensors")))?;
    one(elem.dtype, std::iter::once(count(args)?).chain(elem.shape.iter().cloned()).collect())
}

fn list_scatter(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let value = tensor(args, "value")?;
    let (first, rest) = value.shape.split_first().ok_or_else(|| InferError::bad("value", "is a scalar"))?;
    let count = count(args)?;
    if !first.compatible(&count) {
        return Err(InferError::Mismatch(format!("there are {first} values and {count} indices")));
    }
    written(args, &Type::tensor(value.dtype, rest.iter().cloned().collect::<Shape>()))
}
