//! Random numbers.

use coremill_tensor::{DType, Dim};

use super::common::{FLOATS, INT32, int_or, int_spec, one, string_spec, tensor};
use super::tensor_operation::extents;
use crate::Opset::Ios15;
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const SHAPE: InputSpec = InputSpec::tensor("shape", INT32);
const SEED: InputSpec = int_spec("seed").default(Default::Int(-1));

const fn parameter(name: &'static str, default: f32) -> InputSpec {
    InputSpec::same(name, 'T', FLOATS).constant().default(Default::Float(default))
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::RandomBernoulli,
        summary: "1 with probability `prob`, else 0.",
        versions: &[OpVersion::new(Ios15, &[SHAPE, parameter("prob", 0.5), SEED])],
        flags: Flags::RANDOM,
        infer: |a| of_shape(a, "prob"),
    },
    OpSchema {
        kind: OpKind::RandomCategorical,
        summary: "`size` draws from each row of logits or probabilities.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                InputSpec::same("x", 'T', FLOATS),
                string_spec("mode").default(Default::Str("logits")),
                int_spec("size").default(Default::Int(1)),
                SEED,
            ],
        )],
        flags: Flags::RANDOM,
        infer: categorical,
    },
    OpSchema {
        kind: OpKind::RandomNormal,
        summary: "Draws from a normal distribution.",
        versions: &[OpVersion::new(Ios15, &[SHAPE, parameter("mean", 0.0), parameter("stddev", 1.0), SEED])],
        flags: Flags::RANDOM,
        infer: |a| of_shape(a, "mean"),
    },
    OpSchema {
        kind: OpKind::RandomUniform,
        summary: "Draws from a uniform distribution on `low..high`.",
        versions: &[OpVersion::new(Ios15, &[SHAPE, parameter("low", 0.0), parameter("high", 1.0), SEED])],
        flags: Flags::RANDOM,
        infer: |a| of_shape(a, "low"),
    },
];

fn of_shape(args: &OpArgs<'_>, like: &'static str) -> Result<Vec<Type>, InferError> {
    let dtype = args.ty(like).and_then(Type::dtype).unwrap_or(DType::Fp32);
    Ok(vec![extents(args, "shape")?.map_or(Type::Unranked(dtype), |s| Type::tensor(dtype, s))])
}

fn categorical(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    let size = int_or(args, "size", 1)?;
    let mut shape = x.shape.clone();
    match shape.dims_mut().last_mut() {
        Some(last) => *last = u64::try_from(size).map_or(Dim::Unknown, Dim::Known),
        None => return Err(InferError::bad("x", "is a scalar")),
    }
    one(x.dtype, shape)
}
