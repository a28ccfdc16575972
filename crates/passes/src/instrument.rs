//! What watches a pipeline run: progress, timing, dumps, records.

use coremill_mil::Program;

use crate::pass::PassError;

/// A step of a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct StepInfo<'a> {
    /// Name of the pipeline.
    pub pipeline: &'a str,
    /// Position of the step, from 0.
    pub index: usize,
    /// Number of steps.
    pub total: usize,
    /// The pass's id.
    pub pass: &'a str,
    /// Which run of this pass in the pipeline it is, from 1.
    pub run: usize,
    /// Is the run of the pipeline limited (see [`Limits`](crate::Limits))? Then its steps count.
    pub limited: bool,
}

/// What a step did.
#[derive(Debug, Clone, Default)]
pub struct StepOutcome {
    /// Did the program change? Taken from the program's revision, not claimed by the pass.
    pub changed: bool,
    /// Changes the pass counted.
    pub rewrites: u64,
    /// Ops the pass looked at.
    pub visited: u64,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// Watches a pipeline run. Every method does nothing by default.
pub trait Instrument {
    /// A pipeline of `total` steps begins.
    fn before_pipeline(&mut self, _name: &str, _total: usize, _program: &Program) {}
    /// A step begins.
    fn before_pass(&mut self, _step: &StepInfo<'_>, _program: &Program) {}
    /// A step ended well.
    fn after_pass(&mut self, _step: &StepInfo<'_>, _program: &Program, _outcome: &StepOutcome) {}
    /// A step is not run, since a limit is reached.
    fn pass_skipped(&mut self, _step: &StepInfo<'_>, _program: &Program) {}
    /// A step failed, or the program it left does not verify.
    fn pass_failed(&mut self, _step: &StepInfo<'_>, _program: &Program, _error: &PassError) {}
    /// A pipeline ended well.
    fn after_pipeline(&mut self, _name: &str, _program: &Program) {}
}
