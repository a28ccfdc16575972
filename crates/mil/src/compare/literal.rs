//! Which `const` ops files hold as literals.

use crate::{Function, OpId, OpKind, Use};

/// Is the op a `const` that files hold only as a literal in the ops that use it?
///
/// These ops take no `const` there: `constexpr_*`, whose arguments are literals or attributes, and `classify`, whose
/// classes are a literal.
pub fn is_written_as_literal(f: &Function, op: OpId) -> bool {
    let node = f.op(op);
    let [v] = node.outputs() else { return false };
    let uses = f.value(*v).uses();
    node.kind == OpKind::Const
        && !uses.is_empty()
        && uses.iter().all(|u| match *u {
            Use::Op { op, input, .. } => {
                let user = f.op(op);
                let param = user.inputs().nth(input as usize).map(|(name, _)| name);
                user.type_name().starts_with("constexpr_")
                    || (user.kind == OpKind::Classify && param == Some("classes"))
            }
            Use::Output { .. } => false,
        })
}
