//! Runs pipelines.

use std::collections::HashMap;

use coremill_mil::Program;

use crate::instrument::{Instrument, StepInfo, StepOutcome};
use crate::pass::{PassContext, PassError};
use crate::pipeline::{PassSpec, Pipeline, ResolveError};
use crate::registry::{Registry, find_pass};

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

/// What coremill's own passes have left as it is. Such a pass finds nothing more in a program that has not changed since
/// it ran, so a pipeline that names it again need not look again. Passes of a library user are always run.
#[derive(Default)]
struct Settled<'p> {
    /// The state of every function when the step's pass was done, by the pass and its options.
    left: HashMap<(&'p str, String), Vec<(String, u64)>>,
}

impl<'p> Settled<'p> {
    fn key(spec: &'p PassSpec) -> (&'p str, String) {
        let options = if spec.options.is_empty() { String::new() } else { format!("{:?}", spec.options) };
        (&spec.id, options)
    }

    fn state(program: &Program) -> Vec<(String, u64)> {
        program.functions.iter().map(|(name, f)| (name.clone(), f.revision())).collect()
    }

    fn knows(&self, spec: &'p PassSpec, program: &Program) -> bool {
        self.left.get(&Settled::key(spec)).is_some_and(|left| *left == Settled::state(program))
    }

    fn note(&mut self, spec: &'p PassSpec, program: &Program) {
        self.left.insert(Settled::key(spec), Settled::state(program));
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
        let mut settled = Settled::default();
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
            let settles = find_pass(&spec.id).is_some();
            let result = if settles && settled.knows(spec, program) { Ok(()) } else { pass.run(program, &mut cx) };
            if let Err(error) = result {
                self.instruments.iter_mut().for_each(|i| i.pass_failed(&step, program, &error));
                let (pipeline, pass) = (pipeline.name.clone(), spec.id.clone());
                return Err(PipelineError::Pass { pipeline, step: index + 1, total, pass, error: Box::new(error) });
            }
            let changed = program.revision() != before;
            if settles {
                settled.note(spec, program);
            }
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
