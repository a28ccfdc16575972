//! Reductions along dimensions.

use coremill_tensor::{DType, Dim, Shape};

use super::common::{FOLD, INT32, NUMBERS, axis, bool_or, bool_spec, int_or, int_spec, ints_if, one, string_or};
use super::common::{string_spec, tensor};
use crate::Opset::{self, Ios15, Ios17};
use crate::schema::{Default, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const X: InputSpec = InputSpec::same("x", 'T', NUMBERS);
const KEEP_DIMS: InputSpec = bool_spec("keep_dims", false);

const AXES: &[OpVersion] = &[OpVersion::new(
    Ios15,
    &[X, InputSpec::tensor("axes", INT32).constant().default(Default::Computed("every axis of `x`")), KEEP_DIMS],
)];

const AXIS: InputSpec = int_spec("axis").default(Default::Int(-1));

const ARG: &[OpVersion] = &[
    OpVersion::new(Ios15, &[X, AXIS, KEEP_DIMS]),
    OpVersion::new(Ios17, &[X, AXIS, KEEP_DIMS, string_spec("output_dtype").default(Default::Str("int32"))]),
];

const fn over_axes(kind: OpKind, summary: &'static str) -> OpSchema {
    OpSchema { kind, summary, versions: AXES, flags: FOLD, infer: reduce }
}

const fn arg(kind: OpKind, summary: &'static str) -> OpSchema {
    OpSchema { kind, summary, versions: ARG, flags: FOLD, infer: reduce_arg }
}

pub(super) const OPS: &[OpSchema] = &[
    arg(OpKind::ReduceArgmax, "Index of the greatest element along `axis`."),
    arg(OpKind::ReduceArgmin, "Index of the least element along `axis`."),
    over_axes(OpKind::ReduceL1Norm, "Sum of absolute values: `sum(|x|)`."),
    over_axes(OpKind::ReduceL2Norm, "Euclidean norm: `sqrt(sum(x * x))`."),
    over_axes(OpKind::ReduceLogSum, "Logarithm of the sum: `ln(sum(x))`."),
    over_axes(OpKind::ReduceLogSumExp, "Logarithm of the sum of exponentials: `ln(sum(e^x))`."),
    over_axes(OpKind::ReduceMax, "Greatest element."),
    over_axes(OpKind::ReduceMean, "Arithmetic mean."),
    over_axes(OpKind::ReduceMin, "Least element."),
    over_axes(OpKind::ReduceProd, "Product."),
    over_axes(OpKind::ReduceSum, "Sum."),
    over_axes(OpKind::ReduceSumSquare, "Sum of squares: `sum(x * x)`."),
];

/// The extents that are left: a reduced one becomes 1 or goes.
fn reduced(shape: &Shape, reduced: &[bool], keep: bool) -> Shape {
    let left = |(dim, gone): (&Dim, &bool)| match gone {
        true if keep => Some(Dim::Known(1)),
        true => None,
        false => Some(dim.clone()),
    };
    shape.iter().zip(reduced).filter_map(left).collect()
}

fn reduce(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    let mut gone = vec![true; x.rank()];
    if let Some(axes) = ints_if(args, "axes")? {
        gone.fill(false);
        for a in axes {
            if std::mem::replace(&mut gone[axis(&x.shape, a, "axes")?], true) {
                return Err(InferError::bad("axes", format!("names axis {a} twice")));
            }
        }
    }
    one(x.dtype, reduced(&x.shape, &gone, bool_or(args, "keep_dims", false)?))
}

fn reduce_arg(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    let mut gone = vec![false; x.rank()];
    gone[axis(&x.shape, int_or(args, "axis", -1)?, "axis")?] = true;
    let mut dtype = DType::Int32;
    if args.opset >= Opset::Ios17 {
        dtype = match string_or(args, "output_dtype", "int32")?.to_ascii_lowercase().as_str() {
            "int32" => DType::Int32,
            "uint16" => DType::UInt16,
            other => return Err(InferError::bad("output_dtype", format!("is `{other}`; there are int32 and uint16"))),
        };
    }
    one(dtype, reduced(&x.shape, &gone, bool_or(args, "keep_dims", false)?))
}
