//! `common::sanitize_input_output_names`: the names of inputs and outputs are identifiers of MIL text.
//!
//! Characters other than letters, digits and `_` become `_`; a name that starts with a digit gets the prefix `var_`; a
//! keyword of MIL text gets the suffix `_workaround`. A name that is an identifier stays, and two names never become one.
//! What is inside a function is `mil_backend::sanitize_name_strings`' business.

use coremill_mil::Program;

use crate::names::{NameSanitizer, sanitize_public_names};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::sanitize_input_output_names",
    summary: "Makes the names of inputs and outputs identifiers of MIL text",
    options: &[],
    spec: include_str!("../../specs/common/sanitize_input_output_names.mil"),
    make: |_: &Options| Box::new(SanitizeInputOutputNames),
};

struct SanitizeInputOutputNames;

impl Pass for SanitizeInputOutputNames {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            cx.visited += f.inputs().len() as u64 + f.output_names().len() as u64;
            if !cx.is_exhausted() {
                sanitize_public_names(f, &mut NameSanitizer::new("var_"), cx);
            }
        }
        Ok(())
    }
}
