//! An exported program as text, in the manner of FX: one line for a value, one for a node.

use std::fmt::{self, Display, Formatter};

use crate::graph::{Argument, Graph, Node, Scalar, TensorMeta, ValueId, ValueKind};
use crate::program::{ExportedProgram, InputKind, OutputKind};

/// Something that takes its names from a graph.
struct In<'a, T>(&'a Graph, T);

impl Display for ExportedProgram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let v = self.schema_version;
        write!(f, "program {} [{}] ", self.name, self.dialects.join(", "))?;
        writeln!(f, "(torch {}, schema {}.{}):", self.torch_version, v.major, v.minor)?;
        for (symbol, r) in &self.ranges {
            let bound = |b: Option<i64>| b.map_or_else(|| "?".to_owned(), |n| n.to_string());
            writeln!(f, "  symbol {symbol} in {}..={}", bound(r.min), bound(r.max))?;
        }
        for i in &self.inputs {
            write!(f, "  input {}", In(&self.graph, Typed(&i.arg)))?;
            match &i.kind {
                InputKind::User => writeln!(f),
                InputKind::Parameter(n) => writeln!(f, " = parameter `{n}`"),
                InputKind::Buffer { name, persistent: true } => writeln!(f, " = buffer `{name}`"),
                InputKind::Buffer { name, persistent: false } => writeln!(f, " = buffer `{name}`, not persistent"),
                InputKind::TensorConstant(n) => writeln!(f, " = constant `{n}`"),
                InputKind::CustomObj(n) => writeln!(f, " = object `{n}`"),
                InputKind::Token => writeln!(f, " = token"),
                InputKind::Constant(n) => writeln!(f, " = argument `{n}`, specialised"),
            }?;
        }
        write_nodes(f, &self.graph, 1)?;
        for o in &self.outputs {
            write!(f, "  output {}", In(&self.graph, &o.arg))?;
            match &o.kind {
                OutputKind::User => writeln!(f),
                OutputKind::Loss => writeln!(f, " = loss"),
                OutputKind::BufferMutation(n) => writeln!(f, " -> buffer `{n}`"),
                OutputKind::ParameterMutation(n) => writeln!(f, " -> parameter `{n}`"),
                OutputKind::UserInputMutation(n) => writeln!(f, " -> input `{n}`"),
                OutputKind::GradientToParameter(n) => writeln!(f, " = gradient of parameter `{n}`"),
                OutputKind::GradientToUserInput(n) => writeln!(f, " = gradient of input `{n}`"),
                OutputKind::Token => writeln!(f, " = token"),
            }?;
        }
        Ok(())
    }
}

impl Display for Graph {
    /// The graph alone, as the body of a nested graph is printed.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for i in &self.inputs {
            writeln!(f, "input {}", In(self, Typed(i)))?;
        }
        write_nodes(f, self, 0)?;
        self.outputs.iter().try_for_each(|o| writeln!(f, "output {}", In(self, o)))
    }
}

fn write_nodes(f: &mut Formatter<'_>, graph: &Graph, depth: usize) -> fmt::Result {
    graph.nodes.iter().try_for_each(|n| write_node(f, graph, n, depth))
}

fn write_node(f: &mut Formatter<'_>, graph: &Graph, node: &Node, depth: usize) -> fmt::Result {
    write!(f, "{:indent$}", "", indent = depth * 2)?;
    for (i, o) in node.outputs.iter().enumerate() {
        write!(f, "{}{}", if i > 0 { ", " } else { "" }, In(graph, Typed(o)))?;
    }
    write!(f, "{}{}(", if node.outputs.is_empty() { "" } else { " = " }, node.short_target())?;
    for (i, a) in node.inputs.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        if a.keyword {
            write!(f, "{}=", a.name)?;
        }
        write!(f, "{}", In(graph, &a.arg))?;
    }
    f.write_str(")\n")?;
    for a in &node.inputs {
        if let Argument::Graph(g) = &a.arg {
            writeln!(f, "{:indent$}graph {}:", "", g.name, indent = depth * 2 + 2)?;
            for i in &g.graph.inputs {
                writeln!(f, "{:indent$}input {}", "", In(&g.graph, Typed(i)), indent = depth * 2 + 4)?;
            }
            write_nodes(f, &g.graph, depth + 2)?;
            for o in &g.graph.outputs {
                writeln!(f, "{:indent$}output {}", "", In(&g.graph, o), indent = depth * 2 + 4)?;
            }
        }
    }
    Ok(())
}

/// An argument whose values come with their types.
struct Typed<'a>(&'a Argument);

impl Display for In<'_, Typed<'_>> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let one = |f: &mut Formatter<'_>, v: ValueId| {
            let value = self.0.value(v);
            write!(f, "{}: ", value.name)?;
            match &value.kind {
                ValueKind::Tensor(t) => write!(f, "{t}"),
                ValueKind::SymInt(s) => write!(f, "int({s})"),
                ValueKind::SymBool(s) => write!(f, "bool({s})"),
                ValueKind::SymFloat(s) => write!(f, "float({s})"),
                ValueKind::CustomObj(c) => f.write_str(c),
                ValueKind::Token => f.write_str("token"),
            }
        };
        match self.1.0 {
            Argument::Tensors(vs) => {
                f.write_str("[")?;
                for (i, v) in vs.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    one(f, *v)?;
                }
                f.write_str("]")
            }
            arg => match arg.values().as_slice() {
                [v] => one(f, *v),
                _ => write!(f, "{}", In(self.0, arg)),
            },
        }
    }
}

impl Display for TensorMeta {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (i, s) in self.sizes.iter().enumerate() {
            write!(f, "{}{s}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}

fn list<T>(f: &mut Formatter<'_>, items: &[T], one: impl Fn(&mut Formatter<'_>, &T) -> fmt::Result) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        one(f, item)?;
    }
    f.write_str("]")
}

fn scalar<T: fmt::Debug>(f: &mut Formatter<'_>, graph: &Graph, s: &Scalar<T>) -> fmt::Result {
    match s {
        Scalar::Known(n) => write!(f, "{n:?}"),
        Scalar::Value(v) => f.write_str(graph.name(*v)),
    }
}

impl Display for In<'_, &Argument> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let g = self.0;
        match self.1 {
            Argument::None => f.write_str("None"),
            Argument::Tensor(v)
            | Argument::SymInt(v)
            | Argument::SymFloat(v)
            | Argument::SymBool(v)
            | Argument::CustomObj(v)
            | Argument::Token(v) => f.write_str(g.name(*v)),
            Argument::Tensors(vs) => list(f, vs, |f, v| f.write_str(g.name(*v))),
            Argument::OptionalTensors(vs) => list(f, vs, |f, v| f.write_str(v.map_or("None", |v| g.name(v)))),
            Argument::NestedTensors(ls) => list(f, ls, |f, vs| list(f, vs, |f, v| f.write_str(g.name(*v)))),
            Argument::Int(n) => write!(f, "{n}"),
            Argument::Ints(n) => write!(f, "{n:?}"),
            Argument::IntLists(n) => write!(f, "{n:?}"),
            Argument::Float(n) => write!(f, "{n:?}"),
            Argument::Floats(n) => write!(f, "{n:?}"),
            Argument::FloatLists(n) => write!(f, "{n:?}"),
            Argument::Bool(b) => write!(f, "{b}"),
            Argument::Bools(b) => write!(f, "{b:?}"),
            Argument::String(s) => write!(f, "{s:?}"),
            Argument::Strings(s) => write!(f, "{s:?}"),
            Argument::SymInts(s) => list(f, s, |f, s| scalar(f, g, s)),
            Argument::SymFloats(s) => list(f, s, |f, s| scalar(f, g, s)),
            Argument::SymBools(s) => list(f, s, |f, s| scalar(f, g, s)),
            Argument::ScalarType(t) => write!(f, "{t}"),
            Argument::MemoryFormat(m) => write!(f, "{m}"),
            Argument::Layout(l) => write!(f, "{l}"),
            Argument::Device(d) => write!(f, "device({d})"),
            Argument::Complex { re, im } => write!(f, "complex({re:?}, {im:?})"),
            Argument::Graph(s) => write!(f, "graph {}", s.name),
            Argument::Operator(o) => f.write_str(o),
            Argument::Dict(d) => {
                f.write_str("{")?;
                for (i, (k, a)) in d.iter().enumerate() {
                    write!(f, "{}{k:?}: {}", if i > 0 { ", " } else { "" }, In(g, a))?;
                }
                f.write_str("}")
            }
            Argument::Unknown { kind, json } => write!(f, "{kind}({json})"),
        }
    }
}
