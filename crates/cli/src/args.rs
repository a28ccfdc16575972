//! Groups of flags that several commands share.

use std::path::PathBuf;

use clap::Args;
use coremill::PassOption;

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

/// Options of passes.
#[derive(Args, Debug, Default)]
pub(crate) struct PassOptionArgs {
    /// Set an option of a pass; VALUE is JSON where it reads as JSON, and a text otherwise
    #[arg(long = "pass-option", value_name = "ID:NAME=VALUE", value_parser = PassOption::parse)]
    pub(crate) pass_options: Vec<PassOption>,
}
