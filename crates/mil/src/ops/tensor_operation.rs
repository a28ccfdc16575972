//! Ops that make, join, cut, pad and order tensors.

use coremill_tensor::{DType, Dim, Shape, SymExpr};

use super::common::{FLOATS, FOLD, INT32, NUMBERS, STRING, axis, bool_or, bool_spec, int_or, int_spec, ints_if, one};
use super::common::{string_or, string_spec, tensor};
use super::tensor_transformation::{INDEX_17, MOVED};
use crate::Opset::{Ios15, Ios16, Ios17};
use crate::schema::{Default, Domain, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const X: InputSpec = InputSpec::same("x", 'T', MOVED);
const X_NUMBER: InputSpec = InputSpec::same("x", 'T', NUMBERS);
const VALUES: InputSpec = InputSpec::of("values", Domain::Any).variadic();
const SHAPE: InputSpec = InputSpec::tensor("shape", INT32);
const AXIS_LAST: InputSpec = int_spec("axis").default(Default::Int(-1));
const ASCENDING: InputSpec = bool_spec("ascending", false);
const K: InputSpec = int_spec("k").default(Default::Int(1));
const SORT: InputSpec = bool_spec("sort", true);
const RETURN_INDICES: InputSpec = bool_spec("return_indices", true);
const PER_CLASS: InputSpec = bool_spec("per_class_suppression", false);
const TOPK_17: &[DType] =
    &[DType::Fp16, DType::Fp32, DType::Int8, DType::Int16, DType::Int32, DType::UInt8, DType::UInt16];

const fn float(name: &'static str) -> InputSpec {
    InputSpec::same(name, 'T', FLOATS)
}

const fn bound(name: &'static str) -> InputSpec {
    InputSpec::same(name, 'T', NUMBERS)
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Argsort,
        summary: "Positions along `axis` in the order of their elements.",
        versions: &[OpVersion::new(Ios15, &[X_NUMBER, AXIS_LAST, ASCENDING])],
        flags: FOLD,
        infer: |a| tensor(a, "x").and_then(|x| one(DType::Int32, x.shape.clone())),
    },
    OpSchema {
        kind: OpKind::BandPart,
        summary: "The elements near the diagonal of the innermost matrices, zero elsewhere.",
        versions: &[OpVersion::new(
            Ios15,
            &[X, int_spec("lower").default(Default::Int(-1)), int_spec("upper").default(Default::Int(-1))],
        )],
        flags: FOLD,
        infer: like_x,
    },
    OpSchema {
        kind: OpKind::Concat,
        summary: "Tensors one after the other along `axis`.",
        versions: &[OpVersion::new(Ios15, &[VALUES, int_spec("axis"), bool_spec("interleave", false)])],
        flags: FOLD,
        infer: concat,
    },
    OpSchema {
        kind: OpKind::Cumsum,
        summary: "Running sums along `axis`.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                X_NUMBER,
                int_spec("axis").default(Default::Int(0)),
                bool_spec("exclusive", false),
                bool_spec("reverse", false),
            ],
        )],
        flags: FOLD,
        infer: |a| {
            axis(&tensor(a, "x")?.shape, int_or(a, "axis", 0)?, "axis")?;
            like_x(a)
        },
    },
    OpSchema {
        kind: OpKind::Fill,
        summary: "One value everywhere.",
        versions: &[OpVersion::new(
            Ios15,
            &[SHAPE, InputSpec::same("value", 'T', MOVED).constant().default(Default::Float(0.0))],
        )],
        flags: FOLD,
        infer: fill,
    },
    OpSchema {
        kind: OpKind::FillLike,
        summary: "One value everywhere, in the shape of another tensor.",
        versions: &[OpVersion::new(
            Ios16,
            &[
                InputSpec::same("ref_tensor", 'T', MOVED),
                InputSpec::same("value", 'U', MOVED).constant().default(Default::Float(0.0)),
            ],
        )],
        flags: FOLD,
        infer: |a| {
            let shape = tensor(a, "ref_tensor")?.shape.clone();
            one(a.ty("value").and_then(Type::dtype).unwrap_or(DType::Fp32), shape)
        },
    },
    OpSchema {
        kind: OpKind::Flatten2d,
        summary: "A matrix: the axes before `axis` merged, and the others merged.",
        versions: &[OpVersion::new(Ios15, &[X, int_spec("axis").default(Default::Int(1))])],
        flags: FOLD,
        infer: flatten2d,
    },
    OpSchema {
        kind: OpKind::Identity,
        summary: "The input.",
        versions: &[OpVersion::new(Ios15, &[InputSpec::of("x", Domain::Any)])],
        flags: FOLD,
        infer: |a| a.ty("x").map(|t| vec![t.clone()]).ok_or(InferError::Missing("x")),
    },
    OpSchema {
        kind: OpKind::NonMaximumSuppression,
        summary: "The boxes of the highest scores, without those that overlap a better one.",
        versions: &[
            OpVersion::new(
                Ios15,
                &[
                    float("boxes"),
                    float("scores"),
                    float("iou_threshold").constant(),
                    float("score_threshold").constant(),
                    int_spec("max_boxes"),
                    PER_CLASS,
                ],
            ),
            OpVersion::new(
                Ios17,
                &[float("boxes"), float("scores"), float("iou_threshold").constant(), int_spec("max_boxes"), PER_CLASS],
            ),
        ],
        flags: Flags::PURE,
        infer: non_maximum_suppression,
    },
    OpSchema {
        kind: OpKind::NonZero,
        summary: "The places of the elements that are not zero.",
        versions: &[OpVersion::new(Ios15, &[X])],
        flags: FOLD,
        infer: |a| {
            let rank = tensor(a, "x")?.rank();
            one(DType::Int32, vec![Dim::Unknown, Dim::from(rank)].into())
        },
    },
    OpSchema {
        kind: OpKind::OneHot,
        summary: "`on_value` at the index and `off_value` elsewhere, along a new axis.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                InputSpec::tensor("indices", INT32),
                InputSpec::tensor("one_hot_vector_size", INT32),
                AXIS_LAST,
                InputSpec::same("on_value", 'T', MOVED).constant().default(Default::Int(1)),
                InputSpec::same("off_value", 'T', MOVED).constant().default(Default::Int(0)),
            ],
        )],
        flags: Flags::PURE,
        infer: one_hot,
    },
    OpSchema {
        kind: OpKind::Pad,
        summary: "Elements before and after the innermost axes: a value, or a repetition of what is there.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                float("x"),
                InputSpec::tensor("pad", INT32),
                string_spec("mode").default(Default::Str("constant")),
                float("constant_val").constant().default(Default::Float(0.0)),
            ],
        )],
        flags: FOLD,
        infer: pad,
    },
    OpSchema {
        kind: OpKind::Range1d,
        summary: "`start`, `start + step`, ... before `end`.",
        versions: &[OpVersion::new(Ios15, &[bound("end"), bound("start"), bound("step")])],
        flags: FOLD,
        infer: range_1d,
    },
    OpSchema {
        kind: OpKind::Shape,
        summary: "The extents of a tensor.",
        versions: &[OpVersion::new(Ios15, &[X])],
        flags: FOLD,
        infer: |a| {
            let rank = tensor(a, "x")?.rank();
            one(DType::Int32, vec![Dim::from(rank)].into())
        },
    },
    OpSchema {
        kind: OpKind::Split,
        summary: "Parts along `axis`: `num_splits` alike, or of `split_sizes`.",
        versions: &[OpVersion::new(
            Ios15,
            &[X, int_spec("num_splits").optional(), int_spec("split_sizes").optional(), int_spec("axis")],
        )],
        flags: FOLD,
        infer: split,
    },
    OpSchema {
        kind: OpKind::Stack,
        summary: "Tensors of one shape along a new axis.",
        versions: &[OpVersion::new(Ios15, &[VALUES, int_spec("axis")])],
        flags: FOLD,
        infer: stack,
    },
    OpSchema {
        kind: OpKind::Tile,
        summary: "The tensor side by side with itself, `reps` times on each axis.",
        versions: &[OpVersion::new(Ios15, &[X, InputSpec::tensor("reps", INT32)])],
        flags: FOLD,
        infer: tile,
    },
    OpSchema {
        kind: OpKind::Topk,
        summary: "The `k` greatest (or least) elements along `axis`, and their positions.",
        versions: &[
            OpVersion::new(Ios15, &[X_NUMBER, K, AXIS_LAST, ASCENDING]),
            OpVersion::new(Ios16, &[X_NUMBER, K, AXIS_LAST, ASCENDING, SORT, RETURN_INDICES]),
            OpVersion::new(
                Ios17,
                &[
                    InputSpec::same("x", 'T', TOPK_17),
                    InputSpec::same("k", 'K', INDEX_17).constant().default(Default::Int(1)),
                    AXIS_LAST,
                    ASCENDING,
                    SORT,
                    RETURN_INDICES,
                    InputSpec::tensor("output_indices_dtype", STRING).constant().default(Default::Str("int32")),
                ],
            ),
        ],
        flags: FOLD,
        infer: topk,
    },
];

type Inferred = Result<Vec<Type>, InferError>;

fn like_x(args: &OpArgs<'_>) -> Inferred {
    tensor(args, "x").map(|t| vec![Type::Tensor(t.clone())])
}

/// The tensor types of a list input, one at least.
fn list<'a>(args: &OpArgs<'a>, name: &'static str) -> Result<Vec<&'a crate::TensorType>, InferError> {
    let all = args.all(name);
    if all.is_empty() {
        return Err(InferError::Missing(name));
    }
    let tensor = |t: &'a Type| t.as_tensor().ok_or_else(|| InferError::bad(name, "must be tensors of known rank"));
    all.iter().map(|a| tensor(a.ty)).collect()
}

fn concat(args: &OpArgs<'_>) -> Inferred {
    let all = list(args, "values")?;
    let first = all[0];
    let at = axis(&first.shape, super::common::int(args, "axis")?, "axis")?;
    let mut shape = first.shape.clone();
    let mut extent = Dim::Known(0);
    for t in &all {
        if t.dtype != first.dtype || t.rank() != first.rank() {
            return Err(InferError::Mismatch(format!(
                "`values` hold {} and {} of rank {} and {}",
                first.dtype,
                t.dtype,
                first.rank(),
                t.rank()
            )));
        }
        for (i, d) in t.shape.iter().enumerate().filter(|(i, _)| *i != at) {
            match (shape[i].same(d), d.is_known()) {
                (Some(false), _) => {
                    return Err(InferError::Mismatch(format!(
                        "`values` of shapes {} and {} do not join",
                        first.shape, t.shape
                    )));
                }
                // A number says more than a symbol.
                (None, true) => shape.dims_mut()[i] = d.clone(),
                _ => {}
            }
        }
        extent = extent.add(&t.shape[at]);
    }
    if bool_or(args, "interleave", false)? && all.iter().any(|t| t.shape[at].same(&first.shape[at]) == Some(false)) {
        return Err(InferError::Mismatch("interleaved `values` must have the same extent along `axis`".to_owned()));
    }
    shape.dims_mut()[at] = extent;
    one(first.dtype, shape)
}

fn stack(args: &OpArgs<'_>) -> Inferred {
    let all = list(args, "values")?;
    let first = all[0];
    if all.iter().any(|t| t.dtype != first.dtype || !t.shape.compatible(&first.shape)) {
        return Err(InferError::Mismatch("`values` must be of one type".to_owned()));
    }
    let wanted = super::common::int(args, "axis")?;
    let rank = first.rank() as i64 + 1;
    let at = if wanted < 0 { wanted.saturating_add(rank) } else { wanted };
    let at = usize::try_from(at).ok().filter(|&a| a <= first.rank());
    let at = at.ok_or_else(|| InferError::bad("axis", format!("is {wanted}, outside rank {rank}")))?;
    let mut shape = first.shape.clone();
    for (i, d) in all.iter().flat_map(|t| t.shape.iter().enumerate()).filter(|(_, d)| d.is_known()) {
        shape.dims_mut()[i] = d.clone();
    }
    shape.insert(at, Dim::from(all.len()));
    one(first.dtype, shape)
}

/// Extents given as a constant, or as many unknown ones as the input has elements.
pub(super) fn extents(args: &OpArgs<'_>, name: &'static str) -> Result<Option<Shape>, InferError> {
    let ty = tensor(args, name)?;
    if ty.rank() != 1 {
        return Err(InferError::bad(name, format!("must be of rank 1 and is of shape {}", ty.shape)));
    }
    if let Some(v) = args.value(name) {
        let v = v.as_i64s().ok_or_else(|| InferError::bad(name, "must be integers"))?;
        let dim =
            |n: i64| u64::try_from(n).map(Dim::Known).map_err(|_| InferError::bad(name, format!("has the extent {n}")));
        return v.into_iter().map(dim).collect::<Result<Shape, _>>().map(Some);
    }
    if let Some(dims) = args.get(name).and_then(|a| a.extents()) {
        return Ok(Some(dims.into()));
    }
    Ok(match ty.shape.first().map(Dim::known) {
        Some(Some(rank)) if rank <= 64 => Some((0..rank).map(|_| Dim::Unknown).collect()),
        _ => None,
    })
}

fn fill(args: &OpArgs<'_>) -> Inferred {
    let dtype = args.ty("value").and_then(Type::dtype).unwrap_or(DType::Fp32);
    Ok(vec![extents(args, "shape")?.map_or(Type::Unranked(dtype), |s| Type::tensor(dtype, s))])
}

fn flatten2d(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let wanted = int_or(args, "axis", 1)?;
    let at = if wanted < 0 { wanted.saturating_add(x.rank() as i64) } else { wanted };
    let at = usize::try_from(at).ok().filter(|&a| a <= x.rank());
    let at = at.ok_or_else(|| InferError::bad("axis", format!("is {wanted}, outside rank {}", x.rank())))?;
    let merged = |dims: &[Dim]| dims.iter().fold(Dim::Known(1), |n, d| n.mul(d));
    one(x.dtype, vec![merged(&x.shape[..at]), merged(&x.shape[at..])].into())
}

fn non_maximum_suppression(args: &OpArgs<'_>) -> Inferred {
    let (boxes, scores) = (tensor(args, "boxes")?, tensor(args, "scores")?);
    let most = super::common::int(args, "max_boxes")?;
    let most = u64::try_from(most).map_err(|_| InferError::bad("max_boxes", format!("is {most}")))?;
    if boxes.rank() != 3 || scores.rank() != 3 {
        return Err(InferError::bad("boxes", "and `scores` must be of rank 3"));
    }
    let (n, kept) = (boxes.shape[0].clone(), Dim::Known(most));
    let before_17 = args.opset < Ios17;
    // From ios17 the boxes are counted along the innermost axis.
    let wide = |inner: Dim| -> Shape { vec![n.clone(), kept.clone(), inner].into() };
    let tall = |inner: Dim| -> Shape { vec![n.clone(), inner, kept.clone()].into() };
    let shapes = if before_17 {
        (wide(Dim::Known(4)), wide(scores.shape[2].clone()))
    } else {
        (tall(Dim::Known(4)), tall(scores.shape[1].clone()))
    };
    let mut out = vec![
        Type::tensor(boxes.dtype, shapes.0),
        Type::tensor(scores.dtype, shapes.1),
        Type::tensor(DType::Int32, vec![n.clone(), kept.clone()]),
    ];
    if before_17 {
        out.push(Type::tensor(DType::Int32, vec![n]));
    }
    Ok(out)
}

fn one_hot(args: &OpArgs<'_>) -> Inferred {
    let indices = tensor(args, "indices")?;
    tensor(args, "one_hot_vector_size")?;
    let size = match args.value("one_hot_vector_size").and_then(|c| c.as_i64()) {
        Some(n) => u64::try_from(n).map_err(|_| InferError::bad("one_hot_vector_size", format!("is {n}")))?.into(),
        None => Dim::Unknown,
    };
    let wanted = int_or(args, "axis", -1)?;
    let rank = indices.rank() as i64 + 1;
    let at = if wanted < 0 { wanted.saturating_add(rank) } else { wanted };
    let at = usize::try_from(at).ok().filter(|&a| a <= indices.rank());
    let at = at.ok_or_else(|| InferError::bad("axis", format!("is {wanted}, outside rank {rank}")))?;
    let mut shape = indices.shape.clone();
    shape.insert(at, size);
    one(args.ty("on_value").and_then(Type::dtype).unwrap_or(DType::Int32), shape)
}

fn pad(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    const MODES: [&str; 3] = ["constant", "reflect", "replicate"];
    let mode = string_or(args, "mode", "constant")?;
    if !MODES.contains(&mode) {
        return Err(InferError::bad("mode", format!("is `{mode}`, not one of {}", MODES.join(", "))));
    }
    let [count] = &tensor(args, "pad")?.shape[..] else { return Err(InferError::bad("pad", "must be of rank 1")) };
    let Some(pairs) = args.value("pad") else {
        if !count.compatible(&Dim::from(2 * x.rank())) {
            return Err(InferError::bad("pad", format!("is computed and has {count} numbers for rank {}", x.rank())));
        }
        return one(x.dtype, x.shape.iter().map(|_| Dim::Unknown).collect());
    };
    let pairs = pairs.as_i64s().ok_or_else(|| InferError::bad("pad", "must be integers"))?;
    if let Some(n) = pairs.iter().find(|n| **n < 0) {
        return Err(InferError::bad("pad", format!("has {n}; `slice_by_index` crops")));
    }
    let skipped = x.rank().checked_sub(pairs.len() / 2).filter(|_| pairs.len() % 2 == 0);
    let skipped =
        skipped.ok_or_else(|| InferError::bad("pad", format!("has {} numbers for rank {}", pairs.len(), x.rank())))?;
    let mut shape = x.shape.clone();
    for (i, pair) in pairs.chunks_exact(2).enumerate() {
        let extent = &shape[skipped + i];
        let by = pair[0].checked_add(pair[1]).ok_or_else(|| InferError::bad("pad", "overflows"))?;
        let grown = match extent {
            Dim::Known(n) => {
                Dim::Known(n.checked_add_signed(by).ok_or_else(|| InferError::bad("pad", "takes more than there is"))?)
            }
            _ => extent.to_expr().and_then(|e| e.add(&SymExpr::constant(by))).map_or(Dim::Unknown, Dim::from_expr),
        };
        shape.dims_mut()[skipped + i] = grown;
    }
    one(x.dtype, shape)
}

fn range_1d(args: &OpArgs<'_>) -> Inferred {
    let start = tensor(args, "start")?;
    for name in ["end", "step"] {
        if tensor(args, name)?.dtype != start.dtype {
            return Err(InferError::Mismatch(format!("`start` is {} and `{name}` is not", start.dtype)));
        }
    }
    let number = |name| args.value(name).and_then(crate::Const::as_f64);
    let count = match (number("start"), number("end"), number("step")) {
        (_, _, Some(0.0)) => return Err(InferError::bad("step", "is 0")),
        (Some(a), Some(b), Some(s)) => {
            let n = round_to(start.dtype, round_to(start.dtype, b - a) / s).ceil().max(0.0);
            if n.is_finite() && n < (1u64 << 53) as f64 { Dim::Known(n as u64) } else { Dim::Unknown }
        }
        _ => Dim::Unknown,
    };
    one(start.dtype, vec![count].into())
}

/// A number as the float type holds it: the count depends on the rounding.
fn round_to(dtype: DType, v: f64) -> f64 {
    match dtype {
        DType::Fp16 => f64::from(half::f16::from_f64(v)),
        DType::Fp32 => f64::from(v as f32),
        _ => v,
    }
}

fn split(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let at = axis(&x.shape, super::common::int(args, "axis")?, "axis")?;
    let extent = &x.shape[at];
    let sizes: Vec<Dim> = match ints_if(args, "split_sizes")? {
        Some(sizes) => {
            let dim = |n: i64| {
                u64::try_from(n).map(Dim::Known).map_err(|_| InferError::bad("split_sizes", format!("has {n}")))
            };
            let sizes = sizes.into_iter().map(dim).collect::<Result<Vec<Dim>, _>>()?;
            let total = sizes.iter().fold(Dim::Known(0), |n, d| n.add(d));
            if total.same(extent) == Some(false) {
                return Err(InferError::bad("split_sizes", format!("add up to {total} of {extent}")));
            }
            sizes
        }
        None => {
            let n = super::common::int(args, "num_splits")?;
            let n = u64::try_from(n).ok().filter(|n| (1..1 << 20).contains(n));
            let n = n.ok_or_else(|| InferError::bad("num_splits", "must be positive"))?;
            let part = match extent {
                Dim::Known(e) if e % n == 0 => Dim::Known(e / n),
                Dim::Known(e) => {
                    return Err(InferError::bad("num_splits", format!("is {n}, which does not divide {e}")));
                }
                other => other.combine(&Dim::Known(n), SymExpr::floor_div),
            };
            (0..n).map(|_| part.clone()).collect()
        }
    };
    let part = |size: Dim| {
        let mut shape = x.shape.clone();
        shape.dims_mut()[at] = size;
        Type::tensor(x.dtype, shape)
    };
    Ok(sizes.into_iter().map(part).collect())
}

fn tile(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    tensor(args, "reps")?;
    let Some(reps) = args.value("reps") else {
        return one(x.dtype, x.shape.iter().map(|_| Dim::Unknown).collect());
    };
    let reps = reps.as_i64s().ok_or_else(|| InferError::bad("reps", "must be integers"))?;
    if reps.len() != x.rank() {
        return Err(InferError::bad("reps", format!("name {} axes of {}", reps.len(), x.rank())));
    }
    let dim = |(d, &r): (&Dim, &i64)| match u64::try_from(r) {
        Ok(r) if r > 0 => Ok(d.mul(&Dim::Known(r))),
        _ => Err(InferError::bad("reps", format!("has {r}"))),
    };
    one(x.dtype, x.shape.iter().zip(&reps).map(dim).collect::<Result<Shape, _>>()?)
}

fn topk(args: &OpArgs<'_>) -> Inferred {
    let x = tensor(args, "x")?;
    let at = axis(&x.shape, int_or(args, "axis", -1)?, "axis")?;
    let k = int_or(args, "k", 1)?;
    let mut shape = x.shape.clone();
    shape.dims_mut()[at] = match u64::try_from(k) {
        Ok(k) if x.shape[at].known().is_none_or(|n| k <= n) => Dim::Known(k),
        // -1 takes all, sorted.
        Err(_) if k == -1 => x.shape[at].clone(),
        _ => return Err(InferError::bad("k", format!("is {k} of {}", x.shape[at]))),
    };
    let name = string_or(args, "output_indices_dtype", "int32")?;
    let indices: DType = name.parse().map_err(|_| InferError::bad("output_indices_dtype", format!("is `{name}`")))?;
    let mut out = vec![Type::tensor(x.dtype, shape.clone())];
    if bool_or(args, "return_indices", true)? {
        out.push(Type::tensor(indices, shape));
    }
    Ok(out)
}
