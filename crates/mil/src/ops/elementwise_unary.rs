//! Element-wise ops of one tensor, and `cast`.

use coremill_tensor::DType;

use super::common::{FLOATS, FOLD, NUMBERS, one, same_as_x, string, string_spec, tensor};
use crate::Opset::{self, Ios15, Ios17};
use crate::schema::{Default, Flags, InferFn, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const X_FLOAT: &[OpVersion] = &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', FLOATS)])];
const X_NUMBER: &[OpVersion] = &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', NUMBERS)])];
const X_BOOL: &[OpVersion] = &[OpVersion::new(Ios15, &[InputSpec::tensor("x", &[DType::Bool])])];

/// What `cast` reads and gives before ios17.
const CAST_15: &[DType] = &[DType::Fp16, DType::Fp32, DType::Int32, DType::Bool];
/// What `cast` reads and gives from ios17.
const CAST_17: &[DType] =
    &[DType::Fp16, DType::Fp32, DType::Int8, DType::UInt8, DType::Int16, DType::UInt16, DType::Int32, DType::Bool];

const fn def(kind: OpKind, summary: &'static str, versions: &'static [OpVersion], infer: InferFn) -> OpSchema {
    OpSchema { kind, summary, versions, flags: FOLD.and(Flags::ELEMENTWISE_UNARY), infer }
}

const fn unary(kind: OpKind, summary: &'static str) -> OpSchema {
    def(kind, summary, X_FLOAT, same_as_x)
}

const fn numeric(kind: OpKind, summary: &'static str) -> OpSchema {
    def(kind, summary, X_NUMBER, same_as_x)
}

const fn epsilon(letter: char, default: f32) -> InputSpec {
    InputSpec::same("epsilon", letter, FLOATS).constant().default(Default::Float(default))
}

/// From ios17 the element type of `epsilon` is its own.
macro_rules! with_epsilon {
    ($default:literal) => {
        &[
            OpVersion::new(Ios15, &[InputSpec::same("x", 'T', FLOATS), epsilon('T', $default)]),
            OpVersion::new(Ios17, &[InputSpec::same("x", 'T', FLOATS), epsilon('U', $default)]),
        ]
    };
}

const CLIP: &[InputSpec] = &[
    InputSpec::same("x", 'T', FLOATS),
    InputSpec::same("alpha", 'T', FLOATS).constant(),
    InputSpec::same("beta", 'T', FLOATS).constant(),
];

pub(super) const OPS: &[OpSchema] = &[
    numeric(OpKind::Abs, "Absolute value: `|x|`."),
    unary(OpKind::Acos, "Arc cosine, in radians."),
    unary(OpKind::Asin, "Arc sine, in radians."),
    unary(OpKind::Atan, "Arc tangent, in radians."),
    unary(OpKind::Atanh, "Inverse hyperbolic tangent."),
    unary(OpKind::Ceil, "Least integer that is not below `x`."),
    def(
        OpKind::Clip,
        "Limits to a range: `min(max(x, alpha), beta)`. From ios17 `alpha` must be below `beta`.",
        &[OpVersion::new(Ios15, CLIP), OpVersion::new(Ios17, CLIP)],
        clip,
    ),
    unary(OpKind::Cos, "Cosine of `x` in radians."),
    unary(OpKind::Cosh, "Hyperbolic cosine."),
    unary(OpKind::Erf, "Gauss error function."),
    unary(OpKind::Exp, "Natural exponential: `e^x`."),
    numeric(OpKind::Exp2, "Power of two: `2^x`."),
    unary(OpKind::Floor, "Greatest integer that is not above `x`."),
    def(OpKind::Inverse, "Reciprocal: `1 / (x + epsilon)`.", with_epsilon!(1e-4), same_as_x),
    def(OpKind::Log, "Natural logarithm: `ln(x + epsilon)`.", with_epsilon!(1e-45), same_as_x),
    def(OpKind::LogicalNot, "Logical negation.", X_BOOL, same_as_x),
    unary(OpKind::Round, "Nearest integer; halfway cases go to the even one."),
    def(OpKind::Rsqrt, "Reciprocal square root: `1 / sqrt(x + epsilon)`.", with_epsilon!(1e-12), same_as_x),
    numeric(OpKind::Sign, "Sign: -1, 0 or 1."),
    unary(OpKind::Sin, "Sine of `x` in radians."),
    unary(OpKind::Sinh, "Hyperbolic sine."),
    unary(OpKind::Sqrt, "Square root."),
    numeric(OpKind::Square, "Square: `x * x`."),
    unary(OpKind::Tan, "Tangent of `x` in radians."),
    unary(OpKind::Tanh, "Hyperbolic tangent."),
    def(
        OpKind::Threshold,
        "Lower limit: `max(x, alpha)`.",
        &[OpVersion::new(
            Ios15,
            &[InputSpec::same("x", 'T', NUMBERS), InputSpec::same("alpha", 'T', NUMBERS).constant()],
        )],
        same_as_x,
    ),
    def(
        OpKind::Cast,
        "Converts to the element type that `dtype` names.",
        &[
            OpVersion::new(Ios15, &[InputSpec::same("x", 'T', CAST_15), string_spec("dtype")]),
            OpVersion::new(Ios17, &[InputSpec::same("x", 'T', CAST_17), string_spec("dtype")]),
        ],
        cast,
    ),
];

fn clip(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let bound = |name| args.value(name).and_then(|c| c.as_f64());
    if args.opset >= Opset::Ios17
        && let (Some(alpha), Some(beta)) = (bound("alpha"), bound("beta"))
        && alpha >= beta
    {
        return Err(InferError::bad("alpha", format!("is {alpha}, which must be below `beta`, {beta}")));
    }
    same_as_x(args)
}

fn cast(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let name = string(args, "dtype")?;
    let targets = if args.opset >= Opset::Ios17 { CAST_17 } else { CAST_15 };
    let Some(&dtype) = targets.iter().find(|d| d.name() == name) else {
        let list: Vec<&str> = targets.iter().map(|d| d.name()).collect();
        return Err(InferError::bad("dtype", format!("is `{name}`; {} has {}", args.opset, list.join(", "))));
    };
    one(dtype, tensor(args, "x")?.shape.clone())
}
