//! State as passes see it: the ops that touch one, and what a write writes.

use coremill_mil::{Function, OpId, OpKind, Type, ValueId};

/// The states of a function, each with the ops that touch it, in program order.
pub(crate) fn states(f: &Function) -> Vec<(ValueId, Vec<OpId>)> {
    let is_state = |v: &ValueId| matches!(f.ty(*v), Type::State(_));
    f.inputs().iter().copied().filter(is_state).map(|v| (v, f.users(v))).collect()
}

/// The value that an op writes to a state.
pub(crate) fn written(f: &Function, op: OpId) -> Option<ValueId> {
    match f.kind(op) {
        OpKind::CoremlUpdateState => f.op(op).arg("value"),
        OpKind::WriteState => f.op(op).arg("data"),
        _ => None,
    }
}
