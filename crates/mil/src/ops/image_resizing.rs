//! Resizing and resampling of the two innermost axes, height and width.

use coremill_tensor::{DType, Dim, Shape};

use super::common::{
    BOOL, FLOATS, NUMBERS, STRING, bool_or, bool_spec, constant, int, int_or, int_spec, ints, one, string, string_or,
    string_spec, tensor,
};
use crate::Opset::{Ios15, Ios16, Ios17};
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

use DType::{Fp16, Fp32, Int8, Int16, Int32, UInt8, UInt16, UInt32};

const X: InputSpec = InputSpec::same("x", 'T', FLOATS);
const SCALE_HEIGHT: InputSpec = scale("scale_factor_height");
const SCALE_WIDTH: InputSpec = scale("scale_factor_width");
const CORNERS: InputSpec = bool_spec("align_corners", true);
const SAMPLING: InputSpec = string_spec("sampling_mode").default(Default::Str("DEFAULT"));
const TARGET_HEIGHT: InputSpec = int_spec("target_height").default(Default::Int(1));
const TARGET_WIDTH: InputSpec = int_spec("target_width").default(Default::Int(1));
const NORMALIZED: InputSpec = bool_spec("normalized_coordinates", false);
const SPATIAL: InputSpec = InputSpec::tensor("spatial_scale", &[Fp32]).constant().default(Default::Float(1.0));
const BOX_MODE: InputSpec = string_spec("box_coordinate_mode").default(Default::Str("CORNERS_HEIGHT_FIRST"));
const PAD: InputSpec = InputSpec::same("pad_value", 'T', FLOATS).constant().default(Default::Float(0.0));

const fn scale(name: &'static str) -> InputSpec {
    InputSpec::same(name, 'U', &[Fp32, Int32]).constant().default(Default::Int(1))
}

/// The inputs of `resample`, with the element types of its coordinates.
macro_rules! resampled {
    ($($dtype:expr),*) => {
        &[
            X,
            InputSpec::same("coordinates", 'U', &[$($dtype),*]),
            string_spec("sampling_mode"),
            string_spec("padding_mode"),
            InputSpec::same("padding_value", 'T', FLOATS).constant(),
            string_spec("coordinates_mode"),
            InputSpec::tensor("align_corners", BOOL).constant(),
        ]
    };
}

/// The inputs of `crop_resize` after those that place the boxes.
macro_rules! boxed {
    ($($first:expr),* ; $($last:expr),*) => {
        &[X, $($first,)* TARGET_HEIGHT, TARGET_WIDTH, NORMALIZED, SPATIAL, BOX_MODE, SAMPLING, $($last),*]
    };
}

const ROI: InputSpec = InputSpec::same("roi", 'T', FLOATS);

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::UpsampleNearestNeighbor,
        summary: "Height and width times a factor, each element taken from the nearest.",
        versions: &[OpVersion::new(Ios15, &[X, SCALE_HEIGHT, SCALE_WIDTH])],
        flags: Flags::PURE,
        infer: upsample,
    },
    OpSchema {
        kind: OpKind::UpsampleBilinear,
        summary: "Height and width times a factor, interpolated linearly; the factor is recomputed from the extents.",
        versions: &[
            OpVersion::new(Ios15, &[X, SCALE_HEIGHT, SCALE_WIDTH, CORNERS]),
            OpVersion::new(
                Ios16,
                &[
                    X,
                    SCALE_HEIGHT,
                    SCALE_WIDTH,
                    CORNERS,
                    InputSpec::tensor("half_pixel_centers", BOOL).constant().optional(),
                ],
            ),
        ],
        flags: Flags::PURE,
        infer: upsample,
    },
    OpSchema {
        kind: OpKind::ResizeNearestNeighbor,
        summary: "To a given height and width, each element taken from the nearest.",
        versions: &[OpVersion::new(Ios15, &[X, int_spec("target_size_height"), int_spec("target_size_width")])],
        flags: Flags::PURE,
        infer: |a| in_place(a, int(a, "target_size_height")?, int(a, "target_size_width")?),
    },
    OpSchema {
        kind: OpKind::ResizeBilinear,
        summary: "To a given height and width, interpolated linearly on the grid that `sampling_mode` names.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                X,
                int_spec("target_size_height").default(Default::Int(1)),
                int_spec("target_size_width").default(Default::Int(1)),
                SAMPLING,
            ],
        )],
        flags: Flags::PURE,
        infer: |a| {
            one_of(a, "sampling_mode", SAMPLING_MODES)?;
            in_place(a, int_or(a, "target_size_height", 1)?, int_or(a, "target_size_width", 1)?)
        },
    },
    OpSchema {
        kind: OpKind::CropResize,
        summary: "Boxes of images, each resized to one height and width, interpolated linearly.",
        versions: &[
            OpVersion::new(Ios15, boxed!(ROI;)),
            OpVersion::new(Ios16, boxed!(ROI; PAD)),
            OpVersion::new(
                Ios17,
                boxed!(
                    InputSpec::same("boxes", 'B', &[Fp16, Fp32, UInt16]),
                    InputSpec::same("box_indices", 'I', &[UInt16, Int32])
                        .default(Default::Computed("0, 1, ... up to the number of boxes"));
                    PAD
                ),
            ),
        ],
        flags: Flags::PURE,
        infer: crop_resize,
    },
    OpSchema {
        kind: OpKind::Crop,
        summary: "Without `crop_height` rows and `crop_width` columns at the start and at the end.",
        versions: &[OpVersion::new(Ios15, &[X, int_spec("crop_height"), int_spec("crop_width")])],
        flags: Flags::PURE,
        infer: crop,
    },
    OpSchema {
        kind: OpKind::Affine,
        summary: "Images sampled at places that a matrix `[a0, a1, a2, b0, b1, b2]` gives: `(a0 x + a1 y + a2, b0 x + b1 y + b2)`.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                X,
                InputSpec::same("transform_matrix", 'T', FLOATS),
                int_spec("output_height"),
                int_spec("output_width"),
                string_spec("sampling_mode"),
                string_spec("padding_mode"),
                InputSpec::same("padding_value", 'T', FLOATS).constant(),
                string_spec("coordinates_mode"),
                InputSpec::tensor("align_corners", BOOL).constant(),
            ],
        )],
        flags: Flags::PURE,
        infer: affine,
    },
    OpSchema {
        kind: OpKind::Resample,
        summary: "Images sampled at given places `(x, y)`.",
        versions: &[
            OpVersion::new(Ios15, resampled!(Int32, Fp32)),
            OpVersion::new(Ios16, resampled!(Int32, Fp16, Fp32)),
            OpVersion::new(Ios17, resampled!(Int8, UInt8, Int16, UInt16, Int32, Fp16, Fp32)),
        ],
        flags: Flags::PURE,
        infer: resample,
    },
    OpSchema {
        kind: OpKind::Resize,
        summary: "The innermost `resized_dims` extents as the last of `shape` say; a 0 keeps one.",
        versions: &[OpVersion::new(
            Ios17,
            &[
                InputSpec::same("x", 'T', NUMBERS),
                InputSpec::same("shape", 'U', &[Int32, Int16, UInt16, UInt32]),
                InputSpec::tensor("resized_dims", &[UInt32]).constant(),
                InputSpec::tensor("interpolation_mode", STRING).constant().default(Default::Str("LINEAR")),
                SAMPLING,
            ],
        )],
        flags: Flags::PURE,
        infer: resize,
    },
];

const SAMPLING_MODES: &[&str] =
    &["DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "UNALIGN_CORNERS", "OFFSET_CORNERS"];
const BOX_MODES: &[&str] =
    &["CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST", "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST"];

type Inferred<T> = Result<T, InferError>;

/// Holds a word, where it is given, to those that are allowed.
fn one_of(args: &OpArgs<'_>, name: &'static str, words: &[&'static str]) -> Inferred<()> {
    let word = string_or(args, name, words.first().copied().unwrap_or_default())?;
    if words.contains(&word) {
        Ok(())
    } else {
        Err(InferError::bad(name, format!("is `{word}`, not one of {}", words.join(", "))))
    }
}

fn extent(n: i64, name: &'static str) -> Inferred<Dim> {
    u64::try_from(n).map(Dim::Known).map_err(|_| InferError::bad(name, format!("gives an extent of {n}")))
}

/// `x` with another height and width.
fn with_size(x: &TensorType, height: Dim, width: Dim) -> Inferred<Vec<Type>> {
    let mut shape = x.shape.clone();
    match shape.dims_mut() {
        [_, .., h, w] => (*h, *w) = (height, width),
        _ => return Err(InferError::bad("x", format!("must be of rank 3 or more and is of shape {}", x.shape))),
    }
    one(x.dtype, shape)
}

fn in_place(args: &OpArgs<'_>, height: i64, width: i64) -> Inferred<Vec<Type>> {
    let x = tensor(args, "x")?;
    with_size(x, extent(height, "target_size_height")?, extent(width, "target_size_width")?)
}

/// The last two extents of `x`.
fn size(x: &TensorType) -> Inferred<[&Dim; 2]> {
    match &x.shape[..] {
        [_, .., h, w] => Ok([h, w]),
        _ => Err(InferError::bad("x", format!("must be of rank 3 or more and is of shape {}", x.shape))),
    }
}

/// An extent times a factor, rounded down. The product is rounded to `fp32` first where the factor is a float.
fn scaled(args: &OpArgs<'_>, d: &Dim, name: &'static str) -> Inferred<Dim> {
    if !args.is_given(name) {
        return Ok(d.clone());
    }
    let factor = constant(args, name)?;
    let bad = || InferError::bad(name, "must be one number, not negative");
    if let Some(n) = factor.as_i64() {
        return Ok(d.mul(&Dim::Known(u64::try_from(n).map_err(|_| bad())?)));
    }
    let factor = factor.as_f64().filter(|f| f.is_finite() && *f >= 0.0).ok_or_else(bad)? as f32;
    Ok(match d.known() {
        Some(n) => {
            let product = (n as f32 * factor).floor();
            if product < i64::MAX as f32 { Dim::Known(product as u64) } else { Dim::Unknown }
        }
        None => Dim::Unknown,
    })
}

fn upsample(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let x = tensor(args, "x")?;
    let [h, w] = size(x)?;
    with_size(x, scaled(args, h, "scale_factor_height")?, scaled(args, w, "scale_factor_width")?)
}

fn rank4<'a>(args: &OpArgs<'a>, name: &'static str) -> Inferred<(DType, [&'a Dim; 4])> {
    let t = tensor(args, name)?;
    match &t.shape[..] {
        [a, b, c, d] => Ok((t.dtype, [a, b, c, d])),
        _ => Err(InferError::bad(name, format!("must be of rank 4 and is of shape {}", t.shape))),
    }
}

fn crop_resize(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (dtype, [batch, channels, ..]) = rank4(args, "x")?;
    one_of(args, "box_coordinate_mode", BOX_MODES)?;
    one_of(args, "sampling_mode", SAMPLING_MODES)?;
    let height = extent(int_or(args, "target_height", 1)?, "target_height")?;
    let width = extent(int_or(args, "target_width", 1)?, "target_width")?;
    if args.opset < Ios17 {
        let roi = tensor(args, "roi")?;
        let [boxes, _, _, _, _] = &roi.shape[..] else {
            return Err(InferError::bad("roi", format!("must be of rank 5 and is of shape {}", roi.shape)));
        };
        return one(dtype, vec![boxes.clone(), batch.clone(), channels.clone(), height, width].into());
    }
    let boxes = tensor(args, "boxes")?;
    let count = match &boxes.shape[..] {
        [count, four] if four.compatible(&Dim::Known(4)) => count,
        _ => return Err(InferError::bad("boxes", format!("must be of shape [N, 4] and are of {}", boxes.shape))),
    };
    box_indices(args, count, batch)?;
    if bool_or(args, "normalized_coordinates", false)? && !boxes.dtype.is_float() {
        return Err(InferError::bad("boxes", format!("are normalized and of {}, no floats", boxes.dtype)));
    }
    one(dtype, vec![count.clone(), channels.clone(), height, width].into())
}

/// Holds `box_indices` to the number of boxes and of images.
fn box_indices(args: &OpArgs<'_>, count: &Dim, batch: &Dim) -> Inferred<()> {
    if !args.is_given("box_indices") {
        return match (count, batch) {
            (Dim::Known(n), Dim::Known(b)) if n > b => {
                Err(InferError::bad("boxes", format!("are {n} for {b} images, and no `box_indices` are given")))
            }
            _ => Ok(()),
        };
    }
    let indices = tensor(args, "box_indices")?;
    if !matches!(&indices.shape[..], [n] if n.compatible(count)) {
        return Err(InferError::bad("box_indices", format!("are of shape {}; there are {count} boxes", indices.shape)));
    }
    let beyond = |v: Vec<i64>| batch.known().is_some_and(|b| v.iter().any(|&i| u64::try_from(i).is_ok_and(|i| i >= b)));
    if args.value("box_indices").and_then(|c| c.as_i64s()).is_some_and(beyond) {
        return Err(InferError::bad("box_indices", format!("name images beyond the {batch} there are")));
    }
    Ok(())
}

fn crop(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let x = tensor(args, "x")?;
    let [h, w] = size(x)?;
    let cut = |d: &Dim, name: &'static str| match ints(args, name)?[..] {
        [before, after] => {
            let by = before.checked_add(after).ok_or_else(|| InferError::bad(name, "is too large"))?;
            match d {
                Dim::Known(n) => {
                    let left = i64::try_from(*n).ok().and_then(|n| n.checked_sub(by));
                    extent(left.unwrap_or(-1), name)
                }
                _ => Ok(match d.to_expr().and_then(|d| d.sub(&coremill_tensor::SymExpr::constant(by))) {
                    Some(e) => Dim::from_expr(e),
                    None => Dim::Unknown,
                }),
            }
        }
        _ => Err(InferError::bad(name, "must be two numbers")),
    };
    with_size(x, cut(h, "crop_height")?, cut(w, "crop_width")?)
}

fn affine(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (dtype, [n, c, ..]) = rank4(args, "x")?;
    let matrix = tensor(args, "transform_matrix")?;
    if !matches!(&matrix.shape[..], [_, six] if six.compatible(&Dim::Known(6))) {
        return Err(InferError::bad("transform_matrix", format!("must be of shape [N, 6] and is of {}", matrix.shape)));
    }
    for (name, only) in [
        ("sampling_mode", "bilinear"),
        ("coordinates_mode", "normalized_minus_one_to_one"),
        ("padding_mode", "constant"),
    ] {
        let given = string(args, name)?;
        if !given.eq_ignore_ascii_case(only) {
            return Err(InferError::bad(name, format!("is `{given}`; there is `{only}` only")));
        }
    }
    if constant(args, "padding_value")?.as_f64() != Some(0.0) {
        return Err(InferError::bad("padding_value", "must be 0"));
    }
    let height = extent(int(args, "output_height")?, "output_height")?;
    let width = extent(int(args, "output_width")?, "output_width")?;
    one(dtype, vec![n.clone(), c.clone(), height, width].into())
}

fn resample(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (dtype, [n, c, ..]) = rank4(args, "x")?;
    let (_, [batch, height, width, two]) = rank4(args, "coordinates")?;
    if !n.compatible(batch) {
        return Err(InferError::Mismatch(format!("there are {n} images and coordinates for {batch}")));
    }
    if !two.compatible(&Dim::Known(2)) {
        return Err(InferError::bad("coordinates", format!("must have 2 innermost, x and y, and have {two}")));
    }
    one(dtype, vec![n.clone(), c.clone(), height.clone(), width.clone()].into())
}

fn resize(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (x, shape) = (tensor(args, "x")?, tensor(args, "shape")?);
    one_of(args, "interpolation_mode", &["LINEAR", "NEAREST_NEIGHBOR"])?;
    one_of(args, "sampling_mode", SAMPLING_MODES)?;
    if shape.rank() != 1 {
        return Err(InferError::bad("shape", format!("must be of rank 1 and is of shape {}", shape.shape)));
    }
    let resized = usize::try_from(int(args, "resized_dims")?).ok().filter(|&n| n <= x.rank());
    let resized = resized.ok_or_else(|| InferError::bad("resized_dims", "is outside the rank of `x`"))?;
    let kept = x.rank() - resized;
    let mut dims: Vec<Dim> = x.shape[..kept].to_vec();
    let Some(wanted) = args.value("shape") else {
        dims.extend((0..resized).map(|_| Dim::Unknown));
        return one(x.dtype, dims.into());
    };
    let wanted = wanted.as_i64s().ok_or_else(|| InferError::bad("shape", "must be integers"))?;
    let last = wanted.len().checked_sub(resized).filter(|_| wanted.len() <= x.rank()).and_then(|at| wanted.get(at..));
    let last = last.ok_or_else(|| {
        let what = format!("has {} extents; there should be {resized} to {}", wanted.len(), x.rank());
        InferError::bad("shape", what)
    })?;
    for (&n, old) in last.iter().zip(&x.shape[kept..]) {
        dims.push(if n == 0 { old.clone() } else { extent(n, "shape")? });
    }
    one(x.dtype, dims.into_iter().collect::<Shape>())
}
