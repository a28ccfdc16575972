//! The program as text at chosen steps.

use std::collections::BTreeSet;

use coremill_mil::Program;
use coremill_passes::{Instrument, StepInfo, StepOutcome};

/// When a [`Dump`] gives text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpWhen {
    /// After these passes.
    After(BTreeSet<String>),
    /// After every pass.
    AfterAll,
    /// After every pass that changed the program.
    Changed,
    /// Before and after every pass.
    BeforeAndAfter,
}

/// A program at a step, as text.
#[derive(Debug, Clone, Copy)]
pub struct DumpEvent<'a> {
    /// Name of the pipeline.
    pub pipeline: &'a str,
    /// Number of the step in the pipeline, from 1.
    pub step: usize,
    /// Number of the step over all pipelines of the run, from 1.
    pub serial: usize,
    /// The pass's id.
    pub pass: &'a str,
    /// Is it the program before the pass?
    pub before: bool,
    /// The program.
    pub text: &'a str,
}

/// An instrument that hands the program's text to a sink at chosen steps.
pub struct Dump<'a> {
    when: DumpWhen,
    render: &'a dyn Fn(&Program) -> String,
    sink: &'a mut dyn FnMut(DumpEvent<'_>),
    serial: usize,
}

impl<'a> Dump<'a> {
    /// A dump: `render` makes the text, `sink` takes it.
    pub fn new(
        when: DumpWhen,
        render: &'a dyn Fn(&Program) -> String,
        sink: &'a mut dyn FnMut(DumpEvent<'_>),
    ) -> Dump<'a> {
        Dump { when, render, sink, serial: 0 }
    }

    fn send(&mut self, step: &StepInfo<'_>, program: &Program, before: bool) {
        let text = (self.render)(program);
        (self.sink)(DumpEvent {
            pipeline: step.pipeline,
            step: step.index + 1,
            serial: self.serial,
            pass: step.pass,
            before,
            text: &text,
        });
    }
}

impl Instrument for Dump<'_> {
    fn before_pass(&mut self, step: &StepInfo<'_>, program: &Program) {
        self.serial += 1;
        if self.when == DumpWhen::BeforeAndAfter {
            self.send(step, program, true);
        }
    }

    fn after_pass(&mut self, step: &StepInfo<'_>, program: &Program, outcome: &StepOutcome) {
        let wanted = match &self.when {
            DumpWhen::After(ids) => ids.contains(step.pass),
            DumpWhen::AfterAll | DumpWhen::BeforeAndAfter => true,
            DumpWhen::Changed => outcome.changed,
        };
        if wanted {
            self.send(step, program, false);
        }
    }
}
