//! Compile-time values.
//!
//! A tensor goes to the weight file, when there is one, from ten elements up, if its type is `fp16`, `fp32`, `int8`,
//! `uint8` or a sub-byte one, and in ios18 also 16- and 32-bit integers; anything else stays inline. Core ML
//! expects `fp16`, 8-bit integers, `uint32` and sub-byte types inline as raw bytes.

use coremill_mil::{Const, Opset};
use coremill_tensor::{DType, Data};

use super::types::value_type;
use super::{Write, Writer};
use crate::ErrorKind;
use crate::error::At;
use crate::proto::mil as proto;

/// Tensors with fewer elements stay inline.
const MIN_FILE_ELEMENTS: usize = 10;
/// A protobuf message may hold no more.
const MAX_INLINE_BYTES: u64 = i32::MAX as u64;
/// What the folder of the model file is called in a reference to a weight file.
const WEIGHTS: &str = "@model_path/weights/weight.bin";

impl Writer {
    /// A value, in the weight file where it belongs there.
    pub(super) fn value(&mut self, c: &Const, at: &At<'_>) -> Write<proto::Value> {
        let (Const::Tensor(data), Some(weights)) = (c, self.weights.as_mut()) else {
            return self.inline(c, at);
        };
        if !belongs_in_file(data, self.opset) {
            return self.inline(c, at);
        }
        let offset = weights.add(data).map_err(|e| at.err(e))?;
        let blob = proto::BlobFileValue { file_name: WEIGHTS.to_owned(), offset };
        Ok(proto::Value {
            r#type: Some(value_type(&c.ty(), at)?),
            value: Some(proto::ValueKind::BlobFile(blob)),
            ..proto::Value::default()
        })
    }
}

fn belongs_in_file(data: &Data, opset: Opset) -> bool {
    data.len() >= MIN_FILE_ELEMENTS
        && match data.dtype() {
            DType::Fp16 | DType::Fp32 | DType::Int8 | DType::UInt8 => true,
            DType::Int16 | DType::UInt16 | DType::Int32 | DType::UInt32 => opset >= Opset::Ios18,
            DType::Bf16 | DType::Fp8E4M3 | DType::Fp8E5M2 => opset >= Opset::Ios18,
            other => other.is_sub_byte() && other.is_int(),
        }
}

impl Writer {
    /// A value, inline.
    pub(super) fn inline(&mut self, c: &Const, at: &At<'_>) -> Write<proto::Value> {
        use proto::Immediate as Imm;
        let kind = match c {
            Const::Tensor(d) => {
                self.count_inline(d.byte_len(), at)?;
                Imm::Tensor(proto::TensorValue { value: Some(elements(d, at)?) })
            }
            Const::Strings(_, v) => {
                let strings = proto::Elements::Strings(proto::Strings { values: v.to_vec() });
                Imm::Tensor(proto::TensorValue { value: Some(strings) })
            }
            Const::List(_, v) => Imm::List(self.values(v, at)?),
            Const::Tuple(v) => Imm::Tuple(self.values(v, at)?),
            Const::Dict(_, entries) => {
                let mut values = Vec::with_capacity(entries.len());
                for (k, v) in entries {
                    let (key, value) = (Some(self.inline(k, at)?), Some(self.inline(v, at)?));
                    values.push(proto::KeyValuePair { key, value });
                }
                Imm::Dictionary(proto::DictionaryValue { values })
            }
        };
        Ok(proto::Value {
            r#type: Some(value_type(&c.ty(), at)?),
            value: Some(proto::ValueKind::Immediate(proto::ImmediateValue { value: Some(kind) })),
            ..proto::Value::default()
        })
    }

    fn values(&mut self, v: &[Const], at: &At<'_>) -> Write<proto::Values> {
        Ok(proto::Values { values: v.iter().map(|c| self.inline(c, at)).collect::<Write<_>>()? })
    }

    fn count_inline(&mut self, bytes: usize, at: &At<'_>) -> Write<()> {
        self.inline_bytes = self.inline_bytes.saturating_add(bytes as u64);
        if self.inline_bytes <= MAX_INLINE_BYTES {
            return Ok(());
        }
        let what = "the constants before and at this place come to more than the 2 GB that a protobuf may hold; \
                    write an .mlpackage, which keeps them in a weight file";
        Err(at.err(ErrorKind::Unwritable(what.to_owned())))
    }
}

/// A scalar string.
pub(super) fn string(s: &str) -> proto::Value {
    let dtype = crate::dtype::proto_code(DType::String).unwrap_or_default();
    let ty = proto::TensorType { data_type: dtype, ..proto::TensorType::default() };
    let strings = proto::Elements::Strings(proto::Strings { values: vec![s.to_owned()] });
    let tensor = proto::Immediate::Tensor(proto::TensorValue { value: Some(strings) });
    proto::Value {
        r#type: Some(proto::ValueType { r#type: Some(proto::TypeKind::Tensor(ty)) }),
        value: Some(proto::ValueKind::Immediate(proto::ImmediateValue { value: Some(tensor) })),
        ..proto::Value::default()
    }
}

/// The elements in the field that Core ML reads for the type.
fn elements(d: &Data, at: &At<'_>) -> Write<proto::Elements> {
    use proto::Elements as E;
    let missing = || at.err(ErrorKind::Unwritable(format!("{} elements can't be written inline", d.dtype())));
    Ok(match d.dtype() {
        DType::Bool => E::Bools(proto::Bools { values: d.bytes().iter().map(|&b| b != 0).collect() }),
        DType::Fp32 => E::Floats(proto::Floats { values: d.as_slice::<f32>().ok_or_else(missing)?.into_owned() }),
        DType::Fp64 => E::Doubles(proto::Doubles { values: d.as_slice::<f64>().ok_or_else(missing)?.into_owned() }),
        DType::Int32 => E::Ints(proto::Ints { values: d.as_slice::<i32>().ok_or_else(missing)?.into_owned() }),
        DType::Int16 => {
            let v = d.as_slice::<i16>().ok_or_else(missing)?;
            E::Ints(proto::Ints { values: v.iter().map(|&n| i32::from(n)).collect() })
        }
        DType::UInt16 => {
            let v = d.as_slice::<u16>().ok_or_else(missing)?;
            E::Ints(proto::Ints { values: v.iter().map(|&n| i32::from(n)).collect() })
        }
        DType::Int64 => E::LongInts(proto::LongInts { values: d.as_slice::<i64>().ok_or_else(missing)?.into_owned() }),
        DType::UInt64 => {
            // The field is signed; the bits are the number's.
            let v = d.as_slice::<u64>().ok_or_else(missing)?;
            E::LongInts(proto::LongInts { values: v.iter().map(|&n| n as i64).collect() })
        }
        DType::String | DType::Complex64 => return Err(missing()),
        _ => E::Bytes(proto::RawBytes { values: d.bytes() }),
    })
}
