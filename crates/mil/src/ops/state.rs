//! State: values that outlive a call.

use super::tensor_transformation::MOVED_17;
use crate::Opset::Ios18;
use crate::schema::{Domain, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

const INPUT: InputSpec = InputSpec::of("input", Domain::State);

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::ReadState,
        summary: "What the state holds.",
        versions: &[OpVersion::new(Ios18, &[INPUT])],
        flags: Flags::READS_STATE,
        infer: |a| held(a, "input").map(|t| vec![t.clone()]),
    },
    OpSchema {
        kind: OpKind::WriteState,
        summary: "Makes the state hold `data`. It has no result.",
        versions: &[OpVersion::new(Ios18, &[INPUT, InputSpec::of("data", Domain::Any)])],
        flags: Flags::WRITES_STATE,
        infer: |a| same(a, "input", "data").map(|_| Vec::new()),
    },
    OpSchema {
        kind: OpKind::CoremlUpdateState,
        summary: "Makes the state hold `value` and reads it back; written as `write_state` and `read_state`.",
        versions: &[OpVersion::new(
            Ios18,
            &[InputSpec::of("state", Domain::State), InputSpec::same("value", 'T', MOVED_17)],
        )],
        flags: Flags::WRITES_STATE.and(Flags::READS_STATE).and(Flags::DIALECT),
        infer: |a| same(a, "state", "value").map(|t| vec![t]),
    },
];

fn held<'a>(args: &OpArgs<'a>, name: &'static str) -> Result<&'a Type, InferError> {
    let ty = args.ty(name).ok_or(InferError::Missing(name))?;
    ty.state_inner().ok_or_else(|| InferError::bad(name, format!("is {ty}, not a state")))
}

fn same(args: &OpArgs<'_>, state: &'static str, value: &'static str) -> Result<Type, InferError> {
    let held = held(args, state)?;
    let given = args.ty(value).ok_or(InferError::Missing(value))?;
    if held.compatible(given) {
        Ok(held.clone())
    } else {
        Err(InferError::Mismatch(format!("the state holds {held} and `{value}` is {given}")))
    }
}
