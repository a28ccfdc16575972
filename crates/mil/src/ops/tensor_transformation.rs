//! Ops that rearrange the elements of a tensor.

use coremill_tensor::{DType, Dim, Shape, SymExpr};

use super::common::{BOOL, FLOATS, FOLD, INT32, axis, given, int, int_or, int_spec, ints, ints_if, one, tensor};
use crate::Opset::{Ios15, Ios16, Ios17, Ios18};
use crate::schema::{Default, Domain, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

use DType::{Bool, Fp16, Fp32, Int8, Int16, Int32, UInt8, UInt16};

/// What these ops move before ios17.
pub(super) const MOVED: &[DType] = &[Fp16, Fp32, Int32, Bool];
/// What these ops move from ios17 on.
pub(super) const MOVED_17: &[DType] = &[Fp16, Fp32, Int8, Int16, Int32, UInt8, UInt16, Bool];
/// Integers that indices come in from ios17 on.
pub(super) const INDEX_17: &[DType] = &[Int8, Int16, Int32];

const MOVES: Flags = FOLD.and(Flags::DATA_MOVEMENT);
const RUNTIME: Flags = Flags::PURE.and(Flags::DATA_MOVEMENT);

const X: InputSpec = InputSpec::same("x", 'T', MOVED);
const X_17: InputSpec = InputSpec::same("x", 'T', MOVED_17);
const X_FLOAT: InputSpec = InputSpec::same("x", 'T', FLOATS);

/// A tensor of integers that an op of either opset family takes as `letter`.
const fn index_17(name: &'static str) -> InputSpec {
    InputSpec::same(name, 'U', INDEX_17)
}

const fn index(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, INT32)
}

const fn mask(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, BOOL).constant().optional()
}

/// Versions of an op that takes `x` and the same other inputs in every opset.
macro_rules! with_x {
    ($($other:expr),*) => {
        &[OpVersion::new(Ios15, &[X, $($other),*]), OpVersion::new(Ios17, &[X_17, $($other),*])]
    };
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::DepthToSpace,
        summary: "Moves blocks of channels into space: `[n, c*b*b, h, w]` to `[n, c, h*b, w*b]`.",
        versions: &[OpVersion::new(Ios15, &[X_FLOAT, int_spec("block_size")])],
        flags: RUNTIME,
        infer: |a| from_depth(a, "block_size"),
    },
    OpSchema {
        kind: OpKind::SpaceToDepth,
        summary: "Moves blocks of space into channels: `[n, c, h, w]` to `[n, c*b*b, h/b, w/b]`.",
        versions: &[OpVersion::new(Ios15, &[X_FLOAT, int_spec("block_size")])],
        flags: RUNTIME,
        infer: |a| to_depth(a, "block_size"),
    },
    OpSchema {
        kind: OpKind::PixelShuffle,
        summary: "Moves groups of channels into space: `[n, c*f*f, h, w]` to `[n, c, h*f, w*f]`.",
        versions: &[OpVersion::new(Ios15, &[X_FLOAT, int_spec("upscale_factor")])],
        flags: RUNTIME,
        infer: |a| from_depth(a, "upscale_factor"),
    },
    OpSchema {
        kind: OpKind::PixelUnshuffle,
        summary: "Moves space into groups of channels: `[n, c, h, w]` to `[n, c*f*f, h/f, w/f]`.",
        versions: &[OpVersion::new(
            Ios16,
            &[X_FLOAT, InputSpec::tensor("downscale_factor", &[DType::UInt32]).constant()],
        )],
        flags: RUNTIME,
        infer: |a| to_depth(a, "downscale_factor"),
    },
    OpSchema {
        kind: OpKind::ExpandDims,
        summary: "Inserts axes of extent 1 at the places they have in the result.",
        versions: with_x!(int_spec("axes")),
        flags: MOVES,
        infer: expand_dims,
    },
    OpSchema {
        kind: OpKind::Squeeze,
        summary: "Removes axes of extent 1, those of `axes` or all.",
        versions: with_x!(int_spec("axes").optional()),
        flags: MOVES,
        infer: squeeze,
    },
    OpSchema {
        kind: OpKind::Reshape,
        summary: "The elements in order under another shape; one -1 takes what is left, a 0 copies an extent.",
        versions: &[OpVersion::new(Ios15, &[X, index("shape")]), OpVersion::new(Ios17, &[X_17, index_17("shape")])],
        flags: MOVES,
        infer: reshape,
    },
    OpSchema {
        kind: OpKind::ReshapeLike,
        summary: "The elements in order under a shape put together from ranges of extents of other tensors.",
        versions: &[
            OpVersion::new(Ios16, &[X, REFS, list("begins"), list("ends"), list("end_masks")]),
            OpVersion::new(Ios17, &[X_17, REFS, list("begins"), list("ends"), list("end_masks")]),
        ],
        flags: RUNTIME,
        infer: reshape_like,
    },
    OpSchema {
        kind: OpKind::Reverse,
        summary: "Reverses the order along `axes`, or along all.",
        versions: with_x!(int_spec("axes").optional()),
        flags: MOVES,
        infer: |a| given(a, "x").map(|t| vec![Type::Tensor(t)]),
    },
    OpSchema {
        kind: OpKind::ReverseSequence,
        summary: "Reverses the first `lengths[i]` elements along `seq_axis` of batch `i`.",
        versions: &[
            OpVersion::new(Ios15, &[X, index("lengths"), SEQ_AXIS, BATCH_AXIS]),
            OpVersion::new(Ios17, &[X_17, index_17("lengths"), SEQ_AXIS, BATCH_AXIS]),
        ],
        flags: MOVES,
        infer: |a| given(a, "x").map(|t| vec![Type::Tensor(t)]),
    },
    OpSchema {
        kind: OpKind::SliceByIndex,
        summary: "`x[begin:end:stride]` on each axis; masks stand for a whole side, or drop an axis.",
        versions: SLICES,
        flags: MOVES,
        infer: slice_by_index,
    },
    OpSchema {
        kind: OpKind::SliceUpdate,
        summary: "`x` with `x[begin:end:stride]` replaced by `update`.",
        versions: &[OpVersion::new(
            Ios18,
            &[
                X_17,
                InputSpec::same("update", 'T', MOVED_17),
                index_17("begin"),
                index_17("end"),
                index_17("stride").constant().optional(),
                mask("begin_mask"),
                mask("end_mask"),
                mask("squeeze_mask"),
            ],
        )],
        flags: MOVES,
        infer: |a| given(a, "x").map(|t| vec![Type::Tensor(t)]),
    },
    OpSchema {
        kind: OpKind::SliceBySize,
        summary: "`x[begin:begin+size]` on each axis; a size of -1 goes to the end.",
        versions: &[
            OpVersion::new(Ios15, &[X, index("begin"), index("size")]),
            OpVersion::new(Ios17, &[X_17, index_17("begin"), index_17("size")]),
        ],
        flags: MOVES,
        infer: slice_by_size,
    },
    OpSchema {
        kind: OpKind::SlidingWindows,
        summary: "Windows of `size` along `axis`, every `stride`: the axis becomes two.",
        versions: &[
            OpVersion::new(
                Ios15,
                &[InputSpec::same("x", 'T', super::common::NUMBERS), int_spec("axis"), int_spec("size"), STRIDE],
            ),
            OpVersion::new(Ios17, &[X_17, int_spec("axis"), int_spec("size"), STRIDE]),
        ],
        flags: RUNTIME,
        infer: sliding_windows,
    },
    OpSchema {
        kind: OpKind::SpaceToBatch,
        summary: "Pads two axes of space and moves blocks of them into the batch.",
        versions: &[OpVersion::new(Ios15, &[X_FLOAT, int_spec("block_shape"), int_spec("paddings")])],
        flags: RUNTIME,
        infer: space_to_batch,
    },
    OpSchema {
        kind: OpKind::BatchToSpace,
        summary: "Moves blocks of the batch into two axes of space and crops them.",
        versions: &[OpVersion::new(Ios15, &[X_FLOAT, int_spec("block_shape"), int_spec("crops")])],
        flags: RUNTIME,
        infer: batch_to_space,
    },
    OpSchema {
        kind: OpKind::Transpose,
        summary: "The axes in another order: axis `i` of the result is axis `perm[i]` of `x`.",
        versions: with_x!(int_spec("perm")),
        flags: MOVES,
        infer: transpose,
    },
];

const SEQ_AXIS: InputSpec = int_spec("seq_axis").default(Default::Int(0));
const BATCH_AXIS: InputSpec = int_spec("batch_axis").default(Default::Int(0));
const STRIDE: InputSpec = int_spec("stride").default(Default::Int(1));
const REFS: InputSpec = InputSpec::of("ref_tensors", Domain::Any).variadic();

const fn list(name: &'static str) -> InputSpec {
    InputSpec::of(name, Domain::Any).variadic()
}

const SLICES: &[OpVersion] = &[
    OpVersion::new(
        Ios15,
        &[
            X,
            index("begin"),
            index("end"),
            index("stride").constant().optional(),
            mask("begin_mask"),
            mask("end_mask"),
            mask("squeeze_mask"),
        ],
    ),
    OpVersion::new(
        Ios17,
        &[
            X_17,
            index_17("begin"),
            index_17("end"),
            index_17("stride").constant().optional(),
            mask("begin_mask"),
            mask("end_mask"),
            mask("squeeze_mask"),
        ],
    ),
];

type Inferred = Result<Vec<Type>, InferError>;

/// An extent times a number.
fn times(d: &Dim, n: u64) -> Dim {
    d.mul(&Dim::Known(n))
}

/// An extent over a number.
fn over(d: &Dim, n: u64) -> Dim {
    match d {
        Dim::Known(d) => d.checked_div(n).map_or(Dim::Unknown, Dim::Known),
        _ => d.combine(&Dim::Known(n), SymExpr::floor_div),
    }
}

fn positive(args: &OpArgs<'_>, name: &'static str) -> Result<u64, InferError> {
    u64::try_from(int(args, name)?)
        .ok()
        .filter(|&n| n > 0 && n < 1 << 31)
        .ok_or_else(|| InferError::bad(name, "must be positive"))
}

fn four<'a>(args: &OpArgs<'a>) -> Result<(DType, [&'a Dim; 4]), InferError> {
    let x = tensor(args, "x")?;
    match &x.shape[..] {
        [n, c, h, w] => Ok((x.dtype, [n, c, h, w])),
        _ => Err(InferError::bad("x", format!("must be of rank 4 and is of shape {}", x.shape))),
    }
}

fn from_depth(args: &OpArgs<'_>, factor: &'static str) -> Inferred {
    let b = positive(args, factor)?;
    let (dtype, [n, c, h, w]) = four(args)?;
    if c.known().is_some_and(|c| c % (b * b) != 0) {
        return Err(InferError::bad("x", format!("has {c} channels, which {} does not divide", b * b)));
    }
    one(dtype, vec![n.clone(), over(c, b * b), times(h, b), times(w, b)].into())
}

fn to_depth(args: &OpArgs<'_>, factor: &'static str) -> Inferred {
    let b = positive(args, factor)?;
    let (dtype, [n, c, h, w]) = four(args)?;
    if [h, w].iter().any(|d| d.known().is_some_and(|d| d % b != 0)) {
        return Err(InferError::bad("x", format!("has extents {h} and {w}, which {b} does not divide")));
    }
    one(dtype, vec![n.clone(), times(c, b * b), over(h, b), over(w, b)].into())
}

fn expand_dims(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let axes = ints(args, "axes")?;
    let rank = x.rank() + axes.len();
    let mut places = Vec::with_capacity(axes.len());
    for &a in &axes {
        let place = if a < 0 { a.saturating_add(rank as i64) } else { a };
        match usize::try_from(place).ok().filter(|p| *p < rank && !places.contains(p)) {
            Some(p) => places.push(p),
            None => return Err(InferError::bad("axes", format!("are {axes:?}, not distinct axes of rank {rank}"))),
        }
    }
    let mut old = x.shape.iter();
    let dim = |i| if places.contains(&i) { Dim::Known(1) } else { old.next().cloned().unwrap_or(Dim::Unknown) };
    one(x.dtype, (0..rank).map(dim).collect())
}

fn squeeze(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let gone: Vec<usize> = match ints_if(args, "axes")? {
        Some(axes) => axes.iter().map(|&a| axis(&x.shape, a, "axes")).collect::<Result<_, _>>()?,
        None => (0..x.rank()).filter(|&i| x.shape[i].known() == Some(1)).collect(),
    };
    if let Some(&i) = gone.iter().find(|&&i| x.shape[i].known().is_some_and(|n| n != 1)) {
        return Err(InferError::bad("axes", format!("name axis {i}, whose extent is {}", x.shape[i])));
    }
    let kept = x.shape.iter().enumerate().filter(|(i, _)| !gone.contains(i));
    one(x.dtype, kept.map(|(_, d)| d.clone()).collect())
}

fn reshape(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let Some(wanted) = args.value("shape") else {
        if let Some(dims) = args.get("shape").and_then(|a| a.extents()).filter(|d| !d.contains(&Dim::Known(0))) {
            return one(x.dtype, dims.into());
        }
        // Computed: the number of extents is all that is known, if that.
        let shape = tensor(args, "shape")?;
        return match shape.shape.first().map(Dim::known) {
            Some(Some(rank)) if rank <= 64 => one(x.dtype, (0..rank).map(|_| Dim::Unknown).collect()),
            _ => Ok(vec![Type::Unranked(x.dtype)]),
        };
    };
    let wanted = wanted.as_i64s().ok_or_else(|| InferError::bad("shape", "must be integers"))?;
    resolve_shape(&x.shape, &wanted).map(|shape| vec![Type::tensor(x.dtype, shape)])
}

/// The shape that `wanted` stands for, with its -1 and zeros.
fn resolve_shape(from: &Shape, wanted: &[i64]) -> Result<Shape, InferError> {
    let copied = |(i, &n): (usize, &i64)| match n {
        0 if from.elements() != Some(0) => {
            let same_rank = from.rank() == wanted.len();
            let dim = from.get(i).filter(|_| same_rank).cloned().map(Some);
            dim.ok_or_else(|| InferError::bad("shape", "has a 0 and another rank than `x`"))
        }
        -1 => Ok(None),
        n => match u64::try_from(n) {
            Ok(n) => Ok(Some(Dim::Known(n))),
            Err(_) => Err(InferError::bad("shape", format!("has the extent {n}"))),
        },
    };
    let dims = wanted.iter().enumerate().map(copied).collect::<Result<Vec<Option<Dim>>, _>>()?;
    if dims.iter().filter(|d| d.is_none()).count() > 1 {
        return Err(InferError::bad("shape", "has more than one -1"));
    }
    let have = from.element_dim();
    let product = dims.iter().flatten().fold(Dim::Known(1), |n, d| n.mul(d));
    let mismatch = || InferError::Mismatch(format!("{from} has another number of elements than {wanted:?}"));
    let rest = match (&have, &product) {
        (Dim::Known(_), Dim::Known(0)) => Dim::Known(0),
        (Dim::Known(h), Dim::Known(p)) if h % p == 0 => Dim::Known(h / p),
        (Dim::Known(_), Dim::Known(_)) => return Err(mismatch()),
        _ => have.combine(&product, SymExpr::floor_div),
    };
    if dims.iter().all(Option::is_some) && have.same(&product) == Some(false) {
        return Err(mismatch());
    }
    Ok(dims.into_iter().map(|d| d.unwrap_or_else(|| rest.clone())).collect())
}

fn reshape_like(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let number = |name: &'static str, i: usize| {
        let value =
            args.all(name).get(i).ok_or(InferError::Missing(name))?.value.ok_or(InferError::NotConstant(name))?;
        value.as_i64().ok_or_else(|| InferError::bad(name, "must be one integer each"))
    };
    let mut dims = Vec::new();
    for (i, r) in args.all("ref_tensors").iter().enumerate() {
        let shape = r.ty.shape().ok_or_else(|| InferError::bad("ref_tensors", "must be tensors of known rank"))?;
        let rank = shape.rank() as i64;
        let place = |n: i64| usize::try_from(if n < 0 { n.saturating_add(rank) } else { n }).unwrap_or(usize::MAX);
        let begin = place(number("begins", i)?);
        let end = if number("end_masks", i)? != 0 { shape.rank() } else { place(number("ends", i)?) };
        let range = shape.get(begin..end).ok_or_else(|| InferError::bad("ends", "are outside the rank"))?;
        dims.extend(range.iter().cloned());
    }
    let shape = Shape::from(dims);
    if shape.element_dim().same(&x.shape.element_dim()) == Some(false) {
        return Err(InferError::Mismatch(format!("{} has another number of elements than {shape}", x.shape)));
    }
    one(x.dtype, shape)
}

fn slice_by_index(args: &OpArgs<'_>) -> Inferred {
    one(tensor(args, "x")?.dtype, sliced_shape(args)?)
}

/// The shape of `x[begin:end:stride]` with its masks.
pub(super) fn sliced_shape(args: &OpArgs<'_>) -> Result<Shape, InferError> {
    let x = tensor(args, "x")?;
    let rank = x.rank();
    let squeeze = flags(args, "squeeze_mask", rank)?;
    let (begin_mask, end_mask) = (flags(args, "begin_mask", rank)?, flags(args, "end_mask", rank)?);
    let stride = ints_if(args, "stride")?.unwrap_or_else(|| vec![1; rank]);
    let known = |name: &'static str| args.value(name).and_then(|c| c.as_i64s());
    let (begin, end) = (known("begin"), known("end"));
    tensor(args, "begin")?;
    tensor(args, "end")?;
    for v in [&begin, &end].into_iter().flatten().chain([&stride]) {
        if v.len() != rank {
            return Err(InferError::bad("begin", format!("names {} axes of {rank}", v.len())));
        }
    }
    let mut dims = Vec::new();
    for (i, extent) in x.shape.iter().enumerate() {
        if squeeze[i] {
            continue;
        }
        let at = |v: &Option<Vec<i64>>| v.as_ref().map(|v| v[i]);
        let from = if begin_mask[i] { Some(None) } else { at(&begin).map(Some) };
        let to = if end_mask[i] { Some(None) } else { at(&end).map(Some) };
        dims.push(match (from, to) {
            (Some(from), Some(to)) => sliced(extent, from, to, stride[i])?,
            _ => Dim::Unknown,
        });
    }
    Ok(dims.into())
}

/// Booleans of an optional mask.
fn flags(args: &OpArgs<'_>, name: &'static str, rank: usize) -> Result<Vec<bool>, InferError> {
    let mask = ints_if(args, name)?.map_or_else(|| vec![false; rank], |v| v.iter().map(|&b| b != 0).collect());
    if mask.len() == rank {
        Ok(mask)
    } else {
        Err(InferError::bad(name, format!("names {} axes of {rank}", mask.len())))
    }
}

/// The extent of `from..to` by `step`; `None` stands for the whole way on that side.
fn sliced(extent: &Dim, from: Option<i64>, to: Option<i64>, step: i64) -> Result<Dim, InferError> {
    if step == 0 {
        return Err(InferError::bad("stride", "is 0"));
    }
    // What has no elements or one has them whatever the extent.
    match (from, to) {
        (Some(a), Some(b)) if (a < 0) == (b < 0) && (a < 0) == (step < 0) => {
            let span = if step > 0 { b.saturating_sub(a) } else { a.saturating_sub(b) };
            let span = u64::try_from(span).map_err(|_| {
                InferError::bad("end", format!("is {b}, which a step of {step} does not reach from {a}"))
            })?;
            let count = span.div_ceil(step.unsigned_abs());
            if count <= 1 {
                return Ok(Dim::Known(count));
            }
        }
        (Some(0), None) if step < 0 => return Ok(Dim::Known(1)),
        (Some(-1), None) if step > 0 => return Ok(Dim::Known(1)),
        _ => {}
    }
    let Some(n) = extent.known().and_then(|n| i64::try_from(n).ok()) else {
        return Ok(match (from, to, step) {
            (None, None, -1) | (None | Some(0), None, 1) => extent.clone(),
            (None | Some(0), Some(to), 1) if to < 0 => shifted(extent, to),
            (Some(from), None, 1) if from > 0 => shifted(extent, -from),
            _ => Dim::Unknown,
        });
    };
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let clamp = |i: i64| (if i < 0 { i.saturating_add(n) } else { i }).clamp(low, high);
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (from, to) = (from.map_or(first, clamp), to.map_or(last, clamp));
    let span = if step > 0 { to - from } else { from - to };
    Ok(Dim::Known(u64::try_from(span).unwrap_or(0).div_ceil(step.unsigned_abs())))
}

fn shifted(extent: &Dim, by: i64) -> Dim {
    extent.to_expr().and_then(|e| e.add(&SymExpr::constant(by))).map_or(Dim::Unknown, Dim::from_expr)
}

fn slice_by_size(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let known = |name: &'static str| args.value(name).and_then(|c| c.as_i64s());
    let (begin, size) = (known("begin"), known("size"));
    let Some(size) = size else {
        return one(x.dtype, x.shape.iter().map(|_| Dim::Unknown).collect());
    };
    if size.len() != x.rank() || begin.as_ref().is_some_and(|b| b.len() != x.rank()) {
        return Err(InferError::bad("size", format!("names {} axes of {}", size.len(), x.rank())));
    }
    let dim = |(i, &n): (usize, &i64)| match (n, begin.as_ref().map(|b| b[i])) {
        (-1, Some(b)) if b >= 0 => Ok(match x.shape[i].known() {
            Some(extent) => Dim::Known(extent.saturating_sub(b.unsigned_abs())),
            None => shifted(&x.shape[i], -b),
        }),
        (-1, _) => Ok(Dim::Unknown),
        (n, _) => u64::try_from(n).map(Dim::Known).map_err(|_| InferError::bad("size", format!("is {n}"))),
    };
    one(x.dtype, size.iter().enumerate().map(dim).collect::<Result<Shape, _>>()?)
}

fn sliding_windows(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let at = axis(&x.shape, int(args, "axis")?, "axis")?;
    let (size, stride) = (positive(args, "size")?, int_or(args, "stride", 1)?);
    let stride =
        u64::try_from(stride).ok().filter(|&s| s > 0).ok_or_else(|| InferError::bad("stride", "must be positive"))?;
    let mut shape = x.shape.clone();
    shape.dims_mut()[at] = match x.shape[at].known() {
        Some(n) => match n.checked_sub(size) {
            Some(rest) => Dim::Known(rest / stride + 1),
            None => return Err(InferError::bad("size", format!("is {size}, more than the extent {n}"))),
        },
        None => Dim::Unknown,
    };
    shape.insert(at + 1, Dim::Known(size));
    one(x.dtype, shape)
}

/// Two numbers, or two pairs of them, all at least zero.
fn naturals<const N: usize>(args: &OpArgs<'_>, name: &'static str) -> Result<[u64; N], InferError> {
    let v = ints(args, name)?;
    let v: Option<Vec<u64>> = v.iter().map(|&n| u64::try_from(n).ok().filter(|&n| n < 1 << 31)).collect();
    v.and_then(|v| v.try_into().ok())
        .ok_or_else(|| InferError::bad(name, format!("must be {N} numbers of at least zero")))
}

fn space_to_batch(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let [b0, b1] = naturals(args, "block_shape")?;
    let [t, b, l, r] = naturals(args, "paddings")?;
    let [n, c, h, w] = &x.shape[..] else { return Err(InferError::bad("x", "must be of rank 4")) };
    if b0 == 0 || b1 == 0 {
        return Err(InferError::bad("block_shape", "must be positive"));
    }
    let padded = |d: &Dim, p: u64, block: u64| over(&d.add(&Dim::Known(p)), block);
    one(x.dtype, vec![times(n, b0 * b1), c.clone(), padded(h, t + b, b0), padded(w, l + r, b1)].into())
}

fn batch_to_space(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let [b0, b1] = naturals(args, "block_shape")?;
    let [t, b, l, r] = naturals(args, "crops")?;
    let [n, c, h, w] = &x.shape[..] else { return Err(InferError::bad("x", "must be of rank 4")) };
    if b0 == 0 || b1 == 0 {
        return Err(InferError::bad("block_shape", "must be positive"));
    }
    if n.known().is_some_and(|n| n % (b0 * b1) != 0) {
        return Err(InferError::bad("x", format!("has a batch of {n}, which {} does not divide", b0 * b1)));
    }
    let cropped = |d: &Dim, block: u64, crop: u64| match times(d, block) {
        Dim::Known(n) => {
            n.checked_sub(crop).map(Dim::Known).ok_or_else(|| InferError::bad("crops", "take more than there is"))
        }
        other => Ok(shifted(&other, -(crop as i64))),
    };
    one(x.dtype, vec![over(n, b0 * b1), c.clone(), cropped(h, b0, t + b)?, cropped(w, b1, l + r)?].into())
}

fn transpose(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let perm = ints(args, "perm")?;
    let mut seen = vec![false; x.rank()];
    let mut dims = Vec::with_capacity(x.rank());
    for &p in &perm {
        let at = axis(&x.shape, p, "perm")?;
        if std::mem::replace(&mut seen[at], true) {
            return Err(InferError::bad("perm", format!("names axis {at} twice")));
        }
        dims.push(x.shape[at].clone());
    }
    if dims.len() != x.rank() {
        return Err(InferError::bad("perm", format!("names {} axes of {}", dims.len(), x.rank())));
    }
    one(x.dtype, dims.into())
}
