//! Types. A symbol is written as an unknown extent: the format has no symbols.

use coremill_mil::{TensorType, Type};
use coremill_tensor::{DType, Dim};

use super::Write;
use crate::ErrorKind;
use crate::dtype::proto_code;
use crate::error::At;
use crate::proto::mil as proto;

pub(super) fn named(name: &str, ty: &Type, at: &At<'_>) -> Write<proto::NamedValueType> {
    Ok(proto::NamedValueType { name: name.to_owned(), r#type: Some(value_type(ty, at)?) })
}

pub(super) fn value_type(ty: &Type, at: &At<'_>) -> Write<proto::ValueType> {
    use proto::TypeKind as Kind;
    let kind = match ty {
        Type::Tensor(t) => Kind::Tensor(tensor_type(t, at)?),
        Type::Unranked(dtype) => Kind::Tensor(proto::TensorType {
            data_type: code(*dtype, at)?,
            rank: -1,
            dimensions: vec![unknown(true)],
            ..proto::TensorType::default()
        }),
        Type::List(element, n) => Kind::List(Box::new(proto::ListType {
            r#type: Some(value_type(element, at)?),
            length: Some(n.map_or_else(|| unknown(false), constant)),
        })),
        Type::Tuple(types) => {
            Kind::Tuple(proto::TupleType { types: types.iter().map(|t| value_type(t, at)).collect::<Write<_>>()? })
        }
        Type::Dict(kv) => Kind::Dictionary(Box::new(proto::DictionaryType {
            key_type: Some(value_type(&kv.0, at)?),
            value_type: Some(value_type(&kv.1, at)?),
        })),
        Type::State(t) => Kind::State(Box::new(proto::StateType { wrapped_type: Some(value_type(t, at)?) })),
    };
    Ok(proto::ValueType { r#type: Some(kind) })
}

fn tensor_type(t: &TensorType, at: &At<'_>) -> Write<proto::TensorType> {
    let dimensions = t.shape.iter().map(|d| match d {
        Dim::Known(n) => constant(*n),
        Dim::Sym(_) | Dim::Unknown => unknown(false),
    });
    Ok(proto::TensorType {
        data_type: code(t.dtype, at)?,
        rank: i64::try_from(t.rank()).unwrap_or(i64::MAX),
        dimensions: dimensions.collect(),
        ..proto::TensorType::default()
    })
}

fn code(dtype: DType, at: &At<'_>) -> Write<i32> {
    proto_code(dtype).ok_or_else(|| {
        let what = format!("{dtype} has no place in an ML Program; lower the ops that make it first");
        at.err(ErrorKind::Unwritable(what))
    })
}

fn constant(size: u64) -> proto::Dimension {
    proto::Dimension { dimension: Some(proto::Extent::Constant(proto::ConstantDimension { size })) }
}

fn unknown(variadic: bool) -> proto::Dimension {
    proto::Dimension { dimension: Some(proto::Extent::Unknown(proto::UnknownDimension { variadic })) }
}
