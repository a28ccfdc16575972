//! `coremill lower`: the main job.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use coremill::compile_spec::{CompileSpec, keys};
use coremill::{Kind, LowerOptions, pipeline_from_argument};

use crate::args::{EditArgs, PassOptionArgs, WatchArgs};
use crate::watch::watched;
use crate::{Failure, Outcome};

/// Lower a .pt2 to an .mlpackage or .pte, or take a model through another pipeline
///
/// A .pt2 goes through the front end's passes, the pipeline that you choose, and the back end's passes. An .mlpackage,
/// .mlmodel or .pte, which is MIL already, goes through the last two; a .pte keeps everything else that it holds.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The model: .pt2, .mlpackage, .mlmodel or .pte
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where to write it: .mlpackage, .mlmodel or .pte
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    pipeline: PipelineArgs,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    watch: WatchArgs,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Passes")]
struct PipelineArgs {
    /// The passes: a pipeline's name, a .json or .toml file, or a JSON list of ids
    #[arg(long, value_name = "NAME|FILE|'[\"ID\", ...]'")]
    pass_pipeline: Option<String>,
    #[command(flatten)]
    options: PassOptionArgs,
    #[command(flatten)]
    edits: EditArgs,
}

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Compile specs")]
struct TargetArgs {
    /// Set a compile spec by its key, with the bytes that ExecuTorch would write
    #[arg(long = "compile-spec", value_name = "KEY=VALUE", value_parser = parse_spec)]
    compile_specs: Vec<CompileSpec>,
    /// Type of floating-point computation
    #[arg(long, value_name = "PRECISION", value_enum)]
    compute_precision: Option<Precision>,
    /// The oldest system that the model is to run on
    #[arg(long, value_name = "TARGET", value_enum)]
    min_deployment_target: Option<Target>,
    /// The processors that the model may run on
    #[arg(long, value_name = "UNITS", value_enum)]
    compute_units: Option<Units>,
    /// The form of the model inside a .pte; compiled_model needs Apple's compiler
    #[arg(long, value_name = "TYPE", value_enum)]
    model_type: Option<Form>,
}

fn parse_spec(text: &str) -> Result<CompileSpec, String> {
    CompileSpec::parse(text).map_err(|e| e.to_string())
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Precision {
    Float16,
    Float32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    Ios15,
    Ios16,
    Ios17,
    Ios18,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Units {
    All,
    CpuOnly,
    CpuAndGpu,
    CpuAndNe,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Form {
    Model,
    CompiledModel,
}

/// The spelling of a flag's value, which is that of the compile spec too.
fn spelling(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
}

impl TargetArgs {
    /// The specs given, typed flags last, so that they win.
    fn specs(&self) -> Vec<CompileSpec> {
        let mut specs = self.compile_specs.clone();
        let mut set = |key, value: Option<String>| specs.extend(value.map(|v| CompileSpec::new(key, v)));
        set(keys::COMPUTE_UNITS, self.compute_units.map(spelling));
        let version = |t| match t {
            Target::Ios15 => "6",
            Target::Ios16 => "7",
            Target::Ios17 => "8",
            Target::Ios18 => "9",
        };
        set(keys::MIN_DEPLOYMENT_TARGET, self.min_deployment_target.map(|t| version(t).to_owned()));
        set(keys::MODEL_COMPUTE_PRECISION, self.compute_precision.map(spelling));
        set(keys::MODEL_TYPE, self.model_type.map(spelling));
        specs
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    Kind::of_output(&args.output)?;
    let pipeline = args.pipeline.pass_pipeline.as_deref().map(pipeline_from_argument).transpose()?;
    if let Some(p) = &pipeline {
        // A slip in an option's name is a slip on the command line.
        let mut p = p.clone();
        p.edit(&args.pipeline.edits.edits()).map_err(|e| Failure::Usage(e.to_string()))?;
        coremill::set_options(&mut p, &args.pipeline.options.pass_options)
            .map_err(|e| Failure::Usage(e.to_string()))?;
    }
    let options = LowerOptions {
        pipeline,
        edits: args.pipeline.edits.edits(),
        pass_options: args.pipeline.options.pass_options.clone(),
        specs: args.target.specs(),
    };
    watched(&args.watch, &args.pipeline.edits, |session| {
        let lowered = session.lower(&args.input, &options)?;
        lowered.save(&args.output)
    })?;
    Ok(ExitCode::SUCCESS)
}
