//! Compile-time values, inline and from weight files.
//!
//! Which field of the protobuf holds a tensor's elements follows from its element type; other fields are taken
//! too where each element fits the type. Bytes and weights are shared with the file, not copied.

use std::sync::Arc;

use coremill_mil::{Const, Type};
use coremill_tensor::{DType, Data, Element, bf16, f16};

use super::types::value_type;
use super::{Read, Reader};
use crate::blob::BlobFile;
use crate::error::{At, Located};
use crate::proto::mil as proto;
use crate::{ErrorKind, check_relative};

impl Reader<'_> {
    pub(super) fn value(&mut self, p: proto::Value, at: &At<'_>) -> Read<Const> {
        let ty = value_type(p.r#type.as_ref(), &at.field("type"))?;
        match p.value {
            Some(proto::ValueKind::BlobFile(b)) => {
                let at = at.field("blobFileValue");
                let (dtype, shape) = dense(&ty, &at)?;
                self.blob(&b, dtype, &shape, &at).map(Const::Tensor)
            }
            Some(proto::ValueKind::Immediate(i)) => self.immediate(ty, i.value, &at.field("immediateValue")),
            None => Err(at.malformed("there is no value")),
        }
    }

    fn blob(&mut self, b: &proto::BlobFileValue, dtype: DType, shape: &[usize], at: &At<'_>) -> Read<Data> {
        let path = b.file_name.strip_prefix("@model_path/").unwrap_or(&b.file_name);
        if !self.blobs.contains_key(path) {
            let at = at.field("fileName");
            let unsafe_path = |why| ErrorKind::UnsafePath { path: b.file_name.clone(), why };
            check_relative(path).map_err(|why| at.err(unsafe_path(why)))?;
            let bytes = (self.weights)(path).map_err(|e| at.malformed(e.to_string()))?;
            let file = BlobFile::new(bytes).map_err(|e| at.malformed(format!("{path}: {e}")))?;
            self.blobs.insert(path.to_owned(), file);
        }
        match self.blobs.get(path) {
            Some(file) => file.tensor(b.offset, dtype, shape).map_err(|e| at.field("offset").err(e)),
            None => Err(at.err(ErrorKind::MissingFile(path.to_owned()))),
        }
    }

    fn immediate(&mut self, ty: Type, p: Option<proto::Immediate>, at: &At<'_>) -> Read<Const> {
        use proto::Immediate as Imm;
        match (ty, p) {
            (ty @ Type::Tensor(_), Some(Imm::Tensor(t))) => tensor(&ty, t.value, &at.field("tensor")),
            (Type::List(element, _), Some(Imm::List(l))) => {
                Ok(Const::List(*element, self.values(l.values, &at.field("list"))?))
            }
            (Type::Tuple(_), Some(Imm::Tuple(t))) => Ok(Const::Tuple(self.values(t.values, &at.field("tuple"))?)),
            (ty @ Type::Dict(_), Some(Imm::Dictionary(d))) => {
                let mut entries = Vec::new();
                for (i, kv) in d.values.into_iter().enumerate() {
                    let at = at.index("dictionary.values", i);
                    let (Some(key), Some(value)) = (kv.key, kv.value) else {
                        return Err(at.malformed("an entry lacks its key or its value"));
                    };
                    entries.push((self.value(key, &at.field("key"))?, self.value(value, &at.field("value"))?));
                }
                Ok(Const::Dict(ty, entries))
            }
            (ty, _) => Err(at.malformed(format!("the value is of another kind than its type {ty}"))),
        }
    }

    fn values(&mut self, values: Vec<proto::Value>, at: &At<'_>) -> Read<Vec<Const>> {
        values.into_iter().enumerate().map(|(i, v)| self.value(v, &at.index("values", i))).collect()
    }
}

/// Element type and extents of a tensor whose extents are all known.
fn dense(ty: &Type, at: &At<'_>) -> Read<(DType, Vec<usize>)> {
    let known = ty.as_tensor().and_then(|t| Some((t.dtype, t.shape.to_known()?)));
    known.ok_or_else(|| at.malformed(format!("a constant can't be of type {ty}")))
}

fn tensor(ty: &Type, elements: Option<proto::Elements>, at: &At<'_>) -> Read<Const> {
    use proto::Elements as E;
    let (dtype, shape) = dense(ty, at)?;
    let Some(want) = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)) else {
        return Err(at.malformed(format!("a constant of type {ty} has too many elements")));
    };
    let wrong = |what: &str| at.malformed(format!("{dtype} elements can't be kept as {what}"));
    let fit = |values: Option<Data>| {
        values.ok_or_else(|| at.malformed(format!("an element does not fit {dtype}, or is missing")))
    };
    let count = |n: usize| match n == want {
        true => Ok(()),
        false => Err(at.malformed(format!("{ty} needs {want} elements, and there are {n}"))),
    };
    let data = match (dtype, elements) {
        (DType::String, Some(E::Strings(v))) => {
            count(v.values.len())?;
            return Ok(Const::Strings(shape, Arc::from(v.values)));
        }
        (DType::String, None) if want == 0 => return Ok(Const::Strings(shape, Arc::from([]))),
        (_, None) if want == 0 => Data::new(dtype, &shape, Vec::new()).map_err(|e| mismatch(&e, at))?,
        (_, None) => return Err(at.malformed("there are no elements")),
        (_, Some(E::Bytes(b))) => Data::new(dtype, &shape, b.values).map_err(|e| mismatch(&e, at))?,
        (_, Some(E::Floats(v))) => {
            count(v.values.len())?;
            floats(dtype, &shape, v.values).ok_or_else(|| wrong("32-bit floats"))?
        }
        (DType::Fp64, Some(E::Doubles(v))) => {
            count(v.values.len())?;
            Data::from_vec(&shape, v.values)
        }
        (DType::Bool, Some(E::Bools(v))) => {
            count(v.values.len())?;
            Data::from_bools(&shape, &v.values)
        }
        (DType::Int32, Some(E::Ints(v))) => {
            count(v.values.len())?;
            Data::from_vec(&shape, v.values)
        }
        (_, Some(E::Ints(v))) if dtype.is_int() => {
            count(v.values.len())?;
            fit(narrow(dtype, &shape, v.values.into_iter().map(i64::from)))?
        }
        (DType::Int64, Some(E::LongInts(v))) => {
            count(v.values.len())?;
            Data::from_vec(&shape, v.values)
        }
        (DType::UInt64, Some(E::LongInts(v))) => {
            count(v.values.len())?;
            // The field is signed; the bits are the number's.
            Data::from_vec(&shape, v.values.into_iter().map(|n| n as u64).collect())
        }
        (_, Some(E::LongInts(v))) if dtype.is_int() => {
            count(v.values.len())?;
            fit(narrow(dtype, &shape, v.values.into_iter()))?
        }
        (_, Some(E::Doubles(_))) => return Err(wrong("doubles")),
        (_, Some(E::Bools(_))) => return Err(wrong("booleans")),
        (_, Some(E::Strings(_))) => return Err(wrong("strings")),
        (_, Some(E::Ints(_) | E::LongInts(_))) => return Err(wrong("integers")),
    };
    Ok(Const::Tensor(data))
}

fn mismatch(e: &coremill_tensor::DataError, at: &At<'_>) -> Located {
    at.malformed(e.to_string())
}

/// Elements kept as 32-bit floats; their number is the shape's.
fn floats(dtype: DType, shape: &[usize], v: Vec<f32>) -> Option<Data> {
    Some(match dtype {
        DType::Fp32 => Data::from_vec(shape, v),
        DType::Fp16 => Data::from_vec(shape, v.into_iter().map(f16::from_f32).collect()),
        DType::Bf16 => Data::from_vec(shape, v.into_iter().map(bf16::from_f32).collect()),
        _ => return None,
    })
}

/// Integers as a narrower type; their number is the shape's. `None` where one does not fit.
fn narrow(dtype: DType, shape: &[usize], v: impl Iterator<Item = i64>) -> Option<Data> {
    fn to<T: Element + TryFrom<i64> + Send + Sync>(shape: &[usize], v: impl Iterator<Item = i64>) -> Option<Data> {
        Some(Data::from_vec(shape, v.map(|n| T::try_from(n).ok()).collect::<Option<Vec<T>>>()?))
    }
    match dtype {
        DType::Int8 => to::<i8>(shape, v),
        DType::Int16 => to::<i16>(shape, v),
        DType::Int32 => to::<i32>(shape, v),
        DType::Int64 => to::<i64>(shape, v),
        DType::UInt8 => to::<u8>(shape, v),
        DType::UInt16 => to::<u16>(shape, v),
        DType::UInt32 => to::<u32>(shape, v),
        DType::UInt64 => to::<u64>(shape, v),
        _ => Data::pack(dtype, shape, &v.collect::<Vec<_>>()),
    }
}
