//! Arguments: names become ids, and forms that say the same become one.

use super::{Scope, nodes};
use crate::graph::{Argument, Scalar, Subgraph, ValueId};
use crate::schema::{self as raw, Argument as RawArg};
use crate::types::{Layout, MemoryFormat, ScalarType};

/// The argument. A name that is not defined is a problem, and the argument then [`Argument::None`].
pub(super) fn argument(scope: &mut Scope<'_, '_>, raw: RawArg) -> Argument {
    convert(scope, raw).unwrap_or(Argument::None)
}

/// The name that an argument of one name holds.
pub(super) fn only_name(raw: &RawArg) -> Option<String> {
    match raw {
        RawArg::Tensor(t) | RawArg::OptionalTensor(raw::OptionalTensor::Tensor(t)) => Some(t.name.clone()),
        RawArg::SymInt(raw::Scalar::Name(n))
        | RawArg::SymFloat(raw::Scalar::Name(n))
        | RawArg::SymBool(raw::Scalar::Name(n)) => Some(n.clone()),
        RawArg::CustomObj(c) => Some(c.name.clone()),
        _ => None,
    }
}

fn convert(scope: &mut Scope<'_, '_>, raw: RawArg) -> Option<Argument> {
    Some(match raw {
        RawArg::None | RawArg::OptionalTensor(raw::OptionalTensor::None(_)) => Argument::None,
        RawArg::Tensor(t) | RawArg::OptionalTensor(raw::OptionalTensor::Tensor(t)) => {
            Argument::Tensor(value(scope, &t.name)?)
        }
        RawArg::Tensors(ts) => Argument::Tensors(values(scope, ts)?),
        RawArg::OptionalTensors(ts) => {
            let one = |t: raw::OptionalTensor| match t.name() {
                Some(n) => value(scope, &n).map(Some),
                None => Some(None),
            };
            Argument::OptionalTensors(ts.into_iter().map(one).collect::<Option<_>>()?)
        }
        RawArg::NestedTensors(ls) => {
            Argument::NestedTensors(ls.into_iter().map(|l| values(scope, l)).collect::<Option<_>>()?)
        }
        RawArg::Int(n) => Argument::Int(n),
        RawArg::Ints(n) => Argument::Ints(n),
        RawArg::IntLists(n) => Argument::IntLists(n),
        RawArg::Float(f) => Argument::Float(f.0),
        RawArg::Floats(fs) => Argument::Floats(floats(fs)),
        RawArg::FloatLists(ls) => Argument::FloatLists(ls.into_iter().map(floats).collect()),
        RawArg::Bool(b) => Argument::Bool(b),
        RawArg::Bools(b) => Argument::Bools(b),
        RawArg::String(s) => Argument::String(s),
        RawArg::Strings(s) => Argument::Strings(s),
        RawArg::SymInt(s) => match scalar(scope, s)? {
            Scalar::Known(n) => Argument::Int(n),
            Scalar::Value(v) => Argument::SymInt(v),
        },
        RawArg::SymInts(s) => match known_or_scalars(scope, s)? {
            Ok(n) => Argument::Ints(n),
            Err(s) => Argument::SymInts(s),
        },
        RawArg::SymFloat(s) => match scalar(scope, s)? {
            Scalar::Known(f) => Argument::Float(f.0),
            Scalar::Value(v) => Argument::SymFloat(v),
        },
        RawArg::SymFloats(s) => match known_or_scalars(scope, s)? {
            Ok(f) => Argument::Floats(floats(f)),
            Err(s) => Argument::SymFloats(s.into_iter().map(float_scalar).collect()),
        },
        RawArg::SymBool(s) => match scalar(scope, s)? {
            Scalar::Known(b) => Argument::Bool(b),
            Scalar::Value(v) => Argument::SymBool(v),
        },
        RawArg::SymBools(s) => match known_or_scalars(scope, s)? {
            Ok(b) => Argument::Bools(b),
            Err(s) => Argument::SymBools(s),
        },
        RawArg::ScalarType(c) => Argument::ScalarType(code(scope, "dtype", c, ScalarType::from_code)?),
        RawArg::MemoryFormat(c) => Argument::MemoryFormat(code(scope, "memory format", c, MemoryFormat::from_code)?),
        RawArg::Layout(c) => Argument::Layout(code(scope, "layout", c, Layout::from_code)?),
        RawArg::Device(d) => Argument::Device(d),
        RawArg::Complex(c) => Argument::Complex { re: c.real.0, im: c.imag.0 },
        RawArg::Graph(g) => {
            let path = format!("{}.{}", scope.path, g.name);
            let (graph, _) = nodes::graph(scope.problems, &path, g.graph);
            Argument::Graph(Box::new(Subgraph { name: g.name, graph }))
        }
        RawArg::CustomObj(c) => Argument::CustomObj(value(scope, &c.name)?),
        RawArg::Operator(s) => Argument::Operator(s),
        RawArg::Dict(d) => Argument::Dict(d.into_iter().map(|(k, a)| (k, argument(scope, a))).collect()),
        RawArg::Unknown { kind, json } => Argument::Unknown { kind, json },
    })
}

fn value(scope: &mut Scope<'_, '_>, name: &str) -> Option<ValueId> {
    let found = scope.names.get(name).copied();
    if found.is_none() {
        scope.push(format!("`{name}` is used before it is defined"));
    }
    found
}

fn values(scope: &mut Scope<'_, '_>, list: Vec<raw::Named>) -> Option<Vec<ValueId>> {
    list.into_iter().map(|t| value(scope, &t.name)).collect()
}

fn floats(list: Vec<raw::Float>) -> Vec<f64> {
    list.into_iter().map(|f| f.0).collect()
}

fn float_scalar(s: Scalar<raw::Float>) -> Scalar<f64> {
    match s {
        Scalar::Known(f) => Scalar::Known(f.0),
        Scalar::Value(v) => Scalar::Value(v),
    }
}

fn scalar<T>(scope: &mut Scope<'_, '_>, s: raw::Scalar<T>) -> Option<Scalar<T>> {
    match s {
        raw::Scalar::Known(v) => Some(Scalar::Known(v)),
        raw::Scalar::Name(n) => value(scope, &n).map(Scalar::Value),
    }
}

/// A list of numbers when none is computed, else the scalars.
fn known_or_scalars<T: Copy>(
    scope: &mut Scope<'_, '_>,
    list: Vec<raw::Scalar<T>>,
) -> Option<Result<Vec<T>, Vec<Scalar<T>>>> {
    let list: Vec<Scalar<T>> = list.into_iter().map(|s| scalar(scope, s)).collect::<Option<_>>()?;
    let known: Option<Vec<T>> = list.iter().map(|s| if let Scalar::Known(v) = s { Some(*v) } else { None }).collect();
    Some(known.ok_or(list))
}

fn code<T>(scope: &mut Scope<'_, '_>, what: &str, code: i64, f: fn(i64) -> Option<T>) -> Option<T> {
    let found = f(code);
    if found.is_none() {
        scope.push(format!("{what} code {code} is not known"));
    }
    found
}
