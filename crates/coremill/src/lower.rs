//! The main job: an input through the pipelines to an output.

use std::io;
use std::path::Path;

use coremill_executorch::compile_spec::{CompileSpec, CompileSpecs, ComputePrecision, CoreMlOptions, ModelType, keys};
use coremill_executorch::pte::PteFile;
use coremill_mil::{Opset, Program, refine};
use coremill_mlpackage::{Model, write_file_with};
use coremill_passes::{Pipeline, PipelineEdit, backend_for, frontend_for, preset};
use coremill_tensor::DType;

use crate::choose::{fit_precision, pipeline_of};
use crate::delegates::core_ml_delegates;
use crate::{
    Error, Kind, Note, PassOption, Session, exported, method, open_model, open_pte, relower, set_options, verify,
};

/// What a lowering is to do.
#[derive(Clone, Debug, Default)]
pub struct LowerOptions {
    /// The user's pipeline; where there is none, that of the compile specs, and then the default one.
    pub pipeline: Option<Pipeline>,
    /// Changes of that pipeline.
    pub edits: Vec<PipelineEdit>,
    /// Options for passes of that pipeline.
    pub pass_options: Vec<PassOption>,
    /// Compile specs that take the place of the input's and of the defaults.
    pub specs: Vec<CompileSpec>,
}

/// What came out, ready to be written.
#[derive(Debug)]
pub struct Lowered {
    file: String,
    output: Output,
}

#[derive(Debug)]
enum Output {
    /// A model, with what a `.pte` needs besides.
    Model { model: Box<Model>, method: Result<method::Signature, String>, specs: CompileSpecs },
    /// A program whose delegates have other models now; the model where there is one delegate.
    Program { pte: Box<PteFile>, only: Option<Box<Model>> },
}

/// Compile specs with their meaning, and the user's pipeline.
pub(crate) struct Plan {
    pub(crate) specs: CompileSpecs,
    pub(crate) options: CoreMlOptions,
    pub(crate) pipeline: Pipeline,
    /// What is to be said about the precision that comes out, of a program that computes in single precision now.
    precision: Option<Note>,
}

impl Plan {
    /// What `given` says, and `base` where it says nothing.
    pub(crate) fn new(
        session: &mut Session<'_>,
        origin: &str,
        base: CompileSpecs,
        given: &LowerOptions,
    ) -> Result<Plan, Error> {
        let mut specs = base;
        given.specs.iter().cloned().for_each(|spec| specs.set(spec));
        let decode = |specs: &CompileSpecs| {
            CoreMlOptions::decode(specs).map_err(|error| Error::CompileSpecs { origin: origin.to_owned(), error })
        };
        let options = decode(&specs)?;
        let mut pipeline = given.pipeline.clone().unwrap_or_else(|| pipeline_of(&options));
        pipeline.edit(&given.edits)?;
        // The default pipeline is what runs without the spec, in ExecuTorch as here.
        if preset("default").is_some_and(|d| d.ids() == pipeline.ids()) {
            specs.remove(keys::PASS_PIPELINE);
        } else if given.pipeline.is_some() || !given.edits.is_empty() {
            specs.set(CompileSpec::pass_pipeline(&pipeline.ids()));
        }
        let options = decode(&specs)?;
        if options.model_type == ModelType::CompiledModel {
            return Err(Error::unusable(
                origin,
                "`model_type` `compiled_model` needs Apple's compiler, which runs on a Mac only; use `model`, \
                 which the device compiles when it first loads it",
            ));
        }
        let unknown = specs.unknown_keys();
        if !unknown.is_empty() {
            session.note(Note::UnknownSpecs(unknown.into_iter().map(str::to_owned).collect()));
        }
        set_options(&mut pipeline, &given.pass_options)?;
        if pipeline.steps.iter().any(|s| !s.options.is_empty()) {
            session.note(Note::OptionsNotInSpec);
        }
        // Before anything is spent on a program: can the pipeline run at all?
        session.resolve(&pipeline)?;
        let precision = fit_precision(&mut pipeline, &options);
        Ok(Plan { specs, options, pipeline, precision })
    }

    /// The opset that the deployment target asks for; `None` when none is given.
    pub(crate) fn opset(&self, origin: &str) -> Result<Option<Opset>, Error> {
        let Some(target) = self.options.min_deployment_target else { return Ok(None) };
        let opset = Opset::from_specification_version(target.specification_version());
        let what = || {
            format!(
                "ML Programs are written for ios15, ios16, ios17 and ios18, not for {}; choose one of these",
                target.name()
            )
        };
        opset.map(Some).ok_or_else(|| Error::unusable(origin, what()))
    }
}

impl Session<'_> {
    /// Takes the file at `path` through the pipelines: a `.pt2` through the front end's, the user's and the back end's;
    /// a model that is MIL already through the user's and the back end's. Nothing is written.
    ///
    /// # Errors
    /// Everything that is wrong with options, input, pipeline or result; see [`Error`].
    pub fn lower(&mut self, path: &Path, options: &LowerOptions) -> Result<Lowered, Error> {
        let file = path.display().to_string();
        let output = match Kind::of_input(path)? {
            Kind::Pt2 => self.lower_exported(path, options)?,
            Kind::MlPackage | Kind::MlModel => self.lower_model(path, options)?,
            Kind::Pte => self.lower_pte(path, options)?,
        };
        Ok(Lowered { file, output })
    }

    fn lower_exported(&mut self, path: &Path, options: &LowerOptions) -> Result<Output, Error> {
        let file = path.display().to_string();
        let plan = Plan::new(self, &file, CoreMlOptions::default().encode(), options)?;
        let unsupported = [
            (keys::OP_LINEAR_QUANTIZER_CONFIG, plan.options.op_linear_quantizer_config.is_some()),
            (keys::ENUMERATED_SHAPES, plan.options.enumerated_shapes.is_some()),
        ];
        if let Some((key, _)) = unsupported.iter().find(|(_, given)| *given) {
            return Err(Error::unusable(
                file,
                format!("the compile spec `{key}` cannot be honoured yet; leave it out"),
            ));
        }
        let opset = plan.opset(&file)?;
        plan.precision.iter().for_each(|note| self.note(note.clone()));
        let exported::Source { mut program, method, source, describe, opset: chosen } = exported::lower(path, opset)?;
        if opset.is_none() {
            self.note(Note::ChosenOpset(chosen));
        }
        self.run_whole(&frontend_for(&plan.pipeline), &mut program)?;
        let mut pipeline = plan.pipeline.clone();
        half_outputs(&mut pipeline, &plan.options, &program);
        self.through(&pipeline, &mut program, &file)?;
        let model = Box::new(Model::new(program, &source, describe));
        Ok(Output::Model { model, method, specs: plan.specs })
    }

    fn lower_model(&mut self, path: &Path, options: &LowerOptions) -> Result<Output, Error> {
        let file = path.display().to_string();
        let plan = Plan::new(self, &file, CoreMlOptions::default().encode(), options)?;
        let mut model = Box::new(open_model(path)?);
        self.relower_model(&plan, &mut model, &file)?;
        let method = Ok(method::Signature::default());
        Ok(Output::Model { model, method, specs: plan.specs })
    }

    /// A model that is MIL already through the user's pipeline and the back end's.
    pub(crate) fn relower_model(&mut self, plan: &Plan, model: &mut Model, label: &str) -> Result<(), Error> {
        if let (Some(target), Some(has)) = (plan.opset(label)?, model.program.opset())
            && has > target
        {
            return Err(Error::unusable(
                label,
                format!(
                    "the program is for {has}, and a program cannot be taken back to {target}; lower the .pt2 again"
                ),
            ));
        }
        self.tell_unknown_ops(&model.program);
        if !computes_in_half(&model.program) {
            plan.precision.iter().for_each(|note| self.note(note.clone()));
        }
        refine(&mut model.program);
        self.through(&plan.pipeline, &mut model.program, label)
    }

    fn through(&mut self, pipeline: &Pipeline, program: &mut Program, label: &str) -> Result<(), Error> {
        self.run(pipeline, program)?;
        self.run_whole(&backend_for(pipeline), program)?;
        let problems = verify::problems(program);
        if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { file: label.to_owned(), problems }) }
    }

    fn lower_pte(&mut self, path: &Path, options: &LowerOptions) -> Result<Output, Error> {
        let pte = open_pte(path)?;
        let delegates = core_ml_delegates(path, &pte)?;
        if delegates.is_empty() {
            return Err(Error::unusable(path.display(), "holds no Core ML delegate, so there is nothing to lower"));
        }
        let (pte, mut models) = relower::delegates(self, path, &pte, &delegates, options)?;
        let only = if models.len() == 1 { models.pop().map(Box::new) } else { None };
        Ok(Output::Program { pte: Box::new(pte), only })
    }
}

/// In half precision, from ios16 on, float32 outputs become float16 where the pipeline has the pass for it and nothing
/// else is asked of it: so coremltools has it, and the runtime converts for its caller.
fn half_outputs(pipeline: &mut Pipeline, options: &CoreMlOptions, program: &Program) {
    let asked = pipeline.steps.iter().any(|s| s.id == OUTPUT_TYPES && !s.options.is_empty());
    let half = options.model_compute_precision == ComputePrecision::Float16;
    let mut functions = program.functions.values();
    let Some(f) = functions.next().filter(|f| half && !asked && f.opset >= Opset::Ios16) else { return };
    let types: Vec<&str> =
        f.outputs().map(|v| if f.ty(v).dtype() == Some(DType::Fp32) { "fp16" } else { "keep" }).collect();
    if functions.next().is_none() {
        pipeline.set_option(OUTPUT_TYPES, "output_types", &serde_json::json!(types));
    }
}

/// The pass that changes the element types of outputs.
const OUTPUT_TYPES: &str = "common::update_output_dtypes";

/// Does any op give half precision?
fn computes_in_half(program: &Program) -> bool {
    program.functions.values().any(|f| {
        let mut results = f.all_ops().into_iter().flat_map(|op| f.op(op).outputs().to_vec());
        results.any(|v| f.ty(v).dtype() == Some(DType::Fp16))
    })
}

impl Lowered {
    /// The model, where there is exactly one.
    pub fn model(&self) -> Option<&Model> {
        match &self.output {
            Output::Model { model, .. } => Some(model),
            Output::Program { only, .. } => only.as_deref(),
        }
    }

    /// The program file, as [`Lowered::save`] would write it.
    ///
    /// # Errors
    /// When the model has something that the format cannot say.
    pub fn to_pte(&self) -> Result<PteFile, Error> {
        match &self.output {
            Output::Model { model, method, specs } => {
                let method = method.as_ref().map_err(|why| Error::unusable(&self.file, why.as_str()))?;
                method::to_pte(&self.file, model, method, specs.clone())
            }
            Output::Program { pte, .. } => Ok((**pte).clone()),
        }
    }

    /// Writes an `.mlpackage`, `.mlmodel` or `.pte`, by the path's extension. It appears whole or not at all.
    ///
    /// # Errors
    /// When the extension is another, the result cannot be written so, or the file system says no.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        if Kind::of_output(path)? == Kind::Pte {
            let pte = self.to_pte()?;
            return Ok(write_file_with(path, |mut out| pte.write_to(&mut out).map_err(io::Error::other))?);
        }
        match self.model() {
            Some(model) => Ok(model.save(path)?),
            None => Err(Error::unusable(
                path.display(),
                format!("{} holds several Core ML models; write a .pte, or extract them first", self.file),
            )),
        }
    }
}
