//! Running pipelines on programs, watched.

use coremill_mil::{OpKind, Program, refine};
use coremill_mlpackage::Model;
use coremill_passes::{
    Instrument, Limits, PassInfo, PassManager, Pipeline, PipelineError, RegisterError, Registry, ResolveError,
    RunSummary,
};

use crate::{Error, Note, verify};

/// Who watches a job, and how closely its steps are checked.
///
/// A session carries no state from one job to the next.
#[derive(Default)]
pub struct Session<'a> {
    instruments: Vec<&'a mut dyn Instrument>,
    notes: Option<&'a mut dyn FnMut(Note)>,
    verify_each: bool,
    registry: Registry,
    limits: Option<Limits>,
}

impl<'a> Session<'a> {
    /// A session that nobody watches.
    pub fn new() -> Session<'a> {
        Session::default()
    }

    /// Adds an instrument that watches all pipelines; they are told in the order they were added.
    #[must_use]
    pub fn instrument(mut self, instrument: &'a mut dyn Instrument) -> Session<'a> {
        self.instruments.push(instrument);
        self
    }

    /// Hands what there is to tell to `sink` as it comes up.
    #[must_use]
    pub fn notes(mut self, sink: &'a mut dyn FnMut(Note)) -> Session<'a> {
        self.notes = Some(sink);
        self
    }

    /// Checks the program after every pass.
    #[must_use]
    pub fn verify_each(mut self, yes: bool) -> Session<'a> {
        self.verify_each = yes;
        self
    }

    /// Adds a pass of your own, which pipelines may then name.
    ///
    /// # Errors
    /// When its id is not in a namespace of your own, or is taken.
    pub fn register(mut self, pass: &'static PassInfo) -> Result<Session<'a>, RegisterError> {
        self.registry.register(pass)?;
        Ok(self)
    }

    /// Stops the user's pipeline early; the passes of the front and back end, which a valid result needs, do not count.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Session<'a> {
        self.limits = Some(limits);
        self
    }

    /// The passes that pipelines may name.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn note(&mut self, note: Note) {
        if let Some(sink) = &mut self.notes {
            sink(note);
        }
    }

    /// Runs one pipeline, within the limits.
    ///
    /// # Errors
    /// When it names what cannot be run (then nothing is), when a pass fails, or, under `verify_each`, when the
    /// program is wrong after a step.
    pub fn run(&mut self, pipeline: &Pipeline, program: &mut Program) -> Result<RunSummary, Error> {
        self.run_within(pipeline, program, self.limits)
    }

    /// Runs one pipeline whole.
    pub(crate) fn run_whole(&mut self, pipeline: &Pipeline, program: &mut Program) -> Result<RunSummary, Error> {
        self.run_within(pipeline, program, None)
    }

    fn run_within(
        &mut self,
        pipeline: &Pipeline,
        program: &mut Program,
        limits: Option<Limits>,
    ) -> Result<RunSummary, Error> {
        let mut manager = PassManager::new().registry(self.registry.clone());
        if let Some(limits) = limits {
            manager = manager.limits(limits);
        }
        for instrument in &mut self.instruments {
            manager = manager.instrument(&mut **instrument);
        }
        if self.verify_each {
            manager = manager.verify_each(&verify::between_passes);
        }
        manager.run(pipeline, program).map_err(|error| with_advice(pipeline, error))
    }

    /// Runs exactly the passes of `pipeline` on a model's program: no front end, no back end.
    ///
    /// Unknown extents of inputs get symbols first, so that passes see which extents are the same; writing
    /// spells them as unknown again.
    ///
    /// # Errors
    /// As [`Session::run`]; the model is then partly changed and must be dropped.
    pub fn opt(&mut self, model: &mut Model, pipeline: &Pipeline) -> Result<RunSummary, Error> {
        // Before anything is spent on a program: can the pipeline run at all?
        self.resolve(pipeline)?;
        self.tell_unknown_ops(&model.program);
        refine(&mut model.program);
        self.run(pipeline, &mut model.program)
    }

    /// Checks that every step of a pipeline can be run.
    pub(crate) fn resolve(&self, pipeline: &Pipeline) -> Result<(), Error> {
        match pipeline.resolve(&self.registry) {
            Ok(_) => Ok(()),
            Err(errors) => Err(with_advice(pipeline, PipelineError::Resolve(errors))),
        }
    }

    pub(crate) fn tell_unknown_ops(&mut self, program: &Program) {
        let mut unknown: Vec<String> = Vec::new();
        for f in program.functions.values() {
            for op in f.all_ops() {
                let op = f.op(op);
                if op.kind == OpKind::Unknown && !unknown.iter().any(|u| u == op.type_name()) {
                    unknown.push(op.type_name().to_owned());
                }
            }
        }
        if !unknown.is_empty() {
            self.note(Note::UnknownOps(unknown));
        }
    }
}

fn with_advice(pipeline: &Pipeline, error: PipelineError) -> Error {
    let advice = match &error {
        PipelineError::Resolve(errors) if pipeline.name == "default" => errors
            .iter()
            .any(|e| matches!(e, ResolveError::NotYet { .. }))
            .then_some("`default` is what runs when no pipeline is named; name another one, or give a list of passes"),
        _ => None,
    };
    Error::Pipeline { error, advice }
}
