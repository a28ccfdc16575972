//! Groups of flags that several commands share.

use std::path::PathBuf;

use clap::Args;
use coremill::PassOption;
use coremill_passes::{Limits, PipelineEdit, StepRef};

/// Flags that show what passes do.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Show what passes do")]
pub(crate) struct WatchArgs {
    /// Write the record of the run as JSON: for each pass whether it ran, rewrites, op counts, seconds, notes
    #[arg(long, value_name = "FILE.json")]
    pub(crate) report: Option<PathBuf>,
    /// Print a line for each pass with what it changed
    #[arg(long)]
    pub(crate) print_summary: bool,
    /// Print the program after this pass; may be given several times
    #[arg(long, value_name = "ID")]
    pub(crate) print_after: Vec<String>,
    /// Print the program after every pass
    #[arg(long)]
    pub(crate) print_after_all: bool,
    /// Print the program after every pass that changed it
    #[arg(long)]
    pub(crate) print_changed: bool,
    /// Write the program before and after every pass into this folder, as MIL text
    #[arg(long, value_name = "DIR")]
    pub(crate) dump_dir: Option<PathBuf>,
    /// Print how long each pass took
    #[arg(long)]
    pub(crate) time_passes: bool,
    /// Check the program after every pass
    #[arg(long)]
    pub(crate) verify_each: bool,
}

/// Changes of the pipeline, and how far it runs.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Change the pipeline")]
pub(crate) struct EditArgs {
    /// Leave a pass out: every step of it, or one as ID#N (its N-th) or by its number
    #[arg(long, value_name = "STEP")]
    remove_pass: Vec<StepRef>,
    /// Put a pass in beside a step
    #[arg(long, value_name = "ID@before:STEP|ID@after:STEP", value_parser = PipelineEdit::parse_insert)]
    insert_pass: Vec<PipelineEdit>,
    /// Put a pass at the end
    #[arg(long, value_name = "ID")]
    append_pass: Vec<String>,
    /// Drop the steps that come after this one
    #[arg(long, value_name = "STEP")]
    stop_after: Option<StepRef>,
    /// Run only the first N steps, and print a line for each
    #[arg(long, value_name = "N")]
    pub(crate) bisect_limit: Option<u64>,
    /// Make only the first N rewrites, counted over all steps
    #[arg(long, value_name = "N")]
    pub(crate) rewrite_limit: Option<u64>,
}

impl EditArgs {
    /// The changes in the order in which they are made: out, in, at the end, and then the cut.
    pub(crate) fn edits(&self) -> Vec<PipelineEdit> {
        let mut edits: Vec<PipelineEdit> = self.remove_pass.iter().cloned().map(PipelineEdit::Remove).collect();
        edits.extend(self.insert_pass.iter().cloned());
        edits.extend(self.append_pass.iter().cloned().map(PipelineEdit::Append));
        edits.extend(self.stop_after.iter().cloned().map(PipelineEdit::StopAfter));
        edits
    }

    /// How far the pipeline runs, where that is limited.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let limits = Limits { steps: self.bisect_limit, rewrites: self.rewrite_limit };
        (limits != Limits::default()).then_some(limits)
    }
}

/// Options of passes.
#[derive(Args, Debug, Default)]
pub(crate) struct PassOptionArgs {
    /// Set an option of a pass; VALUE is JSON where it reads as JSON, and a text otherwise
    #[arg(long = "pass-option", value_name = "ID:NAME=VALUE", value_parser = PassOption::parse)]
    pub(crate) pass_options: Vec<PassOption>,
}
