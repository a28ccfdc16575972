//! From the JSON's records to [`ExportedProgram`]: names become ids, codes become enums, and the graph is
//! checked: every value is defined once, before its uses, and the signature fits the graph.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::error::{Error, Problem, Result};
use crate::graph::{Graph, TensorMeta, ValueId};
use crate::program::{
    ExportedProgram, InputKind, InputSpec, ModuleCall, ModuleSignature, OutputKind, OutputSpec, Range, SchemaVersion,
};
use crate::schema::{self as raw, Argument as RawArg};
use crate::sym::{SymBool, SymFloat, SymInt};
use crate::types::{Layout, ScalarType};

mod arguments;
mod nodes;

/// The program, its weights still missing.
///
/// # Errors
/// Everything in the graph or the signature that contradicts itself.
pub(crate) fn program(
    entry: &str,
    name: String,
    version: SchemaVersion,
    raw: raw::ExportedProgram,
) -> Result<ExportedProgram> {
    let mut problems = Problems { entry, list: Vec::new() };
    let module = raw.graph_module;
    let (graph, names) = nodes::graph(&mut problems, "graph_module.graph", module.graph);
    let mut scope = Scope { problems: &mut problems, names: &names, path: String::new() };
    let inputs = input_specs(&mut scope, &graph, module.signature.input_specs);
    let outputs = output_specs(&mut scope, &graph, module.signature.output_specs);
    let module_calls =
        module.module_call_graph.into_iter().enumerate().map(|(i, c)| module_call(&mut scope, i, c)).collect();
    Error::check(problems.list)?;
    Ok(ExportedProgram {
        name,
        graph,
        inputs,
        outputs,
        module_calls,
        ranges: raw.range_constraints.into_iter().map(|(s, r)| (s, range(&r))).collect(),
        weights: IndexMap::new(),
        constants: IndexMap::new(),
        opset_version: raw.opset_version,
        schema_version: version,
        dialects: raw.verifiers,
        torch_version: raw.torch_version,
        guards: raw.guards_code,
        metadata: module.metadata,
    })
}

/// The problems found so far in one entry.
struct Problems<'a> {
    entry: &'a str,
    list: Vec<Problem>,
}

impl Problems<'_> {
    fn push(&mut self, path: &str, what: String) {
        self.list.push(Problem::Graph { entry: self.entry.to_owned(), path: path.to_owned(), what });
    }
}

/// The names that may be used at some place.
struct Scope<'a, 'p> {
    problems: &'a mut Problems<'p>,
    names: &'a HashMap<String, ValueId>,
    path: String,
}

impl Scope<'_, '_> {
    fn push(&mut self, what: String) {
        self.problems.push(&self.path, what);
    }
}

fn range(r: &raw::RangeConstraint) -> Range {
    // An infinite bound is none; a finite one is an integer that a double holds.
    let bound = |b: &Option<raw::Float>| {
        b.as_ref().map(|f| f.0).filter(|v| v.is_finite() && v.abs() < 9.2e18).map(|v| v as i64)
    };
    Range { min: bound(&r.min_val), max: bound(&r.max_val) }
}

fn sym_int(s: raw::SymInt) -> SymInt {
    match s {
        raw::SymInt::AsInt(n) => SymInt::Int(n),
        raw::SymInt::AsExpr(e) => {
            let hint = match e.hint {
                Some(raw::Hint::Int(n)) => Some(n),
                Some(raw::Hint::Bool(b)) => Some(i64::from(b)),
                Some(raw::Hint::Float(_)) | None => None,
            };
            SymInt::from_text(&e.expr_str, hint)
        }
    }
}

fn sym_text(e: &raw::SymExpr) -> String {
    crate::sym::infix(&e.expr_str).unwrap_or_else(|| e.expr_str.clone())
}

fn sym_bool(s: raw::SymBool) -> SymBool {
    match s {
        raw::SymBool::AsBool(b) => SymBool::Bool(b),
        raw::SymBool::AsExpr(e) => SymBool::Expr(sym_text(&e)),
    }
}

fn sym_float(s: raw::SymFloat) -> SymFloat {
    match s {
        raw::SymFloat::AsFloat(f) => SymFloat::Float(f.0),
        raw::SymFloat::AsExpr(e) => {
            let hint = match e.hint {
                Some(raw::Hint::Float(f)) => Some(f.0),
                Some(raw::Hint::Int(n)) => Some(n as f64),
                Some(raw::Hint::Bool(_)) | None => None,
            };
            SymFloat::Expr { text: sym_text(&e), hint }
        }
    }
}

fn tensor_meta(t: raw::TensorMeta) -> std::result::Result<TensorMeta, String> {
    let dtype = ScalarType::from_code(t.dtype).ok_or_else(|| format!("dtype code {} is not known", t.dtype))?;
    let layout = Layout::from_code(t.layout).ok_or_else(|| format!("layout code {} is not known", t.layout))?;
    Ok(TensorMeta {
        dtype,
        layout,
        sizes: t.sizes.into_iter().map(sym_int).collect(),
        strides: t.strides.into_iter().map(sym_int).collect(),
        storage_offset: sym_int(t.storage_offset),
        requires_grad: t.requires_grad,
        device: t.device,
    })
}

fn input_specs(scope: &mut Scope<'_, '_>, graph: &Graph, specs: Vec<raw::InputSpec>) -> Vec<InputSpec> {
    if specs.len() != graph.inputs.len() {
        let (s, g) = (specs.len(), graph.inputs.len());
        scope
            .problems
            .push("graph_module.signature.input_specs", format!("describes {s} inputs, and the graph has {g}"));
        return Vec::new();
    }
    let mut out = Vec::with_capacity(specs.len());
    for (i, (spec, arg)) in specs.into_iter().zip(&graph.inputs).enumerate() {
        scope.path = format!("graph_module.signature.input_specs[{i}]");
        let (name, kind) = match spec {
            raw::InputSpec::UserInput(a) => (arguments::only_name(&a.arg), InputKind::User),
            raw::InputSpec::Parameter { arg, parameter_name } => (Some(arg.name), InputKind::Parameter(parameter_name)),
            raw::InputSpec::Buffer { arg, buffer_name, persistent } => {
                (Some(arg.name), InputKind::Buffer { name: buffer_name, persistent })
            }
            raw::InputSpec::TensorConstant { arg, tensor_constant_name } => {
                (Some(arg.name), InputKind::TensorConstant(tensor_constant_name))
            }
            raw::InputSpec::CustomObj { arg, custom_obj_name } => {
                (Some(arg.name), InputKind::CustomObj(custom_obj_name))
            }
            raw::InputSpec::Token { arg } => (Some(arg.name), InputKind::Token),
            raw::InputSpec::ConstantInput { name, value } => {
                let value = arguments::argument(scope, value);
                out.push(InputSpec { arg: value, kind: InputKind::Constant(name) });
                continue;
            }
        };
        let is_input = name.as_ref().is_none_or(|n| arg.values().first().is_some_and(|v| graph.name(*v) == n));
        if !is_input {
            scope.push(format!("`{}` is not the graph's input at this place", name.unwrap_or_default()));
        }
        out.push(InputSpec { arg: arg.clone(), kind });
    }
    out
}

fn output_specs(scope: &mut Scope<'_, '_>, graph: &Graph, specs: Vec<raw::OutputSpec>) -> Vec<OutputSpec> {
    if specs.len() != graph.outputs.len() {
        let (s, g) = (specs.len(), graph.outputs.len());
        scope
            .problems
            .push("graph_module.signature.output_specs", format!("describes {s} outputs, and the graph has {g}"));
        return Vec::new();
    }
    let mut out = Vec::with_capacity(specs.len());
    for (i, (spec, arg)) in specs.into_iter().zip(&graph.outputs).enumerate() {
        scope.path = format!("graph_module.signature.output_specs[{i}]");
        let (name, kind) = match spec {
            raw::OutputSpec::UserOutput(a) => (arguments::only_name(&a.arg), OutputKind::User),
            raw::OutputSpec::LossOutput { arg } => (Some(arg.name), OutputKind::Loss),
            raw::OutputSpec::BufferMutation { arg, buffer_name } => {
                (Some(arg.name), OutputKind::BufferMutation(buffer_name))
            }
            raw::OutputSpec::ParameterMutation { arg, parameter_name } => {
                (Some(arg.name), OutputKind::ParameterMutation(parameter_name))
            }
            raw::OutputSpec::UserInputMutation { arg, user_input_name } => {
                (Some(arg.name), OutputKind::UserInputMutation(user_input_name))
            }
            raw::OutputSpec::GradientToParameter { arg, parameter_name } => {
                (Some(arg.name), OutputKind::GradientToParameter(parameter_name))
            }
            raw::OutputSpec::GradientToUserInput { arg, user_input_name } => {
                (Some(arg.name), OutputKind::GradientToUserInput(user_input_name))
            }
            raw::OutputSpec::Token { arg } => (Some(arg.name), OutputKind::Token),
        };
        let is_output = name.as_ref().is_none_or(|n| arg.values().first().is_some_and(|v| graph.name(*v) == n));
        if !is_output {
            scope.push(format!("`{}` is not the graph's output at this place", name.unwrap_or_default()));
        }
        out.push(OutputSpec { arg: arg.clone(), kind });
    }
    out
}

fn module_call(scope: &mut Scope<'_, '_>, i: usize, call: raw::ModuleCall) -> ModuleCall {
    scope.path = format!("graph_module.module_call_graph[{i}]");
    let mut list = |args: Vec<RawArg>| args.into_iter().map(|a| arguments::argument(scope, a)).collect();
    let signature = call.signature.map(|s| ModuleSignature {
        inputs: list(s.inputs),
        outputs: list(s.outputs),
        in_spec: s.in_spec,
        out_spec: s.out_spec,
        forward_arg_names: s.forward_arg_names.unwrap_or_default(),
    });
    ModuleCall { fqn: call.fqn, signature }
}
