//! The lines that tell which steps ran, in the words of LLVM's opt-bisect.
//!
//! `BISECT: running pass (3) common::noop_elimination on default (step 3 of 95)`, and `BISECT: NOT running pass` for
//! those behind the limit: bisecting by hand, or by a script, is a matter of reading and of another number.

use coremill_mil::Program;
use coremill_passes::{Instrument, StepInfo};

use crate::output;

/// Prints a line on stderr for each step that counts.
#[derive(Debug, Default)]
pub(crate) struct BisectLines {
    counted: u64,
}

impl BisectLines {
    fn line(&mut self, what: &str, step: &StepInfo<'_>) {
        if step.limited {
            self.counted += 1;
            let (n, index, total) = (self.counted, step.index + 1, step.total);
            output::say(&format!(
                "BISECT: {what} pass ({n}) {} on {} (step {index} of {total})",
                step.pass, step.pipeline
            ));
        }
    }
}

impl Instrument for BisectLines {
    fn before_pass(&mut self, step: &StepInfo<'_>, _: &Program) {
        self.line("running", step);
    }

    fn pass_skipped(&mut self, step: &StepInfo<'_>, _: &Program) {
        self.line("NOT running", step);
    }
}
