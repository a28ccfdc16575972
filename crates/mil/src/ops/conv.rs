//! Convolutions.

use coremill_tensor::{DType, Dim, Shape};

use super::common::{FLOATS, INT32, given_if, int_or, int_spec, ints_if, one, string_or, string_spec, tensor};
use super::spatial::{PadType, Windows, per_dimension};
use crate::Opset::{self, Ios15, Ios17};
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

const X: InputSpec = InputSpec::same("x", 'T', FLOATS);
const STRIDES: InputSpec = ints_spec("strides").default(Default::Computed("1 per spatial dimension"));
const PAD_TYPE: InputSpec = string_spec("pad_type").default(Default::Str("valid"));
const PAD: InputSpec = ints_spec("pad").default(Default::Computed("0 before and after each spatial dimension"));
const DILATIONS: InputSpec = ints_spec("dilations").default(Default::Computed("1 per spatial dimension"));
const GROUPS: InputSpec = int_spec("groups").default(Default::Int(1));

const fn ints_spec(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, INT32).constant()
}

const fn floats(name: &'static str, letter: char) -> InputSpec {
    InputSpec::same(name, letter, FLOATS)
}

const fn bytes(name: &'static str) -> InputSpec {
    InputSpec::same(name, 'U', &[DType::UInt8])
}

/// From ios17 weight and bias have an element type of their own, and the bias may vary.
const CONV: &[OpVersion] = &[
    OpVersion::new(
        Ios15,
        &[
            X,
            floats("weight", 'T'),
            floats("bias", 'T').constant().optional(),
            STRIDES,
            PAD_TYPE,
            PAD,
            DILATIONS,
            GROUPS,
        ],
    ),
    OpVersion::new(
        Ios17,
        &[X, floats("weight", 'U'), floats("bias", 'U').optional(), STRIDES, PAD_TYPE, PAD, DILATIONS, GROUPS],
    ),
];

const CONV_QUANTIZED: &[OpVersion] = &[OpVersion::new(
    Ios15,
    &[
        X,
        bytes("weight"),
        bytes("bias").constant().optional(),
        string_spec("quantization_type"),
        int_spec("nbits").default(Default::Int(8)),
        floats("quant_scale", 'T').constant(),
        floats("quant_bias", 'T').constant(),
        STRIDES,
        PAD_TYPE,
        PAD,
        DILATIONS,
        GROUPS,
    ],
)];

const OUTPUT_SHAPE: InputSpec = ints_spec("output_shape").optional();

const CONV_TRANSPOSE: &[OpVersion] = &[
    OpVersion::new(
        Ios15,
        &[
            X,
            floats("weight", 'T').constant(),
            floats("bias", 'T').constant().optional(),
            PAD,
            OUTPUT_SHAPE,
            PAD_TYPE,
            STRIDES,
            DILATIONS,
            GROUPS,
        ],
    ),
    OpVersion::new(
        Ios17,
        &[
            X,
            floats("weight", 'U'),
            floats("bias", 'U').optional(),
            PAD,
            OUTPUT_SHAPE,
            PAD_TYPE,
            STRIDES,
            DILATIONS,
            GROUPS,
        ],
    ),
];

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Conv,
        summary: "Convolution over 1, 2 or 3 spatial dimensions, in groups of channels, plus `bias`.",
        versions: CONV,
        flags: Flags::PURE,
        infer: conv,
    },
    OpSchema {
        kind: OpKind::ConvQuantized,
        summary: "Convolution with a byte weight that stands for `weight * quant_scale + quant_bias`.",
        versions: CONV_QUANTIZED,
        flags: Flags::PURE,
        infer: conv,
    },
    OpSchema {
        kind: OpKind::ConvTranspose,
        summary: "Transposed convolution: what the gradient of `conv` computes, plus `bias`.",
        versions: CONV_TRANSPOSE,
        flags: Flags::PURE,
        infer: conv_transpose,
    },
];

/// `x` and `weight` of the same rank, at least 3; the number of groups, at least 1.
fn operands<'a>(args: &OpArgs<'a>) -> Result<(&'a TensorType, &'a TensorType, u64), InferError> {
    let (x, weight) = (tensor(args, "x")?, tensor(args, "weight")?);
    if x.rank() < 3 || x.rank() != weight.rank() {
        let what = format!("is of rank {} and `x` of {}; both must be alike and at least 3", weight.rank(), x.rank());
        return Err(InferError::bad("weight", what));
    }
    match int_or(args, "groups", 1)? {
        groups @ 1.. => Ok((x, weight, groups.unsigned_abs())),
        groups => Err(InferError::bad("groups", format!("is {groups}, below 1"))),
    }
}

fn check_bias(args: &OpArgs<'_>, channels: &Dim) -> Result<(), InferError> {
    match given_if(args, "bias")? {
        Some(bias) if bias.rank() != 1 || !bias.shape.iter().all(|n| n.compatible(channels)) => {
            Err(InferError::bad("bias", format!("is of shape {}, not [{channels}]", bias.shape)))
        }
        _ => Ok(()),
    }
}

/// That a weight which is computed at run time goes only with dilations of 1 is for the verifier: here a compressed
/// weight looks the same.
fn conv(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, weight, groups) = operands(args)?;
    let (channels, rank) = (&weight.shape[0], x.rank() - 2);
    check_bias(args, channels)?;
    if let Dim::Known(c) = x.shape[1] {
        if c % groups != 0 {
            return Err(InferError::bad("groups", format!("is {groups}, which does not divide {c} channels")));
        }
        if !Dim::Known(c / groups).compatible(&weight.shape[1]) {
            let (have, want) = (&weight.shape[1], c / groups);
            return Err(InferError::bad("weight", format!("takes {have} channels per group; `x` has {want}")));
        }
    }
    let pad_type = match string_or(args, "pad_type", "valid")? {
        "valid" => PadType::Valid,
        "same" => PadType::Same,
        "custom" => PadType::Custom,
        "same_lower" if args.opset > Opset::Ios15 => PadType::Same,
        "same_lower" => return Err(InferError::bad("pad_type", "is same_lower, which came with ios16")),
        other => return Err(unknown_pad_type(other)),
    };
    let windows = Windows {
        kernel: weight.shape[2..].to_vec(),
        strides: per_dimension(args, "strides", rank, 1, 1)?,
        dilations: per_dimension(args, "dilations", rank, 1, 1)?,
        pad: custom_pad(args, pad_type, rank)?,
        ceil: false,
    };
    let mut shape: Vec<Dim> = vec![x.shape[0].clone(), channels.clone()];
    shape.extend(windows.count(&x.shape[2..], pad_type)?);
    one(x.dtype, shape.into())
}

fn unknown_pad_type(spelled: &str) -> InferError {
    InferError::bad("pad_type", format!("is `{spelled}`; there are valid, same and custom, and for conv same_lower"))
}

/// `pad`, which only counts for custom padding: files carry any length with the other types.
fn custom_pad(args: &OpArgs<'_>, pad_type: PadType, rank: usize) -> Result<Vec<i64>, InferError> {
    match pad_type {
        PadType::Custom => per_dimension(args, "pad", 2 * rank, 0, i64::MIN),
        _ => Ok(vec![0; 2 * rank]),
    }
}

fn conv_transpose(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, weight, groups) = operands(args)?;
    let channels = weight.shape[1].mul(&Dim::Known(groups));
    check_bias(args, &channels)?;
    if let Some(given) = ints_if(args, "output_shape")? {
        return output_shape(x, &channels, &given);
    }
    let rank = x.rank() - 2;
    let pad_type = match string_or(args, "pad_type", "valid")? {
        "valid" => PadType::Valid,
        "same" => PadType::Same,
        "custom" => PadType::Custom,
        other => return Err(unknown_pad_type(other)),
    };
    let strides = per_dimension(args, "strides", rank, 1, 1)?;
    let dilations = per_dimension(args, "dilations", rank, 1, 1)?;
    let pad = custom_pad(args, pad_type, rank)?;
    let mut shape: Vec<Dim> = vec![x.shape[0].clone(), channels];
    for i in 0..rank {
        let (input, kernel) = (&x.shape[2 + i], &weight.shape[2 + i]);
        let dim = if pad_type == PadType::Same {
            input.mul(&Dim::from(strides[i].unsigned_abs()))
        } else {
            spread(input, kernel, strides[i], dilations[i], [pad[2 * i], pad[2 * i + 1]])
                .ok_or_else(|| InferError::bad("pad", format!("leaves nothing of spatial dimension {i}")))?
        };
        shape.push(dim);
    }
    one(x.dtype, shape.into())
}

/// `stride * (input - 1) + dilation * (kernel - 1) + 1 - pad`; `None` where that is negative or overflows.
fn spread(input: &Dim, kernel: &Dim, stride: i64, dilation: i64, pad: [i64; 2]) -> Option<Dim> {
    let constant = 1i64.checked_sub(stride)?.checked_sub(dilation)?.checked_sub(pad[0])?.checked_sub(pad[1])?;
    let scaled = |d: &Dim, by: i64| Some(d.to_expr()?.mul(&coremill_tensor::SymExpr::constant(by)));
    let (Some(a), Some(b)) = (scaled(input, stride), scaled(kernel, dilation)) else { return Some(Dim::Unknown) };
    let sum = a?.add(&b?)?.add(&coremill_tensor::SymExpr::constant(constant))?;
    if sum.as_const().is_some_and(|n| n < 0) { None } else { Some(Dim::from_expr(sum)) }
}

fn output_shape(x: &TensorType, channels: &Dim, given: &[i64]) -> Result<Vec<Type>, InferError> {
    let dims: Option<Shape> = given.iter().map(|&n| u64::try_from(n).ok().map(Dim::Known)).collect();
    match dims {
        Some(s) if s.rank() == x.rank() && s[0].compatible(&x.shape[0]) && s[1].compatible(channels) => one(x.dtype, s),
        _ => {
            let (n, c) = (&x.shape[0], channels);
            Err(InferError::bad(
                "output_shape",
                format!("is {given:?}; it must begin with {n}, {c} and have the rank of `x`"),
            ))
        }
    }
}
