//! Elements by index.

use coremill_tensor::{DType, Dim, Shape};

use super::common::{BOOL, FOLD, INT32, NUMBERS, axis, int_or, int_spec, one, string_spec, tensor};
use crate::Opset::{Ios15, Ios16, Ios17};
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

use DType::{Fp16, Fp32, Int8, Int16, Int32, UInt8, UInt16};

const DATA_17: &[DType] = &[Fp16, Fp32, Int32, Int16, UInt16, Int8, UInt8];
const INDEX_16: &[DType] = &[Int32, UInt16, Int16];
const INDEX_17: &[DType] = &[Int32, Int16, UInt16, Int8, UInt8];

const X: InputSpec = InputSpec::same("x", 'T', NUMBERS);
const X_17: InputSpec = InputSpec::same("x", 'T', DATA_17);
const INDICES: InputSpec = InputSpec::tensor("indices", INT32);
const INDICES_16: InputSpec = InputSpec::same("indices", 'I', INDEX_16);
const INDICES_17: InputSpec = InputSpec::same("indices", 'I', INDEX_17);
const AXIS: InputSpec = int_spec("axis").default(Default::Int(0));
const BATCH_DIMS: InputSpec = int_spec("batch_dims").default(Default::Int(0));
const VALIDATE: InputSpec = InputSpec::tensor("validate_indices", BOOL).constant().default(Default::Bool(false));
const INTO: InputSpec = InputSpec::same("data", 'T', NUMBERS);
const UPDATES: InputSpec = InputSpec::same("updates", 'T', NUMBERS);
const MODE: InputSpec = string_spec("mode").default(Default::Str("add"));

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Gather,
        summary: "Slices of `x` along `axis`, by index.",
        versions: &[
            OpVersion::new(Ios15, &[X, INDICES, AXIS]),
            OpVersion::new(Ios16, &[X, INDICES_16, AXIS, BATCH_DIMS]),
            OpVersion::new(Ios17, &[X_17, INDICES_17, AXIS, BATCH_DIMS, VALIDATE]),
        ],
        flags: FOLD,
        infer: gather,
    },
    OpSchema {
        kind: OpKind::GatherAlongAxis,
        summary: "The element at the same place but for `axis`, where `indices` says which.",
        versions: &[
            OpVersion::new(Ios15, &[X, INDICES, AXIS]),
            OpVersion::new(Ios16, &[X, INDICES_16, AXIS]),
            OpVersion::new(Ios17, &[X_17, INDICES_17, AXIS, VALIDATE]),
        ],
        flags: FOLD,
        infer: gather_along_axis,
    },
    OpSchema {
        kind: OpKind::GatherNd,
        summary: "Slices of `x` at the places that the innermost axis of `indices` spells out.",
        versions: &[
            OpVersion::new(Ios15, &[X, INDICES]),
            OpVersion::new(Ios16, &[X, INDICES_16, BATCH_DIMS]),
            OpVersion::new(Ios17, &[X_17, INDICES_17, BATCH_DIMS, VALIDATE]),
        ],
        flags: Flags::PURE,
        infer: gather_nd,
    },
    OpSchema {
        kind: OpKind::Scatter,
        summary: "`data` with slices along `axis` combined with `updates`, by index.",
        versions: &[
            OpVersion::new(Ios15, &[INTO, INDICES, UPDATES, AXIS, MODE]),
            OpVersion::new(Ios17, &[INTO, INDICES, UPDATES, AXIS, MODE, VALIDATE]),
        ],
        flags: Flags::PURE,
        infer: scatter,
    },
    OpSchema {
        kind: OpKind::ScatterAlongAxis,
        summary: "`data` with elements combined with `updates` at the same place but for `axis`.",
        versions: &[
            OpVersion::new(Ios15, &[INTO, INDICES, UPDATES, AXIS, MODE]),
            OpVersion::new(Ios17, &[INTO, INDICES, UPDATES, AXIS, MODE, VALIDATE]),
        ],
        flags: FOLD,
        infer: scatter_along_axis,
    },
    OpSchema {
        kind: OpKind::ScatterNd,
        summary: "`data` with slices combined with `updates` at places spelled out by `indices`.",
        versions: &[
            OpVersion::new(Ios15, &[INTO, INDICES, UPDATES, MODE]),
            OpVersion::new(Ios17, &[INTO, INDICES, UPDATES, MODE, VALIDATE]),
        ],
        flags: Flags::PURE,
        infer: scatter_nd,
    },
];

/// `data`, when `updates` are of the shape that they must be.
fn updated(args: &OpArgs<'_>, wanted: &Shape) -> Result<Vec<Type>, InferError> {
    let updates = tensor(args, "updates")?;
    if updates.rank() != wanted.rank() || !updates.shape.compatible(wanted) {
        let what = format!("are of shape {}; they must be of {wanted}", updates.shape);
        return Err(InferError::bad("updates", what));
    }
    tensor(args, "data").map(|t| vec![Type::Tensor(t.clone())])
}

fn scatter(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (data, indices) = (tensor(args, "data")?, tensor(args, "indices")?);
    let at = axis(&data.shape, int_or(args, "axis", 0)?, "axis")?;
    let dims = data.shape[..at].iter().chain(indices.shape.iter()).chain(&data.shape[at + 1..]);
    updated(args, &dims.cloned().collect())
}

fn scatter_along_axis(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (data, indices) = (tensor(args, "data")?, tensor(args, "indices")?);
    let at = axis(&data.shape, int_or(args, "axis", 0)?, "axis")?;
    let agrees = |(i, (a, b)): (usize, (&Dim, &Dim))| i == at || a.compatible(b);
    let mut pairs = data.shape.iter().zip(indices.shape.iter()).enumerate();
    if data.rank() != indices.rank() || !pairs.all(agrees) {
        let what = format!("`data` is of shape {} and `indices` of {}", data.shape, indices.shape);
        return Err(InferError::Mismatch(what));
    }
    updated(args, &indices.shape)
}

fn scatter_nd(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (data, indices) = (tensor(args, "data")?, tensor(args, "indices")?);
    updated(args, &spelled(data, indices, 0)?)
}

fn batch_dims(args: &OpArgs<'_>, most: usize) -> Result<usize, InferError> {
    let n = int_or(args, "batch_dims", 0)?;
    usize::try_from(n).ok().filter(|&n| n <= most).ok_or_else(|| InferError::bad("batch_dims", format!("is {n}")))
}

fn gather(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, indices) = (tensor(args, "x")?, tensor(args, "indices")?);
    let at = axis(&x.shape, int_or(args, "axis", 0)?, "axis")?;
    let batch = batch_dims(args, at.min(indices.rank()))?;
    let dims = x.shape[..at].iter().chain(&indices.shape[batch..]).chain(&x.shape[at + 1..]);
    one(x.dtype, dims.cloned().collect())
}

fn gather_along_axis(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, indices) = (tensor(args, "x")?, tensor(args, "indices")?);
    let at = axis(&x.shape, int_or(args, "axis", 0)?, "axis")?;
    if x.rank() != indices.rank() {
        return Err(InferError::Mismatch(format!("`x` is of shape {} and `indices` of {}", x.shape, indices.shape)));
    }
    let agrees = |(i, (a, b)): (usize, (&Dim, &Dim))| i == at || a.compatible(b);
    if !x.shape.iter().zip(indices.shape.iter()).enumerate().all(agrees) {
        return Err(InferError::Mismatch(format!("`x` is of shape {} and `indices` of {}", x.shape, indices.shape)));
    }
    one(x.dtype, indices.shape.clone())
}

fn gather_nd(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, indices) = (tensor(args, "x")?, tensor(args, "indices")?);
    let batch = batch_dims(args, x.rank().min(indices.rank()))?;
    one(x.dtype, spelled(x, indices, batch)?)
}

/// The shape of the slices of `x` at the places that the innermost axis of `indices` spells out.
fn spelled(x: &TensorType, indices: &TensorType, batch: usize) -> Result<Shape, InferError> {
    let Some((depth, places)) = indices.shape.split_last() else {
        return Err(InferError::bad("indices", "must have an axis that spells places out"));
    };
    let depth = depth.known().and_then(|d| usize::try_from(d).ok());
    let depth = depth.ok_or_else(|| InferError::bad("indices", "must have a known innermost extent"))?;
    let rest = x.shape.get(batch.saturating_add(depth)..);
    let rest = rest.ok_or_else(|| InferError::bad("indices", format!("spell out {depth} axes of {}", x.rank())))?;
    Ok(places.iter().chain(rest).cloned().collect())
}
