//! `mil_backend::sanitize_name_strings`: every name is an identifier of MIL text.
//!
//! Characters other than letters, digits and `_` become `_`; a name that starts with a digit gets the prefix
//! `var_` (an op's name: `op_`); a keyword of MIL text gets the suffix `_workaround`. A name that is changed is
//! also made unique, with `_0`, `_1`, ... Public names change only where the file format could not hold them,
//! and never to one that another input or output has.

use coremill_mil::{Function, Program, ValueId};
use rustc_hash::FxHashSet;

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

/// Words that MIL text keeps for itself.
const RESERVED: &[&str] = &[
    "any", "bool", "program", "func", "tensor", "list", "dict", "tuple", "true", "false", "string", "bf16", "fp16",
    "fp32", "fp64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "state",
];

/// Makes names identifiers and remembers them.
pub(crate) struct NameSanitizer {
    prefix: &'static str,
    taken: FxHashSet<String>,
}

impl NameSanitizer {
    /// A sanitizer that puts `prefix` before a name that starts with a digit.
    pub(crate) fn new(prefix: &'static str) -> NameSanitizer {
        NameSanitizer { prefix, taken: FxHashSet::default() }
    }

    /// The name as an identifier; a changed one is unlike any seen before.
    pub(crate) fn claim(&mut self, name: &str) -> String {
        let mut new: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if !new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            new.insert_str(0, self.prefix);
        }
        if RESERVED.contains(&new.as_str()) {
            new.push_str("_workaround");
        }
        if new != name {
            let mut suffix = 0;
            while self.taken.contains(&new) {
                new.push_str(&format!("_{suffix}"));
                suffix += 1;
            }
        }
        self.taken.insert(new.clone());
        new
    }
}

fn sanitize(f: &mut Function, cx: &mut PassContext) {
    let (mut values, mut ops) = (NameSanitizer::new("var_"), NameSanitizer::new("op_"));
    // Public names first: what is inside gives way to them.
    for v in f.inputs().to_vec() {
        rename(f, v, &mut values, cx);
    }
    let outputs: Vec<(String, ValueId)> = f.output_names().iter().cloned().zip(f.outputs()).collect();
    let renamed: Vec<(String, ValueId)> =
        outputs.iter().map(|(n, v)| (if is_input(f, *v, n) { n.clone() } else { values.claim(n) }, *v)).collect();
    for (name, v) in &renamed {
        if !f.inputs().contains(v) {
            f.set_name(*v, name.clone());
        }
    }
    if renamed != outputs {
        cx.rewrites += 1;
        f.set_outputs(renamed);
    }
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

fn is_input(f: &Function, v: ValueId, name: &str) -> bool {
    f.inputs().contains(&v) && f.value(v).name == name
}

fn rename(f: &mut Function, v: ValueId, names: &mut NameSanitizer, cx: &mut PassContext) {
    let old = f.value(v).name.clone();
    let new = names.claim(&old);
    if new != old {
        f.set_name(v, new);
        cx.rewrites += 1;
    }
}
