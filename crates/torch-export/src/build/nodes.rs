//! A graph: its table of values, and the nodes in order.

use std::collections::HashMap;

use super::arguments::argument;
use super::{Problems, Scope, sym_bool, sym_float, sym_int, tensor_meta};
use crate::graph::{Argument, Graph, NamedArgument, Node, Value, ValueId, ValueKind};
use crate::schema::{self as raw, Argument as RawArg};

/// The graph, and the names that are defined at its end.
pub(super) fn graph(problems: &mut Problems<'_>, path: &str, raw: raw::Graph) -> (Graph, HashMap<String, ValueId>) {
    let mut b = Builder {
        graph: Graph { single_tensor_return: raw.is_single_tensor_return, ..Graph::default() },
        defined: HashMap::new(),
        tables: Tables {
            tensors: raw.tensor_values,
            ints: raw.sym_int_values,
            bools: raw.sym_bool_values,
            floats: raw.sym_float_values,
            objects: raw.custom_obj_values,
        },
    };
    for (i, input) in raw.inputs.into_iter().enumerate() {
        let arg = b.define(problems, &format!("{path}.inputs[{i}]"), input);
        b.graph.inputs.push(arg);
    }
    for (i, node) in raw.nodes.into_iter().enumerate() {
        b.node(problems, path, i, node);
    }
    let mut scope = Scope { problems, names: &b.defined, path: String::new() };
    for (i, output) in raw.outputs.into_iter().enumerate() {
        scope.path = format!("{path}.outputs[{i}]");
        b.graph.outputs.push(argument(&mut scope, output));
    }
    (b.graph, b.defined)
}

/// What the graph's tables say of names that are not defined yet.
struct Tables {
    tensors: indexmap::IndexMap<String, raw::TensorMeta>,
    ints: indexmap::IndexMap<String, raw::SymInt>,
    bools: indexmap::IndexMap<String, raw::SymBool>,
    floats: indexmap::IndexMap<String, raw::SymFloat>,
    objects: indexmap::IndexMap<String, raw::CustomObj>,
}

struct Builder {
    graph: Graph,
    defined: HashMap<String, ValueId>,
    tables: Tables,
}

impl Builder {
    fn node(&mut self, problems: &mut Problems<'_>, graph_path: &str, i: usize, raw: raw::Node) {
        let name = raw.name.or_else(|| raw.outputs.iter().find_map(first_name)).unwrap_or_else(|| format!("node_{i}"));
        let path = format!("{graph_path}.nodes[{i}] ({name})");
        let mut scope = Scope { problems, names: &self.defined, path: path.clone() };
        let inputs = raw.inputs.into_iter().map(|n| {
            let arg = argument(&mut scope, n.arg);
            NamedArgument { name: n.name, arg, keyword: n.kind == Some(2) }
        });
        let inputs = inputs.collect();
        let outputs = raw.outputs.into_iter().map(|o| self.define(problems, &path, o)).collect();
        self.graph.nodes.push(Node {
            name,
            target: raw.target,
            inputs,
            outputs,
            metadata: raw.metadata,
            hop_single_tensor_return: raw.is_hop_single_tensor_return,
        });
    }

    /// Defines the values of an input or output. What defines nothing (a constant, an unused result) stays what it is.
    fn define(&mut self, problems: &mut Problems<'_>, path: &str, raw: RawArg) -> Argument {
        let p = problems;
        let defined = match raw {
            RawArg::Tensor(t) | RawArg::OptionalTensor(raw::OptionalTensor::Tensor(t)) => {
                self.tensor(p, path, t.name).map(Argument::Tensor)
            }
            RawArg::Tensors(ts) => {
                ts.into_iter().map(|t| self.tensor(p, path, t.name)).collect::<Option<_>>().map(Argument::Tensors)
            }
            RawArg::OptionalTensors(ts) => {
                let one = |t: raw::OptionalTensor| match t.name() {
                    Some(n) => self.tensor(p, path, n).map(Some),
                    None => Some(None),
                };
                ts.into_iter().map(one).collect::<Option<_>>().map(Argument::OptionalTensors)
            }
            RawArg::NestedTensors(ls) => {
                let one =
                    |l: Vec<raw::Named>| l.into_iter().map(|t| self.tensor(p, path, t.name)).collect::<Option<_>>();
                ls.into_iter().map(one).collect::<Option<_>>().map(Argument::NestedTensors)
            }
            RawArg::SymInt(raw::Scalar::Name(n)) => {
                let kind = self.tables.ints.swap_remove(&n).map(|s| ValueKind::SymInt(sym_int(s)));
                self.value(p, path, n, kind).map(Argument::SymInt)
            }
            RawArg::SymBool(raw::Scalar::Name(n)) => {
                let kind = self.tables.bools.swap_remove(&n).map(|s| ValueKind::SymBool(sym_bool(s)));
                self.value(p, path, n, kind).map(Argument::SymBool)
            }
            RawArg::SymFloat(raw::Scalar::Name(n)) => {
                let kind = self.tables.floats.swap_remove(&n).map(|s| ValueKind::SymFloat(sym_float(s)));
                self.value(p, path, n, kind).map(Argument::SymFloat)
            }
            RawArg::CustomObj(c) => {
                let class = self.tables.objects.swap_remove(&c.name).map_or(c.class_fqn, |o| o.class_fqn);
                let is_token = class.is_empty();
                let kind = if is_token { ValueKind::Token } else { ValueKind::CustomObj(class) };
                self.value(p, path, c.name, Some(kind)).map(Argument::CustomObj)
            }
            other => {
                let mut scope = Scope { problems: p, names: &self.defined, path: path.to_owned() };
                Some(argument(&mut scope, other))
            }
        };
        defined.unwrap_or(Argument::None)
    }

    fn tensor(&mut self, problems: &mut Problems<'_>, path: &str, name: String) -> Option<ValueId> {
        let kind = match self.tables.tensors.swap_remove(&name).map(tensor_meta) {
            Some(Ok(t)) => Some(ValueKind::Tensor(t)),
            Some(Err(what)) => {
                problems.push(path, format!("tensor `{name}`: {what}"));
                return None;
            }
            None => None,
        };
        self.value(problems, path, name, kind)
    }

    fn value(
        &mut self,
        problems: &mut Problems<'_>,
        path: &str,
        name: String,
        kind: Option<ValueKind>,
    ) -> Option<ValueId> {
        if self.defined.contains_key(&name) {
            problems.push(path, format!("`{name}` is defined twice"));
            return None;
        }
        let Some(kind) = kind else {
            problems.push(path, format!("`{name}` is in no table of the graph's values"));
            return None;
        };
        let id = self.graph.add_value(Value { name: name.clone(), kind });
        self.defined.insert(name, id);
        Some(id)
    }
}

fn first_name(arg: &RawArg) -> Option<String> {
    match arg {
        RawArg::Tensors(ts) => ts.first().map(|t| t.name.clone()),
        other => super::arguments::only_name(other),
    }
}
