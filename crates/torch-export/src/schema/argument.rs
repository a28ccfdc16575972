//! The unions of the schema that hold numbers and arguments.

use std::fmt;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::{CustomObj, Graph, Named};
use crate::types::Device;

/// A float: a JSON number, or `"Infinity"`, `"-Infinity"`, `"NaN"`.
#[derive(Clone, Copy)]
pub(crate) struct Float(pub(crate) f64);

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Float, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Float;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"Infinity\", \"-Infinity\" or \"NaN\"")
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<Float, E> {
                Ok(Float(v))
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Float, E> {
                Ok(Float(v as f64))
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Float, E> {
                Ok(Float(v as f64))
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Float, E> {
                match v {
                    "Infinity" => Ok(Float(f64::INFINITY)),
                    "-Infinity" => Ok(Float(f64::NEG_INFINITY)),
                    "NaN" => Ok(Float(f64::NAN)),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }
        }
        d.deserialize_any(V)
    }
}

/// `{"as_name": ...}` or `{"as_int": ...}` and its like for floats and booleans.
#[derive(Deserialize)]
pub(crate) enum Scalar<T> {
    #[serde(rename = "as_name")]
    Name(String),
    #[serde(rename = "as_int", alias = "as_float", alias = "as_bool")]
    Known(T),
}

#[derive(Deserialize)]
pub(crate) enum OptionalTensor {
    #[serde(rename = "as_tensor")]
    Tensor(Named),
    #[serde(rename = "as_none")]
    None(serde::de::IgnoredAny),
}

impl OptionalTensor {
    pub(crate) fn name(self) -> Option<String> {
        match self {
            OptionalTensor::Tensor(t) => Some(t.name),
            OptionalTensor::None(_) => None,
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct GraphArgument {
    pub(crate) name: String,
    pub(crate) graph: Graph,
}

#[derive(Deserialize)]
pub(crate) struct Complex {
    pub(crate) real: Float,
    pub(crate) imag: Float,
}

/// The union of all arguments. An unknown kind keeps its name and its JSON.
pub(crate) enum Argument {
    None,
    Tensor(Named),
    Tensors(Vec<Named>),
    OptionalTensor(OptionalTensor),
    OptionalTensors(Vec<OptionalTensor>),
    NestedTensors(Vec<Vec<Named>>),
    Int(i64),
    Ints(Vec<i64>),
    IntLists(Vec<Vec<i64>>),
    Float(Float),
    Floats(Vec<Float>),
    FloatLists(Vec<Vec<Float>>),
    Bool(bool),
    Bools(Vec<bool>),
    String(String),
    Strings(Vec<String>),
    SymInt(Scalar<i64>),
    SymInts(Vec<Scalar<i64>>),
    SymFloat(Scalar<Float>),
    SymFloats(Vec<Scalar<Float>>),
    SymBool(Scalar<bool>),
    SymBools(Vec<Scalar<bool>>),
    ScalarType(i64),
    MemoryFormat(i64),
    Layout(i64),
    Device(Device),
    Complex(Complex),
    Graph(Box<GraphArgument>),
    CustomObj(CustomObj),
    Operator(String),
    Dict(IndexMap<String, Argument>),
    Unknown { kind: String, json: String },
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Argument, D::Error> {
        d.deserialize_map(ArgumentVisitor)
    }
}

struct ArgumentVisitor;

impl<'de> Visitor<'de> for ArgumentVisitor {
    type Value = Argument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an argument: an object with one `as_...` field")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Argument, A::Error> {
        let kind: String = map.next_key()?.ok_or_else(|| A::Error::custom("an argument without a kind"))?;
        let m = &mut map;
        let arg = match kind.as_str() {
            "as_none" => {
                let _: serde::de::IgnoredAny = m.next_value()?;
                Argument::None
            }
            "as_tensor" => Argument::Tensor(m.next_value()?),
            "as_tensors" => Argument::Tensors(m.next_value()?),
            "as_optional_tensor" => Argument::OptionalTensor(m.next_value()?),
            "as_optional_tensors" => Argument::OptionalTensors(m.next_value()?),
            "as_nested_tensors" => Argument::NestedTensors(m.next_value()?),
            "as_int" => Argument::Int(m.next_value()?),
            "as_ints" => Argument::Ints(m.next_value()?),
            "as_int_lists" => Argument::IntLists(m.next_value()?),
            "as_float" => Argument::Float(m.next_value()?),
            "as_floats" => Argument::Floats(m.next_value()?),
            "as_float_lists" => Argument::FloatLists(m.next_value()?),
            "as_bool" => Argument::Bool(m.next_value()?),
            "as_bools" => Argument::Bools(m.next_value()?),
            "as_string" => Argument::String(m.next_value()?),
            "as_strings" => Argument::Strings(m.next_value()?),
            "as_sym_int" => Argument::SymInt(m.next_value()?),
            "as_sym_ints" => Argument::SymInts(m.next_value()?),
            "as_sym_float" => Argument::SymFloat(m.next_value()?),
            "as_sym_floats" => Argument::SymFloats(m.next_value()?),
            "as_sym_bool" => Argument::SymBool(m.next_value()?),
            "as_sym_bools" => Argument::SymBools(m.next_value()?),
            "as_scalar_type" => Argument::ScalarType(m.next_value()?),
            "as_memory_format" => Argument::MemoryFormat(m.next_value()?),
            "as_layout" => Argument::Layout(m.next_value()?),
            "as_device" => Argument::Device(m.next_value()?),
            "as_complex" => Argument::Complex(m.next_value()?),
            "as_graph" => Argument::Graph(m.next_value()?),
            "as_custom_obj" => Argument::CustomObj(m.next_value()?),
            "as_operator" => Argument::Operator(m.next_value()?),
            "as_string_to_argument" => Argument::Dict(m.next_value()?),
            _ => {
                let json: serde_json::Value = m.next_value()?;
                Argument::Unknown { kind, json: json.to_string() }
            }
        };
        match map.next_key::<String>()? {
            Some(k) => Err(A::Error::custom(format_args!("an argument of two kinds, the second `{k}`"))),
            None => Ok(arg),
        }
    }
}
