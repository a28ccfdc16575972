//! `mil_backend::sanitize_name_strings`: every name is an identifier of MIL text.
//!
//! Characters other than letters, digits and `_` become `_`; a name that starts with a digit gets the prefix
//! `var_` (an op's name: `op_`); a keyword of MIL text gets the suffix `_workaround`. A name that is changed is
//! also made unique, with `_0`, `_1`, ... Public names change only where the file format could not hold them,
//! and never to one that another input or output has.

use coremill_mil::{Function, Program};

use crate::names::{NameSanitizer, rename, sanitize_public_names};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "mil_backend::sanitize_name_strings",
    summary: "Makes every name an identifier of MIL text",
    options: &[],
    spec: include_str!("../../specs/mil_backend/sanitize_name_strings.mil"),
    make: |_: &Options| Box::new(SanitizeNameStrings),
};

struct SanitizeNameStrings;

impl Pass for SanitizeNameStrings {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        program.functions.values_mut().for_each(|f| sanitize(f, cx));
        Ok(())
    }
}

fn sanitize(f: &mut Function, cx: &mut PassContext) {
    let (mut values, mut ops) = (NameSanitizer::new("var_"), NameSanitizer::new("op_"));
    // Public names first: what is inside gives way to them.
    sanitize_public_names(f, &mut values, cx);
    for b in f.all_blocks().into_iter().skip(1) {
        for v in f.block(b).inputs().to_vec() {
            rename(f, v, &mut values, cx);
        }
    }
    for op in f.all_ops() {
        cx.visited += 1;
        for v in f.op(op).outputs().to_vec() {
            if !f.is_function_output(v) {
                rename(f, v, &mut values, cx);
            }
        }
        if let Some(old) = f.op(op).name.clone() {
            let new = ops.claim(&old);
            if new != old {
                *f.op_mut(op).name = Some(new);
                cx.rewrites += 1;
            }
        }
    }
}
