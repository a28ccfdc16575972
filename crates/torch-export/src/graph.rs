//! The graph of an exported program as plain data: values, nodes, arguments.
//!
//! A value is named by a [`ValueId`] of its graph; names are for printing. When a graph comes out of the
//! reader, every value has one definition (an input or a node's output), which comes before its uses.
//! Nested graphs (of `cond`, `while_loop`, ...) have values of their own.

use indexmap::IndexMap;

use crate::sym::{SymBool, SymFloat, SymInt};
use crate::types::{Device, Layout, MemoryFormat, ScalarType};
use coremill_tensor::{DType, Shape};

/// A value of one [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    /// Its place in [`Graph::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value: what it is called and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Its name in the file.
    pub name: String,
    /// What it is.
    pub kind: ValueKind,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueKind {
    /// A tensor.
    Tensor(TensorMeta),
    /// An integer that the graph computes.
    SymInt(SymInt),
    /// A boolean that the graph computes.
    SymBool(SymBool),
    /// A float that the graph computes.
    SymFloat(SymFloat),
    /// A script object of this class.
    CustomObj(String),
    /// An effect token.
    Token,
}

/// What export knows of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMeta {
    /// Element type.
    pub dtype: ScalarType,
    /// Extents, outermost first.
    pub sizes: Vec<SymInt>,
    /// Elements from one index to the next, for each dimension.
    pub strides: Vec<SymInt>,
    /// Elements before the first in its storage.
    pub storage_offset: SymInt,
    /// Does it want a gradient?
    pub requires_grad: bool,
    /// Where it was when exported.
    pub device: Device,
    /// Dense or sparse.
    pub layout: Layout,
}

impl TensorMeta {
    /// The shape; opaque extents are unknown.
    pub fn shape(&self) -> Shape {
        self.sizes.iter().map(SymInt::dim).collect()
    }

    /// The element type, where coremill has it.
    pub fn dtype(&self) -> Option<DType> {
        self.dtype.dtype()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }
}

/// A graph: inputs, nodes in order of execution, outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Every value, by id.
    pub values: Vec<Value>,
    /// What it is given, in order. Beside values, an input may be a constant that export has specialised on.
    pub inputs: Vec<Argument>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// What it returns, in order: values, constants, `None`.
    pub outputs: Vec<Argument>,
    /// Does a subgraph return one tensor, not a tuple of one?
    pub single_tensor_return: bool,
}

impl Graph {
    /// The value of this id; every id that this graph holds is valid.
    ///
    /// # Panics
    /// When the id is of another graph.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The name of a value.
    ///
    /// # Panics
    /// When the id is of another graph.
    pub fn name(&self, id: ValueId) -> &str {
        &self.value(id).name
    }

    /// What is known of a tensor; `None` for other values.
    ///
    /// # Panics
    /// When the id is of another graph.
    pub fn tensor(&self, id: ValueId) -> Option<&TensorMeta> {
        match &self.value(id).kind {
            ValueKind::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// A value by its name in the file: linear, for tests and tools.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.values.iter().position(|v| v.name == name).map(|i| ValueId(i as u32))
    }

    /// Adds a value. Its name need not be new; names are for printing.
    pub fn add_value(&mut self, value: Value) -> ValueId {
        let id = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(value);
        id
    }
}

/// One call of an op.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name in the file; older files have none, and then its first output's.
    pub name: String,
    /// What is called, as torch spells it: `torch.ops.aten.add.Tensor`, `_operator.mul`.
    pub target: String,
    /// Arguments in the order of the op's schema; those left at their default are not there.
    pub inputs: Vec<NamedArgument>,
    /// Results in the order of the op's schema. A list result is one [`Argument::Tensors`]; a result that is
    /// undefined is [`Argument::None`]; one that nothing uses still has a name.
    pub outputs: Vec<Argument>,
    /// Everything else that export wrote down.
    pub metadata: IndexMap<String, String>,
    /// For higher-order ops: do they return one tensor, not a tuple of one?
    pub hop_single_tensor_return: Option<bool>,
}

impl Node {
    /// `namespace`, `name` and `overload` of `torch.ops.aten.add.Tensor`; `None` for other targets.
    pub fn op(&self) -> Option<(&str, &str, &str)> {
        let mut parts = self.target.strip_prefix("torch.ops.")?.split('.');
        let op = (parts.next()?, parts.next()?, parts.next().unwrap_or("default"));
        parts.next().is_none().then_some(op)
    }

    /// Name and overload when it is an op of ATen.
    pub fn aten(&self) -> Option<(&str, &str)> {
        self.op().filter(|(ns, ..)| *ns == "aten").map(|(_, name, overload)| (name, overload))
    }

    /// The target without `torch.ops.`, as in `aten.add.Tensor`.
    pub fn short_target(&self) -> &str {
        self.target.strip_prefix("torch.ops.").unwrap_or(&self.target)
    }

    /// The argument of this name; `None` when it is left at its default.
    pub fn input(&self, name: &str) -> Option<&Argument> {
        self.inputs.iter().find(|i| i.name == name).map(|i| &i.arg)
    }

    /// The values it defines, in order.
    pub fn results(&self) -> impl Iterator<Item = ValueId> {
        self.outputs.iter().flat_map(Argument::values)
    }

    /// Where in the model it comes from, outermost module first: path and class of each.
    pub fn module_stack(&self) -> Vec<ModuleRef<'_>> {
        let Some(stack) = self.metadata.get("nn_module_stack") else { return Vec::new() };
        let entry = |s| {
            let mut parts = str::splitn(s, 3, ',');
            let key = parts.next()?;
            let module = ModuleRef { path: parts.next()?, class: parts.next()? };
            (key != "_empty_nn_module_stack_from_metadata_hook").then_some(module)
        };
        stack.split(';').filter_map(entry).collect()
    }

    /// The innermost line of Python it comes from: `model.py:12: y = self.conv(x)`.
    pub fn source_line(&self) -> Option<String> {
        let trace = self.metadata.get("stack_trace")?;
        let (_, last) = trace.rsplit_once("File \"")?;
        let (file, rest) = last.split_once('"')?;
        let line: String = rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        let code = rest.lines().nth(1).map_or("", str::trim);
        let sep = if code.is_empty() { "" } else { ": " };
        Some(format!("{file}:{line}{sep}{code}"))
    }

    /// The debug handle that ExecuTorch gave it, where it did (the `debug_handle` of its custom metadata).
    pub fn debug_handle(&self) -> Option<i64> {
        if let Some(h) = self.metadata.get("debug_handle") {
            return h.parse().ok();
        }
        let custom: serde_json::Value = serde_json::from_str(self.metadata.get("custom")?).ok()?;
        custom.get("debug_handle")?.as_i64()
    }
}

/// A module of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleRef<'a> {
    /// Its fully qualified name, as in `encoder.layers.0`; empty for the root.
    pub path: &'a str,
    /// Its class, as in `torch.nn.modules.conv.Conv1d`.
    pub class: &'a str,
}

/// An argument and the name that the op's schema gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArgument {
    /// The name; empty for the arguments of higher-order ops.
    pub name: String,
    /// The argument.
    pub arg: Argument,
    /// Was it passed by name?
    pub keyword: bool,
}

/// What a node is given or gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Nothing.
    None,
    /// A tensor.
    Tensor(ValueId),
    /// A list of tensors.
    Tensors(Vec<ValueId>),
    /// A list of tensors and gaps.
    OptionalTensors(Vec<Option<ValueId>>),
    /// A list of lists of tensors.
    NestedTensors(Vec<Vec<ValueId>>),
    /// An integer.
    Int(i64),
    /// Integers.
    Ints(Vec<i64>),
    /// Lists of integers.
    IntLists(Vec<Vec<i64>>),
    /// A float, which may be infinite or NaN.
    Float(f64),
    /// Floats.
    Floats(Vec<f64>),
    /// Lists of floats.
    FloatLists(Vec<Vec<f64>>),
    /// A boolean.
    Bool(bool),
    /// Booleans.
    Bools(Vec<bool>),
    /// Text.
    String(String),
    /// Texts.
    Strings(Vec<String>),
    /// An integer that the graph computes.
    SymInt(ValueId),
    /// Integers, at least one computed by the graph.
    SymInts(Vec<Scalar<i64>>),
    /// A float that the graph computes.
    SymFloat(ValueId),
    /// Floats, at least one computed by the graph.
    SymFloats(Vec<Scalar<f64>>),
    /// A boolean that the graph computes.
    SymBool(ValueId),
    /// Booleans, at least one computed by the graph.
    SymBools(Vec<Scalar<bool>>),
    /// An element type.
    ScalarType(ScalarType),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A layout.
    Layout(Layout),
    /// A device.
    Device(Device),
    /// A complex number.
    Complex {
        /// Real part.
        re: f64,
        /// Imaginary part.
        im: f64,
    },
    /// A nested graph.
    Graph(Box<Subgraph>),
    /// A script object.
    CustomObj(ValueId),
    /// A token.
    Token(ValueId),
    /// The name of an op.
    Operator(String),
    /// A dictionary, in the file's order.
    Dict(Vec<(String, Argument)>),
    /// A kind that this reader does not know.
    Unknown {
        /// Its name in the file, `as_...`.
        kind: String,
        /// What it holds, as JSON.
        json: String,
    },
}

/// A number of a list: written down, or computed by the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<T> {
    /// Written down.
    Known(T),
    /// Computed.
    Value(ValueId),
}

/// A graph that is an argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Subgraph {
    /// Its name in the module.
    pub name: String,
    /// The graph.
    pub graph: Graph,
}

impl Argument {
    /// The values it holds, in order; those inside a nested graph not counted.
    pub fn values(&self) -> Vec<ValueId> {
        let mut out = Vec::new();
        self.visit(&mut |v| out.push(v));
        out
    }

    /// Calls `f` with each value it holds, in order.
    pub fn visit(&self, f: &mut dyn FnMut(ValueId)) {
        match self {
            Argument::Tensor(v)
            | Argument::SymInt(v)
            | Argument::SymFloat(v)
            | Argument::SymBool(v)
            | Argument::CustomObj(v)
            | Argument::Token(v) => f(*v),
            Argument::Tensors(vs) => vs.iter().for_each(|v| f(*v)),
            Argument::OptionalTensors(vs) => vs.iter().flatten().for_each(|v| f(*v)),
            Argument::NestedTensors(vs) => vs.iter().flatten().for_each(|v| f(*v)),
            Argument::SymInts(vs) => visit_scalars(vs, f),
            Argument::SymFloats(vs) => visit_scalars(vs, f),
            Argument::SymBools(vs) => visit_scalars(vs, f),
            Argument::Dict(d) => d.iter().for_each(|(_, a)| a.visit(f)),
            Argument::None
            | Argument::Int(_)
            | Argument::Ints(_)
            | Argument::IntLists(_)
            | Argument::Float(_)
            | Argument::Floats(_)
            | Argument::FloatLists(_)
            | Argument::Bool(_)
            | Argument::Bools(_)
            | Argument::String(_)
            | Argument::Strings(_)
            | Argument::ScalarType(_)
            | Argument::MemoryFormat(_)
            | Argument::Layout(_)
            | Argument::Device(_)
            | Argument::Complex { .. }
            | Argument::Graph(_)
            | Argument::Operator(_)
            | Argument::Unknown { .. } => {}
        }
    }

    /// Replaces each value it holds.
    pub fn map_values(&mut self, f: &mut dyn FnMut(ValueId) -> ValueId) {
        match self {
            Argument::Tensor(v)
            | Argument::SymInt(v)
            | Argument::SymFloat(v)
            | Argument::SymBool(v)
            | Argument::CustomObj(v)
            | Argument::Token(v) => *v = f(*v),
            Argument::Tensors(vs) => vs.iter_mut().for_each(|v| *v = f(*v)),
            Argument::OptionalTensors(vs) => vs.iter_mut().flatten().for_each(|v| *v = f(*v)),
            Argument::NestedTensors(vs) => vs.iter_mut().flatten().for_each(|v| *v = f(*v)),
            Argument::SymInts(vs) => map_scalars(vs, f),
            Argument::SymFloats(vs) => map_scalars(vs, f),
            Argument::SymBools(vs) => map_scalars(vs, f),
            Argument::Dict(d) => d.iter_mut().for_each(|(_, a)| a.map_values(f)),
            _ => {}
        }
    }

    /// Is it `None`?
    pub fn is_none(&self) -> bool {
        matches!(self, Argument::None)
    }

    /// The tensor.
    pub fn as_tensor(&self) -> Option<ValueId> {
        if let Argument::Tensor(v) = self { Some(*v) } else { None }
    }

    /// The tensors of a list without gaps. `[]` is written as no integers, and is a list of none.
    pub fn as_tensors(&self) -> Option<&[ValueId]> {
        match self {
            Argument::Tensors(vs) => Some(vs),
            Argument::Ints(v) if v.is_empty() => Some(&[]),
            _ => None,
        }
    }

    /// The integer, written down.
    pub fn as_int(&self) -> Option<i64> {
        if let Argument::Int(n) = self { Some(*n) } else { None }
    }

    /// The integers, all written down.
    pub fn as_ints(&self) -> Option<&[i64]> {
        if let Argument::Ints(n) = self { Some(n) } else { None }
    }

    /// The number as a float, when it is written down as a float, integer or boolean.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Argument::Float(v) => Some(*v),
            Argument::Int(v) => Some(*v as f64),
            Argument::Bool(v) => Some(f64::from(u8::from(*v))),
            _ => None,
        }
    }

    /// The boolean, written down.
    pub fn as_bool(&self) -> Option<bool> {
        if let Argument::Bool(b) = self { Some(*b) } else { None }
    }

    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        if let Argument::String(s) = self { Some(s) } else { None }
    }

    /// The element type.
    pub fn as_scalar_type(&self) -> Option<ScalarType> {
        if let Argument::ScalarType(t) = self { Some(*t) } else { None }
    }

    /// Integers that may be computed, as a list; integers written down alike.
    pub fn as_scalars(&self) -> Option<Vec<Scalar<i64>>> {
        match self {
            Argument::Ints(v) => Some(v.iter().map(|&n| Scalar::Known(n)).collect()),
            Argument::SymInts(v) => Some(v.clone()),
            _ => None,
        }
    }
}

fn visit_scalars<T>(list: &[Scalar<T>], f: &mut dyn FnMut(ValueId)) {
    for s in list {
        if let Scalar::Value(v) = s {
            f(*v);
        }
    }
}

fn map_scalars<T>(list: &mut [Scalar<T>], f: &mut dyn FnMut(ValueId) -> ValueId) {
    for s in list {
        if let Scalar::Value(v) = s {
            *v = f(*v);
        }
    }
}
