//! Graphs under `torch.no_grad` and its like: inference knows no gradients, so their nodes join the graph around.

use std::collections::HashMap;

use crate::graph::{Argument, Graph, Node, ValueId};

const SET_GRAD: &str = "torch.ops.higher_order.wrap_with_set_grad_enabled";

/// Inlines every such graph, those inside others too. One whose shape is not the expected one stays.
pub(super) fn no_grad(graph: &mut Graph) {
    if !graph.nodes.iter().any(|n| n.inputs.iter().any(|i| matches!(i.arg, Argument::Graph(_)))) {
        return;
    }
    // A result of an inlined graph is another value from then on.
    let mut renamed: HashMap<ValueId, ValueId> = HashMap::new();
    let nodes = std::mem::take(&mut graph.nodes);
    for mut node in nodes {
        for input in &mut node.inputs {
            input.arg.map_values(&mut |v| renamed.get(&v).copied().unwrap_or(v));
            if let Argument::Graph(g) = &mut input.arg {
                no_grad(&mut g.graph);
            }
        }
        if node.target != SET_GRAD || !inline(graph, &mut renamed, &node) {
            graph.nodes.push(node);
        }
    }
    for output in &mut graph.outputs {
        output.map_values(&mut |v| renamed.get(&v).copied().unwrap_or(v));
    }
}

/// Says whether it fitted.
fn inline(graph: &mut Graph, renamed: &mut HashMap<ValueId, ValueId>, node: &Node) -> bool {
    let [_, body, args @ ..] = node.inputs.as_slice() else { return false };
    let Argument::Graph(body) = &body.arg else { return false };
    let inner = &body.graph;
    let results: Vec<ValueId> = node.results().collect();
    if inner.inputs.len() != args.len() || inner.outputs.len() != results.len() {
        return false;
    }
    let mut map: HashMap<ValueId, ValueId> = HashMap::new();
    for (param, arg) in inner.inputs.iter().zip(args) {
        match (param.values().as_slice(), arg.arg.values().as_slice()) {
            ([p], [a]) => {
                map.insert(*p, *a);
            }
            ([], _) => {}
            _ => return false,
        }
    }
    let outputs: Option<Vec<ValueId>> = inner.outputs.iter().map(|o| o.values().first().copied()).collect();
    let Some(outputs) = outputs else { return false };
    for inner_node in &inner.nodes {
        let mut moved = inner_node.clone();
        for v in moved.results() {
            map.insert(v, graph.add_value(inner.value(v).clone()));
        }
        let mut rename = |v: ValueId| map.get(&v).copied().unwrap_or(v);
        moved.inputs.iter_mut().for_each(|i| i.arg.map_values(&mut rename));
        moved.outputs.iter_mut().for_each(|o| o.map_values(&mut rename));
        graph.nodes.push(moved);
    }
    for (result, output) in results.into_iter().zip(outputs) {
        renamed.insert(result, map.get(&output).copied().unwrap_or(result));
    }
    true
}
