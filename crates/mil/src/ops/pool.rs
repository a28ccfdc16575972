//! Pooling.

use coremill_tensor::Dim;

use super::common::{FLOATS, INT32, bool_or, bool_spec, ints, one, string, string_spec, tensor};
use super::spatial::{PadType, Windows, per_dimension};
use crate::Opset::{self, Ios15};
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const X: InputSpec = InputSpec::same("x", 'T', FLOATS);

const fn ints_spec(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, INT32).constant()
}

const KERNEL: InputSpec = ints_spec("kernel_sizes");
const STRIDES: InputSpec = ints_spec("strides").default(Default::Computed("1 per spatial dimension"));
const PAD: InputSpec = ints_spec("pad").default(Default::Computed("0 before and after each spatial dimension"));
const CEIL: InputSpec = bool_spec("ceil_mode", false);

const INPUTS: &[InputSpec] = &[X, KERNEL, STRIDES, string_spec("pad_type"), PAD, CEIL];
const AVERAGE_INPUTS: &[InputSpec] =
    &[bool_spec("exclude_padding_from_average", false), X, KERNEL, STRIDES, string_spec("pad_type"), PAD, CEIL];

const fn def(kind: OpKind, summary: &'static str, versions: &'static [OpVersion]) -> OpSchema {
    OpSchema { kind, summary, versions, flags: Flags::PURE, infer: pool }
}

pub(super) const OPS: &[OpSchema] = &[
    def(OpKind::AvgPool, "Mean of each window of the spatial dimensions.", &[OpVersion::new(Ios15, AVERAGE_INPUTS)]),
    def(OpKind::L2Pool, "Euclidean norm of each window: `sqrt(sum(x * x))`.", &[OpVersion::new(Ios15, INPUTS)]),
    def(OpKind::MaxPool, "Greatest element of each window.", &[OpVersion::new(Ios15, INPUTS)]),
];

fn pool(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    let [n, channels, spatial @ ..] = &x.shape[..] else {
        return Err(InferError::bad("x", format!("is of rank {}, without spatial dimensions", x.rank())));
    };
    let rank = spatial.len();
    if args.kind == OpKind::L2Pool && rank > 2 {
        return Err(InferError::bad("x", format!("has {rank} spatial dimensions; l2_pool takes 1 and 2")));
    }
    let kernel = ints(args, "kernel_sizes")?;
    if kernel.len() != rank || kernel.iter().any(|&k| k < 1) {
        return Err(InferError::bad("kernel_sizes", format!("is {kernel:?} for {rank} spatial dimensions")));
    }
    let ceil = bool_or(args, "ceil_mode", false)?;
    let windows = Windows {
        kernel: kernel.iter().map(|&k| Dim::Known(k.unsigned_abs())).collect(),
        strides: per_dimension(args, "strides", rank, 1, 1)?,
        dilations: vec![1; rank],
        pad: per_dimension(args, "pad", 2 * rank, 0, 0)?,
        ceil,
    };
    let pad_type = pad_type(args)?;
    if ceil {
        check_ceil(args, &windows, rank)?;
    }
    let mut shape: Vec<Dim> = vec![n.clone(), channels.clone()];
    shape.extend(windows.count(spatial, pad_type)?);
    one(x.dtype, shape.into())
}

/// Case does not matter here, unlike in `conv`.
fn pad_type(args: &OpArgs<'_>) -> Result<PadType, InferError> {
    let spelled = string(args, "pad_type")?;
    match spelled.to_ascii_lowercase().as_str() {
        "valid" => Ok(PadType::Valid),
        "same" => Ok(PadType::Same),
        "custom" => Ok(PadType::Custom),
        "same_lower" if args.opset > Opset::Ios15 => Ok(PadType::Same),
        "same_lower" => Err(InferError::bad("pad_type", "is same_lower, which came with ios16")),
        _ => Err(InferError::bad("pad_type", format!("is `{spelled}`; there are valid, same, same_lower and custom"))),
    }
}

fn check_ceil(args: &OpArgs<'_>, windows: &Windows, rank: usize) -> Result<(), InferError> {
    if rank > 2 {
        return Err(InferError::bad("ceil_mode", format!("is for 1 and 2 spatial dimensions; `x` has {rank}")));
    }
    if string(args, "pad_type")?.eq_ignore_ascii_case("same") {
        return Err(InferError::bad("ceil_mode", "does not go with pad_type same"));
    }
    if windows.pad.chunks_exact(2).any(|p| p[0] != p[1]) {
        return Err(InferError::bad("pad", "must be the same before and after each dimension in ceil mode"));
    }
    Ok(())
}
