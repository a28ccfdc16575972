//! Ops that a lowering of PyTorch makes and a pass replaces before writing.

use coremill_tensor::{Dim, Shape};

use super::common::{BOOL, FLOATS, INT32, NUMBERS, bool_spec, one, tensor};
use super::tensor_transformation::sliced_shape;
use crate::Opset::Ios15;
use crate::schema::{Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const DIALECT: Flags = Flags::PURE.and(Flags::DIALECT);
const X: InputSpec = InputSpec::same("x", 'T', FLOATS);
const HEIGHT: InputSpec = InputSpec::tensor("output_height", INT32);
const WIDTH: InputSpec = InputSpec::tensor("output_width", INT32);

const fn mask(name: &'static str) -> InputSpec {
    InputSpec::tensor(name, BOOL).constant().optional()
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::TorchUpsampleNearestNeighbor,
        summary: "To a height and width computed at run time, each element taken from the nearest.",
        versions: &[OpVersion::new(Ios15, &[X, HEIGHT, WIDTH])],
        flags: DIALECT,
        infer: upsample,
    },
    OpSchema {
        kind: OpKind::TorchUpsampleBilinear,
        summary: "To a height and width computed at run time, interpolated linearly.",
        versions: &[OpVersion::new(Ios15, &[X, HEIGHT, WIDTH, bool_spec("align_corners", true)])],
        flags: DIALECT,
        infer: upsample,
    },
    OpSchema {
        kind: OpKind::TorchTensorAssign,
        summary: "`x` with `x[begin:end:stride]` replaced by `updates`.",
        versions: &[OpVersion::new(
            Ios15,
            &[
                InputSpec::same("x", 'T', NUMBERS),
                InputSpec::same("updates", 'T', NUMBERS),
                InputSpec::tensor("begin", INT32),
                InputSpec::tensor("end", INT32),
                InputSpec::tensor("stride", INT32).constant().optional(),
                mask("begin_mask"),
                mask("end_mask"),
                mask("squeeze_mask"),
            ],
        )],
        flags: DIALECT,
        infer: assign,
    },
];

fn upsample(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let x = tensor(args, "x")?;
    tensor(args, "output_height")?;
    tensor(args, "output_width")?;
    match &x.shape[..] {
        [n, c, _, _] => one(x.dtype, vec![n.clone(), c.clone(), Dim::Unknown, Dim::Unknown].into()),
        _ => Err(InferError::bad("x", format!("must be of rank 4 and is of shape {}", x.shape))),
    }
}

fn assign(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let (x, updates) = (tensor(args, "x")?, tensor(args, "updates")?);
    let target: Shape = sliced_shape(args)?;
    if target.rank() != updates.rank() || !target.compatible(&updates.shape) {
        return Err(InferError::bad("updates", format!("are of shape {}; the slice is of {target}", updates.shape)));
    }
    Ok(vec![Type::Tensor(x.clone())])
}
