//! Products of matrices: `linear`, `matmul`, `einsum`.

use coremill_tensor::{DType, Dim, Shape};

use super::common::{FOLD, NUMBERS, bool_or, bool_spec, broadcast, given_if, one, string, string_spec, tensor};
use crate::Opset::{self, Ios15, Ios17};
use crate::schema::{Default, Domain, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const fn linear_inputs(letter: char) -> [InputSpec; 3] {
    let zeros = Default::Computed("zeros, one per row of `weight`, of the type of `weight`");
    [
        InputSpec::same("x", 'T', NUMBERS),
        InputSpec::same("weight", letter, NUMBERS).constant(),
        InputSpec::same("bias", letter, NUMBERS).constant().default(zeros),
    ]
}

const fn matmul_inputs(letter: char) -> [InputSpec; 4] {
    [
        InputSpec::same("x", 'T', NUMBERS),
        InputSpec::same("y", letter, NUMBERS),
        bool_spec("transpose_x", false),
        bool_spec("transpose_y", false),
    ]
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Linear,
        summary: "Fully connected layer: `x * transpose(weight) + bias`.",
        versions: &[OpVersion::new(Ios15, &linear_inputs('T')), OpVersion::new(Ios17, &linear_inputs('U'))],
        flags: FOLD,
        infer: linear,
    },
    OpSchema {
        kind: OpKind::Matmul,
        summary: "Matrix product of the two innermost dimensions; the outer ones broadcast.",
        versions: &[OpVersion::new(Ios15, &matmul_inputs('T')), OpVersion::new(Ios17, &matmul_inputs('U'))],
        flags: FOLD,
        infer: matmul,
    },
    OpSchema {
        kind: OpKind::Einsum,
        summary: "Product of two tensors over the first's last and the second's third-last dimension \
                  (`nchw,nwhu->nchu` or `chw,whr->chr`).",
        versions: &[OpVersion::new(Ios15, &[InputSpec::of("values", Domain::Any).variadic(), string_spec("equation")])],
        flags: FOLD,
        infer: einsum,
    },
];

fn linear(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, weight) = (tensor(args, "x")?, tensor(args, "weight")?);
    let [rows, columns] = &weight.shape[..] else {
        return Err(InferError::bad("weight", format!("is of rank {}, not 2", weight.rank())));
    };
    let mut shape = x.shape.clone();
    let Some(last) = shape.dims_mut().last_mut() else {
        return Err(InferError::bad("x", "is a scalar; it needs a dimension"));
    };
    if !last.compatible(columns) {
        return Err(InferError::Mismatch(format!("`x` has {last} features, `weight` is for {columns}")));
    }
    *last = rows.clone();
    if let Some(bias) = given_if(args, "bias")? {
        match &bias.shape[..] {
            [n] if n.compatible(rows) => {}
            _ => return Err(InferError::bad("bias", format!("is of shape {}, not [{rows}]", bias.shape))),
        }
    }
    one(x.dtype, shape)
}

/// The matrix form of an operand: outer extents, rows, columns.
fn matrix<'s>(shape: &'s Shape, name: &'static str, transposed: bool) -> Result<(&'s [Dim], Dim, Dim), InferError> {
    match &shape[..] {
        [outer @ .., rows, columns] if transposed => Ok((outer, columns.clone(), rows.clone())),
        [outer @ .., rows, columns] => Ok((outer, rows.clone(), columns.clone())),
        [_] if transposed => Err(InferError::bad(name, "has rank 1 and cannot be transposed")),
        [n] if name == "x" => Ok((&[], Dim::Known(1), n.clone())),
        _ => Err(InferError::bad(name, format!("is of rank {}; it must be a matrix", shape.rank()))),
    }
}

/// The result of a vector `x` loses the row that the vector was; the peer drops the outermost extent instead, which
/// is the same only for a `y` of rank 2.
fn matmul(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, y) = (tensor(args, "x")?, tensor(args, "y")?);
    let (x_outer, rows, inner) = matrix(&x.shape, "x", bool_or(args, "transpose_x", false)?)?;
    let (y_outer, y_inner, columns) = matrix(&y.shape, "y", bool_or(args, "transpose_y", false)?)?;
    if !inner.compatible(&y_inner) {
        return Err(InferError::Mismatch(format!(
            "{} and {} do not multiply: {inner} against {y_inner}",
            x.shape, y.shape
        )));
    }
    let mut shape = broadcast(&x_outer.iter().cloned().collect(), &y_outer.iter().cloned().collect())?;
    if x.rank() > 1 {
        shape.push(rows);
    }
    shape.push(columns);
    one(matmul_dtype(args, x.dtype, y.dtype)?, shape)
}

/// From ios17 a constant operand may be of another type; the result is of the type of the operand that varies.
fn matmul_dtype(args: &OpArgs<'_>, x: DType, y: DType) -> Result<DType, InferError> {
    let constant = |name| args.get(name).is_some_and(|a| a.value.is_some());
    match (constant("x"), constant("y")) {
        _ if x == y => Ok(x),
        (false, true) if args.opset >= Opset::Ios17 => Ok(x),
        (true, false) if args.opset >= Opset::Ios17 => Ok(y),
        _ => Err(InferError::bad("y", format!("is of {y} and `x` of {x}; they must be alike"))),
    }
}

/// The equation as letters numbered in order of appearance.
fn letters(equation: &str) -> Option<[Vec<usize>; 3]> {
    let (inputs, output) = equation.split_once("->")?;
    let (x, y) = inputs.split_once(',')?;
    let mut seen: Vec<char> = Vec::new();
    Some([x, y, output].map(|s| {
        s.chars()
            .map(|c| {
                seen.iter().position(|&k| k == c).unwrap_or_else(|| {
                    seen.push(c);
                    seen.len() - 1
                })
            })
            .collect()
    }))
}

fn einsum(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let [x, y] = args.all("values") else {
        return Err(InferError::bad("values", format!("has {} tensors, not 2", args.all("values").len())));
    };
    let (Some(x), Some(y)) = (x.ty.as_tensor(), y.ty.as_tensor()) else {
        return Err(InferError::bad("values", "must be tensors of known rank"));
    };
    if x.dtype != y.dtype {
        return Err(InferError::bad("values", format!("are of {} and {}; they must be alike", x.dtype, y.dtype)));
    }
    let equation = string(args, "equation")?;
    let (rank, [lx, ly, lo]) = match letters(equation) {
        Some(l) if l == [vec![0, 1, 2, 3], vec![0, 3, 2, 4], vec![0, 1, 2, 4]] => (4, l),
        Some(l) if l == [vec![0, 1, 2], vec![2, 1, 3], vec![0, 1, 3]] => (3, l),
        _ => return Err(InferError::bad("equation", format!("is `{equation}`, which is none that ML Programs have"))),
    };
    if x.rank() != rank || y.rank() != rank {
        return Err(InferError::Mismatch(format!("`{equation}` takes rank {rank}; got {} and {}", x.shape, y.shape)));
    }
    let extent = |shape: &Shape, spelled: &[usize], letter: usize| {
        spelled.iter().position(|&l| l == letter).map(|at| shape[at].clone())
    };
    let mut shape = Shape::scalar();
    for letter in 0..=rank {
        let reduced = !lo.contains(&letter);
        let dim = match (extent(&x.shape, &lx, letter), extent(&y.shape, &ly, letter)) {
            (Some(a), Some(b)) if reduced && !a.compatible(&b) => None,
            (Some(a), Some(b)) => batch_extent(a, b),
            (a, b) => a.or(b),
        };
        let Some(dim) = dim else {
            return Err(InferError::Mismatch(format!("{} and {} do not fit `{equation}`", x.shape, y.shape)));
        };
        if !reduced {
            shape.push(dim);
        }
    }
    one(x.dtype, shape)
}

/// An extent that both operands have: 1 stretches, a symbol stays.
fn batch_extent(a: Dim, b: Dim) -> Option<Dim> {
    match (a, b) {
        (Dim::Known(1), d) | (d, Dim::Known(1)) => Some(d),
        (Dim::Known(x), Dim::Known(y)) if x == y => Some(Dim::Known(x)),
        (Dim::Known(_), Dim::Known(_)) => None,
        (Dim::Known(_), s) | (s, _) => Some(s),
    }
}
