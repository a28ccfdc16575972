//! Ops by type, counted.

use std::collections::BTreeMap;

use super::is_written_as_literal;
use crate::{Function, OpKind};

/// By op type: how many in A, how many in B.
pub type Counts = BTreeMap<String, (usize, usize)>;

/// The ops of a function by type, those of nested blocks too; with `consts` also the `const` ops (but for those that
/// files hold as literals).
pub fn count_ops(f: &Function, consts: bool) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for id in f.all_ops() {
        let op = f.op(id);
        if op.kind == OpKind::Const && (!consts || is_written_as_literal(f, id)) {
            continue;
        }
        *out.entry(op.type_name().to_owned()).or_insert(0) += 1;
    }
    out
}

/// The ops of two functions by type, side by side.
pub fn counts(a: &Function, b: &Function, consts: bool) -> Counts {
    let mut out = Counts::new();
    for (op, n) in count_ops(a, consts) {
        out.entry(op).or_default().0 = n;
    }
    for (op, n) in count_ops(b, consts) {
        out.entry(op).or_default().1 = n;
    }
    out
}
