//! `coremill passes`: what passes and pipelines there are.

use std::fmt::Write;
use std::process::ExitCode;

use coremill_passes::{PRESETS, PassInfo, Preset, Registry, all_passes, find_pass};
use serde_json::{Value, json};

use crate::{Failure, Outcome, output};

/// List the passes and pipelines, or explain one pass
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Explain this pass
    #[arg(value_name = "ID", conflicts_with = "pipeline")]
    id: Option<String>,
    /// List the steps of this pipeline
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let text = match (&args.id, &args.pipeline) {
        (Some(id), _) => one(id, args.json)?,
        (None, Some(name)) => pipeline(name, args.json)?,
        (None, None) if args.json => {
            let passes: Vec<Value> = all_passes().map(pass_json).collect();
            let pipelines: Vec<Value> = PRESETS.iter().map(preset_json).collect();
            indented(&json!({"passes": passes, "pipelines": pipelines}))
        }
        (None, None) => all(),
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn all() -> String {
    let width = all_passes().map(|p| p.id.len()).max().unwrap_or(0);
    let mut out = String::from("Passes:\n");
    for p in all_passes() {
        let _ = writeln!(out, "  {:<width$}  {}", p.id, p.summary);
        for o in p.options {
            let _ = writeln!(out, "  {:<width$}    {}: {}; takes {}", "", o.name, o.summary, o.kind.wants());
        }
    }
    out.push_str("\nPipelines:\n");
    for p in PRESETS {
        let _ = writeln!(out, "  {:<width$}  {} ({} steps)", p.name, p.summary, p.steps.len());
    }
    out
}

fn one(id: &str, as_json: bool) -> Result<String, Failure> {
    let Some(pass) = find_pass(id) else {
        // The pipeline's own message tells a pass that is to come from one that never was.
        let errors =
            coremill_passes::Pipeline::from_ids("passes", [id]).resolve(&Registry::new()).err().unwrap_or_default();
        let message = errors.first().map(ToString::to_string).unwrap_or_default();
        return Err(Failure::Failed(message.trim_start_matches("step 1: ").to_owned()));
    };
    if as_json {
        return Ok(indented(&pass_json(pass)));
    }
    let mut out = format!("{}\n\n{}\n", pass.id, pass.summary);
    for o in pass.options {
        let _ = write!(out, "\nOption {}: {}; takes {}\n", o.name, o.summary, o.kind.wants());
    }
    let steps = |p: &&Preset| p.steps.contains(&pass.id);
    let names: Vec<&str> = PRESETS.iter().filter(steps).map(|p| p.name).collect();
    if !names.is_empty() {
        let _ = write!(out, "\nPipelines with it: {}\n", names.join(", "));
    }
    let _ = write!(out, "\nWhat it changes and what it leaves alone, in MIL text:\n\n{}\n", pass.spec.trim_end());
    Ok(out)
}

fn pipeline(name: &str, as_json: bool) -> Result<String, Failure> {
    let Some(preset) = PRESETS.iter().find(|p| p.name == name) else {
        let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
        return Err(Failure::Failed(format!("there is no pipeline `{name}`; there are {}", names.join(", "))));
    };
    if as_json {
        return Ok(indented(&preset_json(preset)));
    }
    let mut out = format!("{}: {}\n", preset.name, preset.summary);
    // Numbered as they run, which is what flags that name a step count.
    for (i, id) in preset.steps.iter().enumerate() {
        let _ = writeln!(out, "  {:>2}. {id}", i + 1);
    }
    Ok(out)
}

fn pass_json(p: &PassInfo) -> Value {
    let option =
        |o: &coremill_passes::OptionSpec| json!({"name": o.name, "takes": o.kind.wants(), "summary": o.summary});
    let options: Vec<Value> = p.options.iter().map(option).collect();
    json!({"id": p.id, "summary": p.summary, "options": options})
}

fn preset_json(p: &Preset) -> Value {
    let missing: Vec<&&str> = p.steps.iter().filter(|id| find_pass(id).is_none()).collect();
    json!({"name": p.name, "summary": p.summary, "steps": p.steps, "missing": missing})
}

fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}
