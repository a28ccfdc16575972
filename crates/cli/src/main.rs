//! The `coremill` command: one file per subcommand under `commands/`.
//!
//! Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed (`diff`: the models differ), 2 wrong usage.
//! A panic anywhere is a fault of coremill; it is caught here, once, and told as such.

mod args;
mod bisect_lines;
mod commands;
mod output;
mod progress;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A compiler makes and drops many small things: a third of the time of a pipeline is the allocator's with glibc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Lower a PyTorch model to Core ML through the graph passes that you choose, and see what each pass did.
#[derive(Parser)]
#[command(name = "coremill", version, max_term_width = 100, propagate_version = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lower a .pt2 to an .mlpackage or .pte, or take a model through another pipeline
    Lower(commands::lower::Args),
    /// Run exactly the passes named on an ML Program
    Opt(commands::opt::Args),
    /// List the passes and pipelines, or explain one pass
    Passes(commands::passes::Args),
    /// Show what a model file holds
    Inspect(commands::inspect::Args),
    /// Take the Core ML models out of a .pte
    Extract(commands::extract::Args),
    /// Compare two models by structure
    Diff(commands::diff::Args),
}

/// Why a command did not end well.
#[derive(Debug)]
enum Failure {
    /// What was asked for cannot be done; exit code 1.
    Failed(String),
    /// The command line makes no sense; exit code 2.
    Usage(String),
}

impl From<coremill::Error> for Failure {
    fn from(error: coremill::Error) -> Failure {
        Failure::Failed(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Failed(format!("cannot write: {error}"))
    }
}

type Outcome = Result<ExitCode, Failure>;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version come this way too, and are no mistakes.
            let code = if e.use_stderr() { 2 } else { 0 };
            let _ = e.print();
            return ExitCode::from(code);
        }
    };
    quiet_panics();
    // What the command holds is dropped, and nothing of it is used after a panic.
    match catch_unwind(AssertUnwindSafe(|| run(cli))) {
        Ok(Ok(code)) => code,
        Ok(Err(Failure::Failed(message))) => {
            output::error(&message);
            ExitCode::from(1)
        }
        Ok(Err(Failure::Usage(message))) => {
            output::error(&message);
            ExitCode::from(2)
        }
        Err(panic) => {
            output::error(&internal_error(&*panic));
            ExitCode::from(1)
        }
    }
}

fn run(cli: Cli) -> Outcome {
    match cli.command {
        Command::Lower(args) => commands::lower::run(&args),
        Command::Opt(args) => commands::opt::run(&args),
        Command::Passes(args) => commands::passes::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Extract(args) => commands::extract::run(&args),
        Command::Diff(args) => commands::diff::run(&args),
    }
}

/// Keeps the place of a panic for the message, instead of printing it at once.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        output::note_panic_place(place.unwrap_or_default());
    }));
}

fn internal_error(panic: &(dyn std::any::Any + Send)) -> String {
    let what = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let what = what.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned());
    format!(
        "internal error at {}: {what}\nThis is a fault of coremill {}, not of your model; no output was written. \
         Please report it with the command line and, if you can, the model.",
        output::panic_place(),
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn verify_cli() {
        super::Cli::command().debug_assert();
    }
}
