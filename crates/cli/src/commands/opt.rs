//! `coremill opt`: exactly these passes on an ML Program.

use std::path::PathBuf;
use std::process::ExitCode;

use coremill::{Kind, pipeline_from_argument, set_options};
use coremill_passes::Pipeline;

use crate::args::{EditArgs, PassOptionArgs, WatchArgs};
use crate::watch::watched;
use crate::{Failure, Outcome};

/// Run exactly the passes named on an ML Program
///
/// No front end and no back end runs around them. The model keeps its description, metadata and other files.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The model: an .mlpackage or .mlmodel
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Where to write it: an .mlpackage or .mlmodel
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Ids of the passes, in order, with commas between; an empty text runs none
    #[arg(long, value_name = "A,B,...", required_unless_present = "pipeline")]
    passes: Option<String>,
    /// The passes as a pipeline: its name, a .json or .toml file, or a JSON list of ids
    #[arg(long, visible_alias = "pass-pipeline", value_name = "NAME|FILE|'[\"ID\", ...]'", conflicts_with = "passes")]
    pipeline: Option<String>,
    #[command(flatten)]
    options: PassOptionArgs,
    #[command(flatten)]
    edits: EditArgs,
    #[command(flatten)]
    watch: WatchArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut pipeline = match &args.pipeline {
        Some(text) => pipeline_from_argument(text)?,
        None => {
            let ids = args.passes.iter().flat_map(|p| p.split(','));
            Pipeline::from_ids("opt", ids.map(str::trim).filter(|id| !id.is_empty()))
        }
    };
    pipeline.edit(&args.edits.edits()).map_err(|e| Failure::Usage(e.to_string()))?;
    set_options(&mut pipeline, &args.options.pass_options).map_err(|e| Failure::Usage(e.to_string()))?;
    let wanted = |kind| matches!(kind, Kind::MlPackage | Kind::MlModel);
    if !wanted(Kind::of_output(&args.output)?) {
        return Err(Failure::Failed(format!(
            "{}: `opt` writes an .mlpackage or .mlmodel; `lower` writes a .pte",
            args.output.display()
        )));
    }
    let kind = Kind::of_input(&args.input)?;
    if !wanted(kind) {
        return Err(Failure::Failed(format!(
            "{}: `opt` takes an .mlpackage or .mlmodel; `lower` takes a .{}",
            args.input.display(),
            kind.extension()
        )));
    }
    watched(&args.watch, &args.edits, |session| {
        let mut model = coremill::open_model(&args.input)?;
        session.opt(&mut model, &pipeline)?;
        model.save(&args.output)?;
        Ok(())
    })?;
    Ok(ExitCode::SUCCESS)
}
