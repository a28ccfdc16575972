//! Normalisations.

use coremill_tensor::Shape;

use super::common::{FLOATS, FOLD, INT32, axis, given_if, int_spec, ints_if, same_as_x, tensor};
use crate::Opset::{Ios15, Ios17};
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const X: InputSpec = InputSpec::same("x", 'T', FLOATS);

const fn parameter(name: &'static str, letter: char) -> InputSpec {
    InputSpec::same(name, letter, FLOATS).constant()
}

const fn scalar(name: &'static str, letter: char, default: f32) -> InputSpec {
    parameter(name, letter).default(Default::Float(default))
}

/// From ios17 the parameters have an element type of their own.
macro_rules! versions {
    (|$letter:ident| $inputs:expr) => {
        &[
            OpVersion::new(Ios15, {
                const $letter: char = 'T';
                $inputs
            }),
            OpVersion::new(Ios17, {
                const $letter: char = 'U';
                $inputs
            }),
        ]
    };
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::BatchNorm,
        summary: "Per channel: `gamma * (x - mean) / sqrt(variance + epsilon) + beta`.",
        versions: versions!(|U| &[
            X,
            parameter("mean", U),
            parameter("variance", U),
            parameter("gamma", U).optional(),
            parameter("beta", U).optional(),
            scalar("epsilon", U, 1e-5),
        ]),
        flags: Flags::PURE,
        infer: same_as_x,
    },
    OpSchema {
        kind: OpKind::InstanceNorm,
        summary: "Per sample and channel: `gamma * (x - E[x]) / sqrt(Var[x] + epsilon) + beta`.",
        versions: versions!(|U| &[
            X,
            parameter("gamma", U).optional(),
            parameter("beta", U).optional(),
            scalar("epsilon", U, 1e-5),
        ]),
        flags: Flags::PURE,
        infer: same_as_x,
    },
    OpSchema {
        kind: OpKind::L2Norm,
        summary: "Over the three innermost dimensions: `x / sqrt(sum(x * x) + epsilon)`.",
        versions: versions!(|U| &[X, scalar("epsilon", U, 1e-6)]),
        flags: FOLD,
        infer: l2_norm,
    },
    OpSchema {
        kind: OpKind::LayerNorm,
        summary: "Over `axes`: `gamma * (x - E[x]) / sqrt(Var[x] + epsilon) + beta`.",
        versions: versions!(|U| &[
            X,
            InputSpec::tensor("axes", INT32).constant().default(Default::Computed("every axis of `x`")),
            parameter("gamma", U).optional(),
            parameter("beta", U).optional(),
            scalar("epsilon", U, 1e-5),
        ]),
        flags: FOLD,
        infer: layer_norm,
    },
    OpSchema {
        kind: OpKind::LocalResponseNorm,
        summary: "Over `size` neighbouring channels: `x / (k + alpha / size * sum(x * x))^beta`.",
        versions: versions!(|U| &[
            X,
            int_spec("size"),
            scalar("alpha", U, 1e-4),
            scalar("beta", U, 0.75),
            scalar("k", U, 1.0),
        ]),
        flags: Flags::PURE,
        infer: same_as_x,
    },
];

fn l2_norm(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    match tensor(args, "x")?.rank() {
        rank @ 0..3 => Err(InferError::bad("x", format!("is of rank {rank}, below 3"))),
        _ => same_as_x(args),
    }
}

fn layer_norm(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    let mut normalized = vec![true; x.rank()];
    if let Some(axes) = ints_if(args, "axes")? {
        normalized.fill(false);
        for a in axes {
            normalized[axis(&x.shape, a, "axes")?] = true;
        }
    }
    let shape: Shape = x.shape.iter().zip(&normalized).filter(|(_, n)| **n).map(|(d, _)| d.clone()).collect();
    for name in ["gamma", "beta"] {
        if let Some(p) = given_if(args, name)?
            && !p.shape.compatible(&shape)
        {
            return Err(InferError::bad(name, format!("is of shape {}, not {shape}", p.shape)));
        }
    }
    same_as_x(args)
}
