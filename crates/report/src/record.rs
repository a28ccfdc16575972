//! The record and the instrument that makes it.

use std::time::Duration;

use coremill_mil::Program;
use coremill_passes::{Instrument, PassError, StepInfo, StepOutcome};
use serde::Serialize;

use crate::histogram::{Histogram, op_histogram};

/// What happened to a program.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RunReport {
    /// The pipelines in the order they ran.
    pub pipelines: Vec<PipelineRecord>,
}

/// A pipeline run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PipelineRecord {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepRecord>,
}

/// A step of a pipeline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StepRecord {
    /// The pass's id.
    pub pass: String,
    /// Which run of this pass in the pipeline it is, from 1.
    pub run: usize,
    /// Did it run to its end? False for the failing one, and for those that it or a limit kept from running.
    pub ran: bool,
    /// Did the program change?
    pub changed: bool,
    /// Changes counted.
    pub rewrites: u64,
    /// Ops looked at.
    pub visited: u64,
    /// Ops by type before.
    pub ops_before: Histogram,
    /// Ops by type after.
    pub ops_after: Histogram,
    /// Wall time in seconds, where a clock was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Sentences of the pass for the user.
    pub notes: Vec<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl StepRecord {
    /// Number of ops before and after, constants not counted.
    pub fn op_counts(&self) -> (usize, usize) {
        (count(&self.ops_before), count(&self.ops_after))
    }

    /// Types whose number changed: name, before, after.
    pub fn differences(&self) -> Vec<(&str, usize, usize)> {
        let mut names: Vec<&str> = self.ops_before.keys().chain(self.ops_after.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let at = |h: &Histogram, n: &str| h.get(n).copied().unwrap_or(0);
        let all = names.into_iter().map(|n| (n, at(&self.ops_before, n), at(&self.ops_after, n)));
        all.filter(|(_, before, after)| before != after).collect()
    }
}

fn count(h: &Histogram) -> usize {
    h.iter().filter(|(name, _)| *name != "const").map(|(_, n)| n).sum()
}

impl RunReport {
    /// The report as indented JSON with a final line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Fills a [`RunReport`].
pub struct Recorder<'a> {
    report: RunReport,
    clock: Option<&'a dyn Fn() -> Duration>,
    started: Duration,
    before: Histogram,
}

impl<'a> Recorder<'a> {
    /// A recorder; `clock` gives the time since some fixed point.
    pub fn new(clock: Option<&'a dyn Fn() -> Duration>) -> Recorder<'a> {
        Recorder { report: RunReport::default(), clock, started: Duration::ZERO, before: Histogram::new() }
    }

    /// The record.
    pub fn finish(self) -> RunReport {
        self.report
    }

    /// The record so far.
    pub fn report(&self) -> &RunReport {
        &self.report
    }

    fn now(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock())
    }

    fn push(&mut self, step: &StepInfo<'_>, program: &Program, fill: impl FnOnce(&mut StepRecord)) {
        let seconds = self.clock.map(|clock| clock().saturating_sub(self.started).as_secs_f64());
        let ops_after = op_histogram(program);
        let mut record = StepRecord {
            pass: step.pass.to_owned(),
            run: step.run,
            ops_before: std::mem::replace(&mut self.before, ops_after.clone()),
            ops_after,
            seconds,
            ..StepRecord::default()
        };
        fill(&mut record);
        if let Some(p) = self.report.pipelines.last_mut() {
            p.steps.push(record);
        }
    }
}

impl Instrument for Recorder<'_> {
    fn before_pipeline(&mut self, name: &str, _total: usize, program: &Program) {
        self.report.pipelines.push(PipelineRecord { name: name.to_owned(), steps: Vec::new() });
        self.before = op_histogram(program);
    }

    fn before_pass(&mut self, _step: &StepInfo<'_>, _program: &Program) {
        self.started = self.now();
    }

    fn after_pass(&mut self, step: &StepInfo<'_>, program: &Program, outcome: &StepOutcome) {
        self.push(step, program, |r| {
            r.ran = true;
            r.changed = outcome.changed;
            r.rewrites = outcome.rewrites;
            r.visited = outcome.visited;
            r.notes.clone_from(&outcome.notes);
        });
    }

    fn pass_skipped(&mut self, step: &StepInfo<'_>, program: &Program) {
        self.started = self.now();
        self.push(step, program, |_| {});
    }

    fn pass_failed(&mut self, step: &StepInfo<'_>, program: &Program, error: &PassError) {
        // A step that ran and left a wrong program is recorded already; it gets the error.
        let last = self.report.pipelines.last_mut().and_then(|p| p.steps.last_mut());
        match last.filter(|s| s.pass == step.pass && s.run == step.run) {
            Some(record) => record.error = Some(error.to_string()),
            None => self.push(step, program, |r| r.error = Some(error.to_string())),
        }
    }
}
