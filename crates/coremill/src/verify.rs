//! Is a program valid MIL? One place that says so for the whole library.

use coremill_mil::{OpKind, Program, infer_op};

/// How many problems of a program are told.
const SHOWN: usize = 20;

/// What is wrong with a program, one sentence each; empty when nothing is.
///
/// Checked is that every op is in the table, takes the arguments it has, and gives the types that are declared.
pub fn problems(program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for (name, f) in &program.functions {
        for op in f.all_ops() {
            let o = f.op(op);
            let at = || {
                let called = o.outputs().first().map(|&v| format!(" `{}`", f.value(v).name));
                format!("{name}: {}{}", o.type_name(), called.unwrap_or_default())
            };
            if o.kind == OpKind::Unknown {
                found.push(format!("{} is no op that the table has", at()));
                continue;
            }
            match infer_op(f, op) {
                Err(e) => found.push(format!("{}: {e}", at())),
                Ok(types) => {
                    for (ty, &v) in types.iter().zip(o.outputs()) {
                        if !ty.compatible(f.ty(v)) {
                            found.push(format!("{} gives {ty}, but is declared as {}", at(), f.ty(v)));
                        }
                    }
                }
            }
        }
    }
    let more = found.len().saturating_sub(SHOWN);
    if more > 0 {
        found.truncate(SHOWN);
        found.push(format!("and {more} more"));
    }
    found
}
