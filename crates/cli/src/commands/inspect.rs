//! `coremill inspect`: what a file holds.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use coremill::{DelegateInfo, Inspection, MethodInfo, ModelInfo, ValueInfo};
use coremill_mil::text::{PrintOptions, print};
use serde_json::{Value, json};

use crate::{Outcome, output};

/// Show what a model file holds
///
/// Inputs, outputs, methods, delegates, compile specs, ops, sizes and weights of a .pt2, .mlpackage, .mlmodel or .pte.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Print the program as MIL text, large constants left out
    #[arg(long, conflicts_with = "json")]
    mil: bool,
    /// List every weight
    #[arg(long)]
    weights: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let found = coremill::inspect(&args.model)?;
    let text = if args.json {
        let mut value = serde_json::to_value(&found).unwrap_or_default();
        if args.weights {
            let each = found.models().into_iter().map(|(at, m)| json!({"model": at, "weights": m.each_weight}));
            value["each_weight"] = each.collect();
        }
        format!("{value:#}\n")
    } else if args.mil {
        found.models().iter().map(|(_, m)| print(&m.program, &PrintOptions::brief()) + "\n").collect()
    } else {
        text(&found, args.weights)
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(found: &Inspection, weights: bool) -> String {
    let mut out = format!("{}: .{}, {} bytes\n", found.file, found.kind.extension(), found.bytes);
    if let Some(model) = &found.model {
        model_text(&mut out, model, weights, "");
    }
    for method in &found.methods {
        method_text(&mut out, method, weights);
    }
    if let Some(exported) = &found.exported {
        json_text(&mut out, exported, 0);
    }
    out
}

fn values(out: &mut String, indent: &str, what: &str, values: &[ValueInfo]) {
    for v in values {
        let _ = writeln!(out, "{indent}{what} {}: {}", v.name, v.ty);
    }
}

fn model_text(out: &mut String, model: &ModelInfo, weights: bool, indent: &str) {
    let _ = writeln!(out, "{indent}specification version {}", model.specification_version);
    for (key, value) in &model.metadata {
        let _ = writeln!(out, "{indent}metadata {key}: {value}");
    }
    for f in &model.functions {
        let _ = writeln!(out, "{indent}function {} <{}>", f.name, f.opset);
        let inner = format!("{indent}  ");
        values(out, &inner, "input", &f.inputs);
        values(out, &inner, "output", &f.outputs);
        let total: usize = f.ops.values().sum();
        let _ = writeln!(out, "{inner}{total} ops, {} constants", f.consts);
        let mut ops: Vec<(&String, &usize)> = f.ops.iter().collect();
        ops.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (op, n) in ops {
            let _ = writeln!(out, "{inner}  {n:>6} {op}");
        }
    }
    for (dtype, total) in &model.weights {
        let _ = writeln!(out, "{indent}weights {dtype}: {}, {} bytes", total.count, total.bytes);
    }
    if weights {
        for w in &model.each_weight {
            let _ = writeln!(out, "{indent}  {} {} {}: {} bytes", w.function, w.name, w.ty, w.bytes);
        }
    }
}

fn method_text(out: &mut String, method: &MethodInfo, weights: bool) {
    let _ = writeln!(out, "method {}", method.name);
    values(out, "  ", "input", &method.inputs);
    values(out, "  ", "output", &method.outputs);
    let _ = writeln!(out, "  planned memory: {:?} bytes", method.planned_bytes);
    for op in &method.operators {
        let _ = writeln!(out, "  kernel {op}");
    }
    for (i, d) in method.delegates.iter().enumerate() {
        delegate_text(out, i, d, weights);
    }
}

fn delegate_text(out: &mut String, index: usize, d: &DelegateInfo, weights: bool) {
    let _ = writeln!(out, "  delegate {index}: {}, {} bytes", d.id, d.bytes);
    for spec in d.compile_specs.as_array().into_iter().flatten() {
        let _ = writeln!(out, "    compile spec {}: {}", plain(&spec["key"]), plain(&spec["value"]));
    }
    if let Some(metadata) = &d.metadata {
        for (key, value) in metadata.as_object().into_iter().flatten() {
            let _ = writeln!(out, "    {key}: {}", plain(value));
        }
    }
    if d.has_debug_info {
        let _ = writeln!(out, "    debug information");
    }
    if let Some(model) = &d.model {
        model_text(out, model, weights, "    ");
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An object as indented lines.
fn json_text(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if value.is_object() || value.is_array() {
                    let _ = writeln!(out, "{indent}{key}");
                    json_text(out, value, depth + 1);
                } else {
                    let _ = writeln!(out, "{indent}{key}: {}", plain(value));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| json_text(out, item, depth)),
        other => {
            let _ = writeln!(out, "{indent}{}", plain(other));
        }
    }
}
