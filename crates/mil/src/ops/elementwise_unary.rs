//! Element-wise ops of one tensor.

use super::common::{FLOATS, same_as_x};
use crate::OpKind;
use crate::Opset::Ios15;
use crate::schema::{Flags, InputSpec, OpSchema, OpVersion};

const X_FLOAT: &[OpVersion] = &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', FLOATS)])];

const fn unary(kind: OpKind, summary: &'static str) -> OpSchema {
    OpSchema {
        kind,
        summary,
        versions: X_FLOAT,
        flags: Flags::PURE.and(Flags::ELEMENTWISE_UNARY).and(Flags::FOLDABLE),
        infer: same_as_x,
    }
}

pub(super) const OPS: &[OpSchema] = &[unary(OpKind::Acos, "Arc cosine, in radians.")];
