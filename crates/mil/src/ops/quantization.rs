//! Affine quantisation of activations.

use coremill_tensor::DType;

use super::common::{FLOATS, FOLD, INT32, axis, given, given_if, int, one, string, string_spec, tensor};
use crate::Opset::Ios17;
use crate::schema::{Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

const BYTES: &[DType] = &[DType::UInt8, DType::Int8];
const AXIS: InputSpec = InputSpec::tensor("axis", INT32).constant().optional();

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Quantize,
        summary: "`clip(round(input / scale) + zero_point)` in the range of `output_dtype`.",
        versions: &[OpVersion::new(
            Ios17,
            &[
                InputSpec::same("input", 'S', FLOATS),
                InputSpec::same("zero_point", 'D', BYTES).constant().optional(),
                InputSpec::same("scale", 'S', FLOATS).constant(),
                AXIS,
                string_spec("output_dtype"),
            ],
        )],
        flags: FOLD,
        infer: quantize,
    },
    OpSchema {
        kind: OpKind::Dequantize,
        summary: "`scale * (input - zero_point)`.",
        versions: &[OpVersion::new(
            Ios17,
            &[
                InputSpec::same("input", 'S', BYTES),
                InputSpec::same("zero_point", 'S', BYTES).constant().optional(),
                InputSpec::same("scale", 'D', FLOATS).constant(),
                AXIS,
            ],
        )],
        flags: Flags::PURE,
        infer: dequantize,
    },
];

/// Scale and zero point are both scalars, without `axis`, or both vectors along it.
fn check_scale(
    args: &OpArgs<'_>,
    input: &TensorType,
    scale: &TensorType,
    zero_point: Option<&TensorType>,
) -> Result<(), InferError> {
    let along = match scale.rank() {
        0 if args.is_given("axis") => return Err(InferError::bad("axis", "is given with a scalar `scale`")),
        0 => None,
        1 => Some(&input.shape[axis(&input.shape, int(args, "axis")?, "axis")?]),
        rank => return Err(InferError::bad("scale", format!("is of rank {rank}; it may be a scalar or a vector"))),
    };
    for (name, p) in [("scale", Some(scale)), ("zero_point", zero_point)] {
        let Some(p) = p else { continue };
        let fits = match (&p.shape[..], along) {
            ([], None) => true,
            ([n], Some(d)) => n.compatible(d),
            _ => false,
        };
        if !fits {
            return Err(InferError::bad(name, format!("is of shape {} for an input of {}", p.shape, input.shape)));
        }
    }
    Ok(())
}

fn quantize(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (input, scale, zero_point) = (tensor(args, "input")?, given(args, "scale")?, given_if(args, "zero_point")?);
    let name = string(args, "output_dtype")?;
    let Some(&dtype) = BYTES.iter().find(|d| d.name() == name) else {
        return Err(InferError::bad("output_dtype", format!("is `{name}`; there are uint8 and int8")));
    };
    if let Some(z) = &zero_point
        && z.dtype != dtype
    {
        return Err(InferError::bad("zero_point", format!("is of {}, not {dtype} as `output_dtype` says", z.dtype)));
    }
    if let Some(values) = args.value("scale").and_then(|c| c.as_data()?.to_f64s())
        && values.iter().all(|&v| v == 0.0)
    {
        return Err(InferError::bad("scale", "is zero"));
    }
    check_scale(args, input, &scale, zero_point.as_ref())?;
    one(dtype, input.shape.clone())
}

fn dequantize(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (input, scale, zero_point) = (tensor(args, "input")?, given(args, "scale")?, given_if(args, "zero_point")?);
    check_scale(args, input, &scale, zero_point.as_ref())?;
    one(scale.dtype, input.shape.clone())
}
