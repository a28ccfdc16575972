//! From the training dialect to a functional graph: no op writes to its inputs any more.
//!
//! `y = add_(x, 1)` becomes `y = add(x, 1)`, and later uses of `x`, or of another name for the same elements
//! (`detach(x)`), become `y`. A write to a buffer or to an input of the caller becomes an output that carries the
//! new value, as torch's `run_decompositions` has it: those outputs come first, in the order of the inputs.
//!
//! Where a write changes elements that another view shows (its base, a sibling) and that view is used later,
//! renaming can't be right: all such nodes are named in one error. Rebuilding the base from the written view
//! (`select_scatter` and the like) is left to torch. Graphs wrapped in `torch.no_grad` are inlined.
//! It decomposes nothing else.

use std::collections::BTreeMap;

use crate::error::{Error, Problem, Result};
use crate::graph::{Argument, Graph, NamedArgument, Node, Value, ValueId, ValueKind};
use crate::program::{ExportedProgram, InputKind, OutputKind, OutputSpec};
use crate::types::ScalarType;

mod alias;
mod inline;
mod ops;

use alias::Aliases;
use ops::{Effect, Functional};

/// What the user is told to do where renaming can't be right.
const ADVICE: &str = "export with `.run_decompositions({})` first";

impl ExportedProgram {
    /// Makes the graph functional, in place; see the module's words above. A graph that is functional already
    /// stays as it is.
    ///
    /// # Errors
    /// Names every node whose write can't be expressed by renaming, and every in-place op that has no functional
    /// form; the program is then unchanged.
    pub fn functionalize(&mut self) -> Result<()> {
        let mut graph = self.graph.clone();
        inline::no_grad(&mut graph);
        let mut pass = Pass { problems: Vec::new() };
        let aliases = pass.graph(&mut graph);
        let mutations = self.mutations(&mut pass, &graph, &aliases);
        Error::check(pass.problems)?;
        let outputs = std::mem::take(&mut graph.outputs);
        for (spec, arg) in self.outputs.iter_mut().zip(&outputs) {
            spec.arg = arg.clone();
        }
        self.outputs.splice(0..0, mutations);
        graph.outputs = self.outputs.iter().map(|o| o.arg.clone()).collect();
        self.graph = graph;
        Ok(())
    }

    /// The outputs that carry the new values of inputs that were written to.
    fn mutations(&self, pass: &mut Pass, graph: &Graph, aliases: &Aliases) -> Vec<OutputSpec> {
        let mut out = Vec::new();
        for input in &self.inputs {
            let Some(v) = input.arg.as_tensor() else { continue };
            let Some(writer) = aliases.writer(v) else { continue };
            let name = graph.name(v);
            let kind = match &input.kind {
                InputKind::Buffer { name, .. } => OutputKind::BufferMutation(name.clone()),
                InputKind::Parameter(n) => OutputKind::ParameterMutation(n.clone()),
                InputKind::User => OutputKind::UserInputMutation(name.to_owned()),
                _ => {
                    let what = format!("writes to the constant `{name}`; clone it, or make it a buffer");
                    pass.in_place(&graph.nodes[writer].name, aliases.target(writer), what);
                    continue;
                }
            };
            match aliases.resolve(v) {
                Ok(now) => out.push(OutputSpec { arg: Argument::Tensor(now), kind }),
                Err(writer) => {
                    let what = format!("writes through a view of `{name}`, which keeps its new value; {ADVICE}");
                    pass.in_place(&graph.nodes[writer].name, aliases.target(writer), what);
                }
            }
        }
        out
    }
}

struct Pass {
    problems: Vec<Problem>,
}

/// For each node that wrote too much: the stale value and where it is used, the first and how many.
type Stale = BTreeMap<usize, (ValueId, String, usize)>;

impl Pass {
    fn in_place(&mut self, node: &str, target: &str, what: String) {
        // One problem a node is enough.
        if !self.problems.iter().any(|p| matches!(p, Problem::InPlace { node: n, .. } if n == node)) {
            let target = target.strip_prefix("torch.ops.").unwrap_or(target).to_owned();
            self.problems.push(Problem::InPlace { node: node.to_owned(), target, what });
        }
    }

    /// Makes a graph functional and says which of its values were written to.
    fn graph(&mut self, graph: &mut Graph) -> Aliases {
        let mut aliases = Aliases::default();
        let mut stale = Stale::new();
        for v in graph.inputs.iter().flat_map(Argument::values) {
            aliases.fresh(v);
        }
        let nodes = std::mem::take(&mut graph.nodes);
        for mut node in nodes {
            let place = node.name.clone();
            for input in &mut node.inputs {
                resolve(&aliases, &mut stale, &mut input.arg, &place);
                if let Argument::Graph(g) = &mut input.arg {
                    self.nested(&mut g.graph);
                }
            }
            self.node(graph, &mut aliases, node);
        }
        for output in &mut graph.outputs {
            resolve(&aliases, &mut stale, output, "output");
        }
        for (writer, (value, user, count)) in stale {
            let more = if count > 1 { format!(" and {} more times", count - 1) } else { String::new() };
            let value = graph.name(value).to_owned();
            let what = format!("writes to elements that `{value}` shows, and `{user}` uses that later{more}; {ADVICE}");
            self.in_place(&graph.nodes[writer].name, aliases.target(writer), what);
        }
        aliases
    }

    fn nested(&mut self, graph: &mut Graph) {
        let aliases = self.graph(graph);
        for v in graph.inputs.iter().flat_map(Argument::values) {
            if let Some(writer) = aliases.writer(v) {
                let what = format!("writes to `{}`, an input of its nested graph; {ADVICE}", graph.name(v));
                self.in_place(&graph.nodes[writer].name, aliases.target(writer), what);
            }
        }
    }

    fn node(&mut self, graph: &mut Graph, aliases: &mut Aliases, mut node: Node) {
        match ops::effect(graph, &node) {
            Effect::Fresh => node.results().for_each(|v| aliases.fresh(v)),
            Effect::Views(views) => {
                for (v, source, sure) in views {
                    aliases.view(graph, v, source, sure);
                }
            }
            Effect::ShapeInPlace(target) => {
                node.target = target;
                if let (Some(x), Some(y)) = (ops::self_tensor(&node), node.results().next()) {
                    aliases.view(graph, y, x, true);
                }
            }
            Effect::Write(functional) => return self.write(graph, aliases, node, functional),
            Effect::Refused(what) => {
                self.in_place(&node.name, &node.target, what);
                node.results().for_each(|v| aliases.fresh(v));
            }
        }
        graph.nodes.push(node);
    }

    fn write(&mut self, graph: &mut Graph, aliases: &mut Aliases, mut node: Node, functional: Functional) {
        let out =
            if functional.out { node.input("out").and_then(Argument::as_tensor) } else { ops::self_tensor(&node) };
        let (Some(x), Some(y)) = (out, node.results().next()) else {
            return self.in_place(&node.name, &node.target, format!("is no in-place op on one tensor; {ADVICE}"));
        };
        if functional.out {
            node.inputs.retain(|i| i.name != "out");
        }
        let natural = ops::natural_dtype(graph, &node, y);
        let written = std::mem::replace(&mut node.target, functional.target);
        if let (Some(name), Some(first)) = (functional.self_name, node.inputs.first_mut()) {
            first.name = name.to_owned();
        }
        let at = graph.nodes.len();
        match natural {
            Some(dtype) => push_with_cast(graph, node, y, dtype),
            None => graph.nodes.push(node),
        }
        aliases.write(graph, x, y, at, written);
    }
}

fn resolve(aliases: &Aliases, stale: &mut Stale, arg: &mut Argument, user: &str) {
    arg.map_values(&mut |v| match aliases.resolve(v) {
        Ok(now) => now,
        Err(writer) => {
            stale.entry(writer).or_insert_with(|| (v, user.to_owned(), 0)).2 += 1;
            v
        }
    });
}

/// The node, whose functional form gives `dtype`, and a cast to the type that the in-place op kept.
fn push_with_cast(graph: &mut Graph, mut node: Node, y: ValueId, dtype: ScalarType) {
    let mut value: Value = graph.value(y).clone();
    let ValueKind::Tensor(meta) = &mut value.kind else {
        graph.nodes.push(node);
        return;
    };
    let kept = std::mem::replace(&mut meta.dtype, dtype);
    value.name = format!("{}_{dtype}", value.name);
    let wide = graph.add_value(value);
    node.outputs = vec![Argument::Tensor(wide)];
    let named = |name: &str, arg, keyword| NamedArgument { name: name.to_owned(), arg, keyword };
    let cast = Node {
        name: format!("{}_cast", node.name),
        target: "torch.ops.aten._to_copy.default".to_owned(),
        inputs: vec![named("self", Argument::Tensor(wide), false), named("dtype", Argument::ScalarType(kept), true)],
        outputs: vec![Argument::Tensor(y)],
        metadata: node.metadata.clone(),
        hop_single_tensor_return: None,
    };
    graph.nodes.push(node);
    graph.nodes.push(cast);
}
