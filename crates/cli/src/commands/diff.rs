//! `coremill diff`: are two models the same?

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use coremill_mil::compare::Checks;

use crate::{Outcome, output};

/// Compare two models by structure
///
/// Two programs are equal when their outputs are computed by the same dataflow, whatever the names and however
/// independent ops are ordered. Prints the first difference and both op counts. Exit code 1 when they differ.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A model: .mlpackage, .mlmodel, or .pte with one Core ML delegate
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Another model
    #[arg(value_name = "B")]
    b: PathBuf,
    /// What to look at besides: consts (their number), order (of ops), names (of values), positional (match inputs
    /// and outputs by position)
    #[arg(long, value_name = "CHECKS", value_parser = parse_checks, default_value = "")]
    check: Checks,
}

fn parse_checks(text: &str) -> Result<Checks, String> {
    let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
    Checks::from_names(names)
        .map_err(|name| format!("there is no check `{name}`; there are consts, order, names and positional"))
}

pub(crate) fn run(args: &Args) -> Outcome {
    let found = coremill::diff(&args.a, &args.b, args.check)?;
    let mut out = format!("{}\n\n", found.first.as_deref().unwrap_or("equal"));
    let width = found.ops.keys().map(String::len).max().unwrap_or(0).max("total".len());
    let _ = writeln!(out, "{:<width$} {:>8} {:>8}", "op", "A", "B");
    let (mut a, mut b) = (0, 0);
    for (op, (x, y)) in &found.ops {
        let mark = if x == y { "" } else { "  *" };
        let _ = writeln!(out, "{op:<width$} {x:>8} {y:>8}{mark}");
        a += x;
        b += y;
    }
    let _ = writeln!(out, "{:<width$} {a:>8} {b:>8}", "total");
    output::data(&out)?;
    Ok(ExitCode::from(u8::from(found.first.is_some())))
}
