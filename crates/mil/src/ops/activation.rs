//! Activation functions.

use super::common::{FLOATS, FOLD, axis, int_or, int_spec, same_as_x, string_or, string_spec, tensor};
use crate::Opset::{Ios15, Ios17};
use crate::schema::{Default, Flags, InferFn, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

const X: InputSpec = InputSpec::same("x", 'T', FLOATS);

const fn parameter(name: &'static str, letter: char) -> InputSpec {
    InputSpec::same(name, letter, FLOATS).constant()
}

const ONLY_X: &[OpVersion] = &[OpVersion::new(Ios15, &[X])];

/// From ios17 the parameters have an element type of their own.
const ALPHA: &[OpVersion] =
    &[OpVersion::new(Ios15, &[X, parameter("alpha", 'T')]), OpVersion::new(Ios17, &[X, parameter("alpha", 'U')])];

const ALPHA_BETA: &[OpVersion] = &[
    OpVersion::new(Ios15, &[X, parameter("alpha", 'T'), parameter("beta", 'T')]),
    OpVersion::new(Ios17, &[X, parameter("alpha", 'U'), parameter("beta", 'U')]),
];

const fn elementwise(kind: OpKind, summary: &'static str, versions: &'static [OpVersion]) -> OpSchema {
    OpSchema { kind, summary, versions, flags: FOLD.and(Flags::ELEMENTWISE_UNARY), infer: same_as_x }
}

const fn def(kind: OpKind, summary: &'static str, versions: &'static [OpVersion], infer: InferFn) -> OpSchema {
    OpSchema { kind, summary, versions, flags: FOLD, infer }
}

pub(super) const OPS: &[OpSchema] = &[
    elementwise(OpKind::ClampedRelu, "`min(beta, x)` for `x >= 0`, else `min(beta, alpha * x)`.", ALPHA_BETA),
    elementwise(OpKind::Elu, "`x` for `x > 0`, else `alpha * (e^x - 1)`.", ALPHA),
    OpSchema {
        kind: OpKind::Gelu,
        summary: "Gaussian error linear unit: `x * P(X <= x)` for a standard normal `X`, exact or by `tanh` or `sigmoid`.",
        versions: &[OpVersion::new(Ios15, &[X, string_spec("mode").default(Default::Str("EXACT"))])],
        flags: FOLD.and(Flags::ELEMENTWISE_UNARY),
        infer: gelu,
    },
    elementwise(OpKind::LeakyRelu, "`x` for `x >= 0`, else `alpha * x`.", ALPHA),
    elementwise(OpKind::LinearActivation, "`alpha * x + beta`.", ALPHA_BETA),
    def(OpKind::Prelu, "`x` for `x > 0`, else `alpha[c] * x`, with the channel `c` in dimension 1.", ALPHA, prelu),
    elementwise(OpKind::Relu, "`max(x, 0)`.", ONLY_X),
    elementwise(OpKind::Relu6, "`min(max(x, 0), 6)`.", ONLY_X),
    elementwise(OpKind::ScaledTanh, "`alpha * tanh(beta * x)`.", ALPHA_BETA),
    elementwise(OpKind::Sigmoid, "`1 / (1 + e^-x)`.", ONLY_X),
    elementwise(OpKind::SigmoidHard, "`min(max(alpha * x + beta, 0), 1)`.", ALPHA_BETA),
    OpSchema {
        kind: OpKind::Silu,
        summary: "`x * sigmoid(x)`, also known as swish.",
        versions: ONLY_X,
        flags: Flags::PURE.and(Flags::ELEMENTWISE_UNARY),
        infer: same_as_x,
    },
    elementwise(OpKind::Softplus, "`ln(1 + e^x)`.", ONLY_X),
    def(
        OpKind::SoftplusParametric,
        "`alpha[c] * ln(1 + e^(beta[c] * x))`, with the channel `c` in dimension 1.",
        ALPHA_BETA,
        softplus_parametric,
    ),
    def(
        OpKind::Softmax,
        "`e^x` divided by its sum along `axis`.",
        &[OpVersion::new(Ios15, &[X, int_spec("axis").default(Default::Int(-1))])],
        softmax,
    ),
    elementwise(OpKind::Softsign, "`x / (1 + |x|)`.", ONLY_X),
    elementwise(OpKind::ThresholdedRelu, "`x` for `x >= alpha`, else 0.", ALPHA),
];

fn gelu(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    match string_or(args, "mode", "EXACT")? {
        "EXACT" | "TANH_APPROXIMATION" | "SIGMOID_APPROXIMATION" => same_as_x(args),
        other => Err(InferError::bad(
            "mode",
            format!("is `{other}`; there are EXACT, TANH_APPROXIMATION and SIGMOID_APPROXIMATION"),
        )),
    }
}

fn softmax(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    axis(&tensor(args, "x")?.shape, int_or(args, "axis", -1)?, "axis")?;
    same_as_x(args)
}

/// Holds a parameter to have one element per channel of `x`.
fn per_channel(args: &OpArgs<'_>, x: &TensorType, name: &'static str) -> Result<(), InferError> {
    let p = tensor(args, name)?;
    match (&p.shape[..], x.shape.get(1)) {
        ([n], Some(channels)) if n.compatible(channels) => Ok(()),
        ([n], Some(channels)) => Err(InferError::bad(name, format!("has {n} elements for {channels} channels"))),
        _ => Err(InferError::bad(name, format!("is of shape {}, not one number per channel", p.shape))),
    }
}

fn prelu(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    if !(3..=5).contains(&x.rank()) {
        return Err(InferError::bad("x", format!("is of rank {}; prelu takes 3, 4 and 5", x.rank())));
    }
    per_channel(args, x, "alpha")?;
    if x.rank() != 4
        && let Some(alpha) = args.value("alpha").and_then(|c| c.as_data()?.to_f64s())
        && let Some(first) = alpha.first()
        && alpha.iter().any(|a| (a - first).abs() > 1e-5)
    {
        return Err(InferError::bad("alpha", "must be the same for all channels unless `x` is of rank 4"));
    }
    same_as_x(args)
}

fn softplus_parametric(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    if x.rank() < 3 {
        return Err(InferError::bad("x", format!("is of rank {}, below 3", x.rank())));
    }
    per_channel(args, x, "alpha")?;
    per_channel(args, x, "beta")?;
    same_as_x(args)
}
