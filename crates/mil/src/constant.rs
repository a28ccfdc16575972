//! Compile-time values.

use std::sync::Arc;

use coremill_tensor::{DType, Data};

use crate::Type;

/// A compile-time value. Cheap to clone: tensors and strings are shared.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// A tensor of numbers or booleans.
    Tensor(Data),
    /// A tensor of strings: shape, elements in row-major order.
    Strings(Vec<usize>, Arc<[String]>),
    /// A list: element type, elements.
    List(Type, Vec<Const>),
    /// A tuple.
    Tuple(Vec<Const>),
    /// A dictionary in file order: type (a [`Type::Dict`]), entries.
    Dict(Type, Vec<(Const, Const)>),
}

impl Const {
    /// A scalar string.
    pub fn string(s: impl Into<String>) -> Const {
        Const::Strings(Vec::new(), Arc::from([s.into()]))
    }

    /// A scalar boolean.
    pub fn bool(b: bool) -> Const {
        Const::Tensor(Data::from_bools(&[], &[b]))
    }

    /// Booleans, rank 1.
    pub fn bools(v: &[bool]) -> Const {
        Const::Tensor(Data::from_bools(&[v.len()], v))
    }

    /// A scalar `int32`.
    pub fn int32(v: i32) -> Const {
        Const::Tensor(Data::scalar(v))
    }

    /// `int32`, rank 1.
    pub fn int32s(v: &[i32]) -> Const {
        Const::Tensor(Data::from_elements(&[v.len()], v))
    }

    /// A scalar `fp32`.
    pub fn fp32(v: f32) -> Const {
        Const::Tensor(Data::scalar(v))
    }

    /// The type.
    pub fn ty(&self) -> Type {
        match self {
            Const::Tensor(d) => Type::known(d.dtype(), d.shape()),
            Const::Strings(shape, _) => Type::known(DType::String, shape),
            Const::List(t, v) => Type::List(Box::new(t.clone()), Some(v.len() as u64)),
            Const::Tuple(v) => Type::Tuple(v.iter().map(Const::ty).collect()),
            Const::Dict(t, _) => t.clone(),
        }
    }

    /// The numeric tensor.
    pub fn as_data(&self) -> Option<&Data> {
        match self {
            Const::Tensor(d) => Some(d),
            _ => None,
        }
    }

    /// The string of a scalar string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Const::Strings(_, v) if v.len() == 1 => v.first().map(String::as_str),
            _ => None,
        }
    }

    /// The single element of an integer (or bool) tensor of any rank.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_data()?.scalar_i64()
    }

    /// The elements of an integer (or bool) tensor.
    pub fn as_i64s(&self) -> Option<Vec<i64>> {
        self.as_data()?.to_i64s()
    }

    /// The single element of a numeric tensor of any rank.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_data()?.scalar_f64()
    }

    /// The single element of a bool tensor.
    pub fn as_bool(&self) -> Option<bool> {
        let d = self.as_data()?;
        if d.dtype() == DType::Bool { d.scalar_i64().map(|v| v != 0) } else { None }
    }
}

impl From<Data> for Const {
    fn from(d: Data) -> Const {
        Const::Tensor(d)
    }
}
