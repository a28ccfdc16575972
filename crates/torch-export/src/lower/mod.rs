//! ATen to MIL.
//!
//! [`lower`] walks the nodes of an exported program and makes the MIL that each means, one file per op family,
//! found through one table (`table.rs`). The training dialect, core ATen and ExecuTorch's edge dialect go the same
//! way. Inputs keep their names; outputs are called what the graph's output node calls them.
//!
//! It promises that every problem of a kind is reported at once: all ops without a lowering, then all nodes that
//! have one but not for their arguments. It deliberately fuses and folds nothing: passes do. Programs with state or
//! with extents that are only known at run time are not lowered yet, and are refused by name.

mod activation;
mod attention;
mod conv;
mod creation;
mod elementwise;
mod env;
mod error;
mod indexing;
mod linear;
mod node;
mod normalization;
mod pool;
mod reduction;
mod shape;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use coremill_mil::{Builder, Function, NewOp, OpKind, Opset, Origin, Place, Program, SourceNode, Type};

pub use error::{LowerError, MissingOp, NodeProblem};
pub use node::NodeError;

use crate::graph::{Argument, Graph, Node, ValueId as GraphValue};
use crate::program::{ExportedProgram, InputKind, InputSpec, OutputKind};
use env::{Env, mil_dtype};
use node::{Lowered, NodeCx};

/// How to lower.
#[derive(Clone, Copy, Debug)]
pub struct LowerOptions {
    /// The opset of the program that is made.
    pub opset: Opset,
}

/// Lowers a program to one function, `main`.
///
/// In-place ops are made functional first. Weights stay slices of the file; 64-bit numbers become 32-bit ones.
///
/// # Errors
/// When an in-place op cannot be made functional, when ops have no lowering or have none for their arguments, and
/// when the program has state or inputs that Core ML does not take; see [`LowerError`].
pub fn lower(program: &ExportedProgram, options: LowerOptions) -> Result<Program, LowerError> {
    let mut program = program.clone();
    program.functionalize().map_err(|e| LowerError::Functionalize(Box::new(e)))?;
    check_state(&program)?;
    check_targets(&program.graph)?;
    let mut f = Function::new(options.opset);
    let body = f.body();
    let mut env = Env::new(program.graph.values.len());
    bind_inputs(&program, &mut f, &mut env)?;
    let mut b = Builder::new(&mut f, Place::End(body));
    lower_nodes(&program.graph, &mut env, &mut b)?;
    set_outputs(&program, &mut env, &mut b)?;
    Ok(Program::with_main(f))
}

/// Every op that has no lowering, with how often it occurs and where first.
fn check_targets(graph: &Graph) -> Result<(), LowerError> {
    let mut missing: BTreeMap<&str, MissingOp> = BTreeMap::new();
    for node in graph.nodes.iter().filter(|n| !is_skipped(n) && table::find(&n.target).is_none()) {
        let entry = missing.entry(node.short_target()).or_insert_with(|| MissingOp {
            target: node.short_target().to_owned(),
            count: 0,
            first_node: node.name.clone(),
            first_line: node.source_line(),
        });
        entry.count += 1;
    }
    if missing.is_empty() { Ok(()) } else { Err(LowerError::MissingOps(missing.into_values().collect())) }
}

/// Assertions about the inputs that export made: nothing to compute.
fn is_skipped(node: &Node) -> bool {
    matches!(
        table::op_name(&node.target),
        "_assert_tensor_metadata.default" | "_assert_scalar.default" | "sym_constrain_range_for_size.default"
    )
}

fn check_state(program: &ExportedProgram) -> Result<(), LowerError> {
    let mutated = |kind: &OutputKind| match kind {
        OutputKind::BufferMutation(n) | OutputKind::ParameterMutation(n) | OutputKind::UserInputMutation(n) => {
            Some(n.clone())
        }
        _ => None,
    };
    let names: Vec<String> = program.outputs.iter().filter_map(|o| mutated(&o.kind)).collect();
    if names.is_empty() { Ok(()) } else { Err(LowerError::State(names)) }
}

fn bind_inputs(program: &ExportedProgram, f: &mut Function, env: &mut Env) -> Result<(), LowerError> {
    let body = f.body();
    let mut problems = Vec::new();
    for input in &program.inputs {
        let Argument::Tensor(v) = input.arg else { continue };
        if let Some(weight) = program.data(input) {
            match weight.to_contiguous() {
                Ok(data) => env.bind_weight(v, weight.name.clone(), data),
                Err(what) => problems.push(format!("weight `{}`: {what}", weight.name)),
            }
            continue;
        }
        match input_type(&program.graph, input, v) {
            Ok(ty) => {
                let value = f.add_input(body, program.graph.name(v), ty);
                env.bind(v, value);
            }
            Err(what) => problems.push(what),
        }
    }
    for input in program.user_inputs().filter(|i| matches!(i.arg, Argument::SymInt(_) | Argument::SymFloat(_))) {
        problems.push(format!("input {:?} is a number that is given at run time", input.arg));
    }
    if problems.is_empty() { Ok(()) } else { Err(LowerError::Inputs(problems)) }
}

fn input_type(graph: &Graph, input: &InputSpec, v: GraphValue) -> Result<Type, String> {
    let name = graph.name(v);
    if input.kind != InputKind::User {
        return Err(format!("input `{name}` is neither given by the caller nor in the file"));
    }
    let meta = graph.tensor(v).ok_or_else(|| format!("input `{name}` is no tensor"))?;
    let dtype = meta.dtype().and_then(mil_dtype);
    let dtype = dtype.ok_or_else(|| format!("input `{name}` is {}, which MIL programs do not have", meta.dtype))?;
    Ok(Type::tensor(dtype, meta.shape()))
}

fn lower_nodes(graph: &Graph, env: &mut Env, b: &mut Builder<'_>) -> Result<(), LowerError> {
    let mut problems = Vec::new();
    for node in graph.nodes.iter().filter(|n| !is_skipped(n)) {
        let Some(f) = table::find(&node.target) else { continue };
        b.set_origin(origin(node));
        let lowered = f(&mut NodeCx { node, graph, env, b });
        match lowered {
            Ok(lowered) => bind_results(node, lowered, env),
            // What hangs on a node that failed fails too, and says nothing new.
            Err(_) if problems.iter().any(|p: &NodeProblem| depends_on(node, &p.results)) => {
                if let Some(last) = problems.last_mut() {
                    last.results.extend(node.results());
                }
            }
            Err(error) => problems.push(NodeProblem {
                node: node.name.clone(),
                target: node.short_target().to_owned(),
                line: node.source_line(),
                error,
                results: node.results().collect(),
            }),
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(LowerError::Nodes(problems)) }
}

fn depends_on(node: &Node, failed: &[GraphValue]) -> bool {
    node.inputs.iter().any(|i| i.arg.values().iter().any(|v| failed.contains(v)))
}

fn origin(node: &Node) -> Origin {
    let module_path = node.module_stack().last().map(|m| m.path.to_owned()).unwrap_or_default();
    Origin::from_source(Arc::new(SourceNode {
        name: node.name.clone(),
        target: node.short_target().to_owned(),
        module_path,
        source_line: node.source_line(),
        debug_handles: node.debug_handle().into_iter().collect(),
    }))
}

/// Binds what a node made to its results, in order; results beyond that stay unbound and fail where they are used.
fn bind_results(node: &Node, lowered: Lowered, env: &mut Env) {
    match lowered {
        Lowered::One(v) => {
            if let Some(result) = node.results().next() {
                env.bind(result, v);
            }
        }
        Lowered::Many(vs) => {
            for (result, v) in node.results().zip(vs) {
                if let Some(v) = v {
                    env.bind(result, v);
                }
            }
        }
    }
}

/// The outputs under the graph's names. One that is an input, or was an output already, gets a copy of its own.
fn set_outputs(program: &ExportedProgram, env: &mut Env, b: &mut Builder<'_>) -> Result<(), LowerError> {
    b.set_origin(Origin::default());
    let mut outputs = Vec::new();
    let mut problems = Vec::new();
    for output in program.user_outputs() {
        let Argument::Tensor(v) = output.arg else {
            if !output.arg.is_none() {
                problems.push(format!("output {:?} is no tensor", output.arg));
            }
            continue;
        };
        let name = program.graph.name(v).to_owned();
        let value = match env.value(v, &program.graph, b) {
            Ok(value) => value,
            Err(e) => {
                problems.push(format!("output `{name}`: {e}"));
                continue;
            }
        };
        let taken = b.f.inputs().contains(&value) || outputs.iter().any(|(_, other)| *other == value);
        if taken || b.f.const_value(value).is_some() {
            let ty = b.f.ty(value).clone();
            let body = b.f.body();
            let copy = b.f.insert(Place::End(body), NewOp::new(OpKind::Identity).input("x", value).output(&name, ty));
            let copy = b.f.op(copy).output();
            outputs.push((name, copy));
        } else {
            outputs.push((name, value));
        }
    }
    if !problems.is_empty() {
        return Err(LowerError::Outputs(problems));
    }
    b.f.set_outputs(outputs);
    Ok(())
}
