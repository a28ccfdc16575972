//! Runs pipelines.

use std::collections::HashMap;

use coremill_mil::Program;

use crate::instrument::{Instrument, StepInfo, StepOutcome};
use crate::pass::{PassContext, PassError};
use crate::pipeline::{Pipeline, ResolveError};
use crate::registry::Registry;

/// Checks a program after a step; gives what is wrong with it, one sentence each.
pub(crate) type Check<'a> = &'a dyn Fn(&Program) -> Vec<String>;

/// Runs pipelines on a program, telling instruments of every step.
#[derive(Default)]
pub struct PassManager<'a> {
    instruments: Vec<&'a mut dyn Instrument>,
    check: Option<Check<'a>>,
    registry: Registry,
    limits: Option<Limits>,
}

/// How far a pipeline goes: for finding the step, and the rewrite in it, that spoils a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// At most this many steps are run; the others are skipped.
    pub steps: Option<u64>,
    /// At most this many rewrites are made, over all steps; steps that come after are skipped.
    pub rewrites: Option<u64>,
}

impl Limits {
    /// Is there room for another step, after `steps` and `rewrites`?
    fn admit(&self, steps: u64, rewrites: u64) -> bool {
        self.steps.is_none_or(|n| steps < n) && self.rewrites.is_none_or(|n| rewrites < n)
    }
}

/// What a run did in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunSummary {
    /// Steps run; those that a limit kept from running are not counted.
    pub steps: usize,
    /// Steps that changed the program.
    pub changed: usize,
    /// Changes in all.
    pub rewrites: u64,
}

/// Why a pipeline did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// It names what cannot be run; nothing was.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Resolve(Vec<ResolveError>),
    /// A pass failed.
    #[error("pipeline `{pipeline}`, step {step} of {total}, `{pass}`: {error}")]
    Pass {
        /// The pipeline.
        pipeline: String,
        /// Number of the step, from 1.
        step: usize,
        /// Number of steps.
        total: usize,
        /// The pass.
        pass: String,
        /// What it reports.
        error: Box<PassError>,
    },
    /// The program does not verify after a step.
    #[error("pipeline `{pipeline}`, step {step} of {total}: the program is wrong after `{pass}`:\n{}", .problems.join("\n"))]
    Check {
        /// The pipeline.
        pipeline: String,
        /// Number of the step, from 1.
        step: usize,
        /// Number of steps.
        total: usize,
        /// The pass.
        pass: String,
        /// What is wrong.
        problems: Vec<String>,
    },
}

impl<'a> PassManager<'a> {
    /// A manager that nobody watches.
    pub fn new() -> PassManager<'a> {
        PassManager::default()
    }

    /// Adds an instrument; they are told in the order they were added.
    #[must_use]
    pub fn instrument(mut self, i: &'a mut dyn Instrument) -> PassManager<'a> {
        self.instruments.push(i);
        self
    }

    /// Checks the program with `check` after every step.
    #[must_use]
    pub fn verify_each(mut self, check: Check<'a>) -> PassManager<'a> {
        self.check = Some(check);
        self
    }

    /// Finds passes in this registry instead of among coremill's own.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> PassManager<'a> {
        self.registry = registry;
        self
    }

    /// Stops pipelines early.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> PassManager<'a> {
        self.limits = Some(limits);
        self
    }

    /// Runs a pipeline.
    ///
    /// # Errors
    /// When the pipeline names what cannot be run (then nothing is run), when a pass fails, or when the program
    /// does not verify after a step. On the last two the program is left as the failing pass left it.
    pub fn run(&mut self, pipeline: &Pipeline, program: &mut Program) -> Result<RunSummary, PipelineError> {
        let passes = pipeline.resolve(&self.registry).map_err(PipelineError::Resolve)?;
        let total = passes.len();
        let mut summary = RunSummary::default();
        let limits = self.limits.unwrap_or_default();
        let mut runs: HashMap<&str, usize> = HashMap::new();
        self.instruments.iter_mut().for_each(|i| i.before_pipeline(&pipeline.name, total, program));
        for (index, (spec, pass)) in pipeline.steps.iter().zip(&passes).enumerate() {
            let run = runs.entry(&spec.id).or_default();
            *run += 1;
            let limited = self.limits.is_some();
            let step = StepInfo { pipeline: &pipeline.name, index, total, pass: &spec.id, run: *run, limited };
            if !limits.admit(summary.steps as u64, summary.rewrites) {
                self.instruments.iter_mut().for_each(|i| i.pass_skipped(&step, program));
                continue;
            }
            summary.steps += 1;
            self.instruments.iter_mut().for_each(|i| i.before_pass(&step, program));
            let before = program.revision();
            let mut cx = PassContext::new(&spec.id);
            cx.rewrite_limit = limits.rewrites.map(|n| n - summary.rewrites);
            let result = pass.run(program, &mut cx);
            if let Err(error) = result {
                self.instruments.iter_mut().for_each(|i| i.pass_failed(&step, program, &error));
                let (pipeline, pass) = (pipeline.name.clone(), spec.id.clone());
                return Err(PipelineError::Pass { pipeline, step: index + 1, total, pass, error: Box::new(error) });
            }
            let changed = program.revision() != before;
            summary.changed += usize::from(changed);
            summary.rewrites += cx.rewrites;
            let outcome = StepOutcome { changed, rewrites: cx.rewrites, visited: cx.visited, notes: cx.notes };
            self.instruments.iter_mut().for_each(|i| i.after_pass(&step, program, &outcome));
            self.check(&step, program)?;
        }
        self.instruments.iter_mut().for_each(|i| i.after_pipeline(&pipeline.name, program));
        Ok(summary)
    }

    fn check(&mut self, step: &StepInfo<'_>, program: &Program) -> Result<(), PipelineError> {
        let problems = self.check.map_or_else(Vec::new, |check| check(program));
        if problems.is_empty() {
            return Ok(());
        }
        let error = PassError::unsupported(problems.join("; "));
        self.instruments.iter_mut().for_each(|i| i.pass_failed(step, program, &error));
        let (pipeline, pass) = (step.pipeline.to_owned(), step.pass.to_owned());
        Err(PipelineError::Check { pipeline, step: step.index + 1, total: step.total, pass, problems })
    }
}
