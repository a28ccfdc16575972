//! `coremill extract`: the Core ML models of a `.pte` as files.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{Outcome, output};

/// Take the Core ML models out of a .pte
///
/// Writes model.mlpackage, metadata.json, debug_info.json where there is one, and compile_specs.json; with several
/// delegates each into a folder METHOD-INDEX. The folder DIR must not hold anything else.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The program
    #[arg(value_name = "MODEL.pte")]
    input: PathBuf,
    /// The folder to write
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let written = coremill::extract(&args.input, &args.output)?;
    for path in written {
        output::data(&format!("{}\n", args.output.join(path).display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
