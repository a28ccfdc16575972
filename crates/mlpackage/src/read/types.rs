//! Types.

use coremill_mil::Type;
use coremill_tensor::{DType, Dim, Shape};

use super::{Read, Reader};
use crate::ErrorKind;
use crate::dtype::from_proto_code;
use crate::error::At;
use crate::proto::mil as proto;

impl Reader<'_> {
    pub(super) fn named_type(&self, p: &proto::NamedValueType, at: &At<'_>) -> Read<Type> {
        value_type(p.r#type.as_ref(), &at.field("type"))
    }
}

pub(super) fn value_type(p: Option<&proto::ValueType>, at: &At<'_>) -> Read<Type> {
    use proto::TypeKind as Kind;
    let Some(kind) = p.and_then(|p| p.r#type.as_ref()) else {
        return Err(at.malformed("there is no type"));
    };
    Ok(match kind {
        Kind::Tensor(t) => tensor_type(t, &at.field("tensorType"))?,
        Kind::List(l) => {
            let at = at.field("listType");
            let length = match l.length.as_ref().map(|d| dim(d, &at.field("length"))).transpose()? {
                Some(Dim::Known(n)) => Some(n),
                _ => None,
            };
            Type::List(Box::new(value_type(l.r#type.as_ref(), &at.field("type"))?), length)
        }
        Kind::Tuple(t) => {
            let at = at.field("tupleType");
            let types = t.types.iter().enumerate().map(|(i, t)| value_type(Some(t), &at.index("types", i)));
            Type::Tuple(types.collect::<Read<_>>()?)
        }
        Kind::Dictionary(d) => {
            let at = at.field("dictionaryType");
            let key = value_type(d.key_type.as_ref(), &at.field("keyType"))?;
            Type::Dict(Box::new((key, value_type(d.value_type.as_ref(), &at.field("valueType"))?)))
        }
        Kind::State(s) => {
            let at = at.field("stateType");
            Type::State(Box::new(value_type(s.wrapped_type.as_ref(), &at.field("wrappedType"))?))
        }
    })
}

fn tensor_type(t: &proto::TensorType, at: &At<'_>) -> Read<Type> {
    let dtype = dtype(t.data_type, at)?;
    let variadic = |d: &proto::Dimension| matches!(&d.dimension, Some(proto::Extent::Unknown(u)) if u.variadic);
    if t.rank < 0 || t.dimensions.iter().any(variadic) {
        return Ok(Type::Unranked(dtype));
    }
    let dims = t.dimensions.iter().enumerate().map(|(i, d)| dim(d, &at.index("dimensions", i)));
    Ok(Type::tensor(dtype, dims.collect::<Read<Shape>>()?))
}

pub(super) fn dtype(code: i32, at: &At<'_>) -> Read<DType> {
    from_proto_code(code).ok_or_else(|| at.field("dataType").err(ErrorKind::UnknownDType(code)))
}

fn dim(d: &proto::Dimension, at: &At<'_>) -> Read<Dim> {
    match &d.dimension {
        Some(proto::Extent::Constant(c)) => Ok(Dim::Known(c.size)),
        Some(proto::Extent::Unknown(_)) => Ok(Dim::Unknown),
        None => Err(at.malformed("a dimension is neither known nor unknown")),
    }
}
