//! Dense tensors over shared bytes, or over elements that are computed when they are read.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;

use bytemuck::Pod;
use bytes::Bytes;
use half::{bf16, f16};

use crate::DType;
use crate::lazy::Lazy;

/// A dense, row-major tensor. Its bytes are shared, little-endian and often a slice of a mapped file, so
/// they may be unaligned: [`Data::as_slice`] copies only then.
///
/// Sub-byte elements are packed from the low bit up, without gaps, as weight files store them.
#[derive(Clone)]
pub struct Data {
    dtype: DType,
    shape: Vec<usize>,
    storage: Storage,
}

/// Where the elements are.
#[derive(Clone)]
enum Storage {
    /// In memory, or in a mapped file.
    Made(Bytes),
    /// Nowhere yet: computed when they are read.
    Lazy(Arc<Lazy>),
}

/// A vector whose bytes are shared.
struct Owner<T>(Vec<T>);

impl<T: Pod> AsRef<[u8]> for Owner<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// Bytes of one piece, where elements are computed piece by piece.
const PIECE: usize = 1 << 22;

/// Bytes that do not make the tensor they are said to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// The byte count is not the shape's.
    #[error("{dtype} of shape {shape:?} needs {want} bytes, and there are {got}")]
    Length {
        /// Element type.
        dtype: DType,
        /// Shape.
        shape: Vec<usize>,
        /// Bytes the shape needs.
        want: usize,
        /// Bytes given.
        got: usize,
    },
    /// The element count overflows, or the type has no fixed width.
    #[error("{dtype} of shape {shape:?} is too large, or no dense data")]
    TooLarge {
        /// Element type.
        dtype: DType,
        /// Shape.
        shape: Vec<usize>,
    },
}

/// A Rust type that is the in-memory form of one [`DType`].
pub trait Element: Pod {
    /// The element type it stands for.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),* $(,)?) => { $(impl Element for $rust { const DTYPE: DType = DType::$dtype; })* };
}

elements! {
    f16 => Fp16, f32 => Fp32, f64 => Fp64, bf16 => Bf16,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64,
}

impl Data {
    /// Data of this type and shape over `bytes`.
    ///
    /// # Errors
    /// When the number of bytes is not what the shape needs, or that number overflows.
    pub fn new(dtype: DType, shape: &[usize], bytes: impl Into<Bytes>) -> Result<Data, DataError> {
        let bytes = bytes.into();
        let want = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).and_then(|n| dtype.byte_len(n));
        match want {
            Some(want) if want == bytes.len() => Ok(Data::made_of(dtype, shape, bytes)),
            Some(want) => Err(DataError::Length { dtype, shape: shape.to_vec(), want, got: bytes.len() }),
            None => Err(DataError::TooLarge { dtype, shape: shape.to_vec() }),
        }
    }

    /// Data from elements.
    ///
    /// # Panics
    /// When their number is not the shape's; for sizes from a file use [`Data::new`].
    pub fn from_elements<T: Element>(shape: &[usize], elements: &[T]) -> Data {
        assert_eq!(shape.iter().product::<usize>(), elements.len(), "element count of shape {shape:?}");
        Data::made_of(T::DTYPE, shape, Bytes::copy_from_slice(bytemuck::cast_slice(elements)))
    }

    /// Data that takes a vector of elements over without copying it.
    ///
    /// # Panics
    /// When their number is not the shape's.
    pub fn from_vec<T: Element + Send + Sync>(shape: &[usize], elements: Vec<T>) -> Data {
        assert_eq!(shape.iter().product::<usize>(), elements.len(), "element count of shape {shape:?}");
        Data::made_of(T::DTYPE, shape, Bytes::from_owner(Owner(elements)))
    }

    /// Data of `dtype` that takes over a vector of words without copying it, whatever the words stand for.
    ///
    /// # Errors
    /// As [`Data::new`].
    pub fn from_words<T: Pod + Send + Sync>(dtype: DType, shape: &[usize], words: Vec<T>) -> Result<Data, DataError> {
        Data::new(dtype, shape, Bytes::from_owner(Owner(words)))
    }

    /// Booleans.
    ///
    /// # Panics
    /// When their number is not the shape's.
    pub fn from_bools(shape: &[usize], elements: &[bool]) -> Data {
        assert_eq!(shape.iter().product::<usize>(), elements.len(), "element count of shape {shape:?}");
        let bytes: Vec<u8> = elements.iter().map(|&b| u8::from(b)).collect();
        Data::made_of(DType::Bool, shape, bytes.into())
    }

    /// A scalar.
    pub fn scalar<T: Element>(v: T) -> Data {
        Data::from_elements(&[], &[v])
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Has it no elements?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of bytes.
    pub fn byte_len(&self) -> usize {
        match &self.storage {
            Storage::Made(bytes) => bytes.len(),
            Storage::Lazy(_) => self.len() * (self.dtype.bits() / 8),
        }
    }

    /// All bytes: shared, where they are made; otherwise computed, for as long as the caller keeps them.
    pub fn bytes(&self) -> Bytes {
        match &self.storage {
            Storage::Made(bytes) => bytes.clone(),
            Storage::Lazy(lazy) => {
                let mut all = vec![0; self.byte_len()];
                lazy.fill(0, &mut all);
                all.into()
            }
        }
    }

    /// The first bytes, at most `n`, without computing more.
    pub fn head(&self, n: usize) -> Bytes {
        let n = n.min(self.byte_len());
        match &self.storage {
            Storage::Made(bytes) => bytes.slice(..n),
            Storage::Lazy(lazy) => {
                let mut head = vec![0; n];
                lazy.fill(0, &mut head);
                head.into()
            }
        }
    }

    /// Hands all bytes to `f` in order: at once where they are made, otherwise piece by piece, each computed on all cores.
    ///
    /// # Errors
    /// What `f` reports.
    pub fn for_each_piece(&self, f: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let lazy = match &self.storage {
            Storage::Made(bytes) => return f(bytes),
            Storage::Lazy(lazy) => lazy,
        };
        let width = self.dtype.bits() / 8;
        let mut piece = vec![0; PIECE.min(self.byte_len())];
        for start in (0..self.byte_len()).step_by(PIECE) {
            let part = &mut piece[..PIECE.min(self.byte_len() - start)];
            lazy.fill(start / width, part);
            f(part)?;
        }
        Ok(())
    }

    /// Where the elements are: equal for tensors that share them.
    pub fn address(&self) -> usize {
        match &self.storage {
            Storage::Made(bytes) => bytes.as_ptr() as usize,
            Storage::Lazy(lazy) => Arc::as_ptr(lazy) as usize,
        }
    }

    pub(crate) fn of_lazy(dtype: DType, shape: &[usize], lazy: Lazy) -> Data {
        Data { dtype, shape: shape.to_vec(), storage: Storage::Lazy(Arc::new(lazy)) }
    }

    fn made_of(dtype: DType, shape: &[usize], bytes: Bytes) -> Data {
        Data { dtype, shape: shape.to_vec(), storage: Storage::Made(bytes) }
    }

    /// The same with its elements in memory.
    pub(crate) fn made(&self) -> Data {
        Data::made_of(self.dtype, &self.shape, self.bytes())
    }

    /// The bytes of the elements from number `start` on, as many as `out` takes. For elements of whole bytes.
    pub(crate) fn read_at(&self, start: usize, out: &mut [u8]) {
        match &self.storage {
            Storage::Made(bytes) => {
                let from = start * (self.dtype.bits() / 8);
                out.copy_from_slice(&bytes[from..from + out.len()]);
            }
            Storage::Lazy(lazy) => lazy.fill(start, out),
        }
    }

    /// The same elements under another shape of as many elements; shares the bytes. `None` when the count differs.
    pub fn reshaped(&self, shape: &[usize]) -> Option<Data> {
        let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        (n == self.len()).then(|| Data { dtype: self.dtype, shape: shape.to_vec(), storage: self.storage.clone() })
    }

    /// The elements from number `start` on, as many as the shape needs; shares the bytes of what is made. `None` outside, and
    /// for sub-byte types.
    pub fn slab(&self, start: usize, shape: &[usize]) -> Option<Data> {
        let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        start.checked_add(n).filter(|&end| end <= self.len() && self.dtype.bits().is_multiple_of(8))?;
        let width = self.dtype.bits() / 8;
        let bytes = match &self.storage {
            Storage::Made(bytes) => bytes.slice(start * width..(start + n) * width),
            Storage::Lazy(lazy) => {
                let mut part = vec![0; n * width];
                lazy.fill(start, &mut part);
                part.into()
            }
        };
        Some(Data::made_of(self.dtype, shape, bytes))
    }

    /// The elements, when `T` is this data's type. Borrows where the bytes are aligned.
    pub fn as_slice<T: Element>(&self) -> Option<Cow<'_, [T]>> {
        if T::DTYPE != self.dtype {
            return None;
        }
        Some(match &self.storage {
            Storage::Made(bytes) => match bytemuck::try_cast_slice(bytes) {
                Ok(s) => Cow::Borrowed(s),
                Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
            },
            Storage::Lazy(lazy) => {
                let mut all = vec![T::zeroed(); self.len()];
                lazy.fill(0, bytemuck::cast_slice_mut(&mut all));
                Cow::Owned(all)
            }
        })
    }

    /// All elements of an integer or bool type as `i64` (uint64 above `i64::MAX` has none). `None` for other types.
    pub fn to_i64s(&self) -> Option<Vec<i64>> {
        macro_rules! wide {
            ($($t:ty),*) => { match self.dtype {
                DType::Bool => Some(self.bytes().iter().map(|&b| i64::from(b != 0)).collect()),
                DType::UInt64 => self.as_slice::<u64>()?.iter().map(|&v| i64::try_from(v).ok()).collect(),
                $(<$t as Element>::DTYPE => Some(self.as_slice::<$t>()?.iter().map(|&v| i64::from(v)).collect()),)*
                t if t.is_sub_byte() => Some(self.unpack()),
                _ => None,
            } };
        }
        wide!(i8, i16, i32, i64, u8, u16, u32)
    }

    /// All elements of a float, integer or bool type as `f64`. `None` for other types.
    pub fn to_f64s(&self) -> Option<Vec<f64>> {
        match self.dtype {
            DType::Fp16 => Some(self.as_slice::<f16>()?.iter().map(|v| v.to_f64()).collect()),
            DType::Bf16 => Some(self.as_slice::<bf16>()?.iter().map(|v| v.to_f64()).collect()),
            DType::Fp32 => Some(self.as_slice::<f32>()?.iter().map(|&v| f64::from(v)).collect()),
            DType::Fp64 => Some(self.as_slice::<f64>()?.into_owned()),
            DType::UInt64 => Some(self.as_slice::<u64>()?.iter().map(|&v| v as f64).collect()),
            _ => Some(self.to_i64s()?.into_iter().map(|v| v as f64).collect()),
        }
    }

    /// Is every element equal to `n`? Zeros of both signs are zero. False for types that are no numbers.
    pub fn is_filled_with(&self, n: f64) -> bool {
        fn all<T: Element>(d: &Data, is: impl Fn(T) -> bool) -> bool {
            // Most tensors that are not filled differ in the first element already, before any copy.
            let first = d.head(size_of::<T>()).get(..size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>);
            first.is_none_or(&is) && d.as_slice::<T>().is_some_and(|v| v.iter().all(|&v| is(v)))
        }
        match self.dtype {
            DType::Fp16 => all::<f16>(self, |v| v.to_f64() == n),
            DType::Fp32 => all::<f32>(self, |v| f64::from(v) == n),
            DType::Int32 => all::<i32>(self, |v| f64::from(v) == n),
            _ => self.to_f64s().is_some_and(|v| v.iter().all(|&v| v == n)),
        }
    }

    /// The single element of an integer or bool tensor.
    pub fn scalar_i64(&self) -> Option<i64> {
        if self.len() == 1 { self.to_i64s()?.first().copied() } else { None }
    }

    /// The single element of a numeric tensor.
    pub fn scalar_f64(&self) -> Option<f64> {
        if self.len() == 1 { self.to_f64s()?.first().copied() } else { None }
    }

    /// Packs integers into a sub-byte type, low bits first. `None` where one is out of range, the type is
    /// not sub-byte, or the count is not the shape's.
    pub fn pack(dtype: DType, shape: &[usize], values: &[i64]) -> Option<Data> {
        let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let (low, high) = dtype.int_range().filter(|_| dtype.is_sub_byte())?;
        if n != values.len() || values.iter().any(|&v| !(low..=high).contains(&i128::from(v))) {
            return None;
        }
        let bits = dtype.bits();
        let mut bytes = vec![0u8; dtype.byte_len(n)?];
        for (i, &v) in values.iter().enumerate() {
            for b in 0..bits {
                let at = i * bits + b;
                bytes[at / 8] |= (((v >> b) & 1) as u8) << (at % 8);
            }
        }
        Some(Data::made_of(dtype, shape, bytes.into()))
    }

    fn unpack(&self) -> Vec<i64> {
        let bits = self.dtype.bits();
        let signed = self.dtype.is_signed_int();
        let bytes = self.bytes();
        let bit = |at: usize| i64::from((bytes[at / 8] >> (at % 8)) & 1);
        (0..self.len())
            .map(|i| {
                let v = (0..bits).fold(0i64, |v, b| v | (bit(i * bits + b) << b));
                if signed && v >> (bits - 1) != 0 { v - (1 << bits) } else { v }
            })
            .collect()
    }
}

impl PartialEq for Data {
    /// The same type, shape and bytes, made or not.
    fn eq(&self, other: &Data) -> bool {
        if self.dtype != other.dtype || self.shape != other.shape {
            return false;
        }
        match (&self.storage, &other.storage) {
            (Storage::Made(a), Storage::Made(b)) => a == b,
            _ if self.address() == other.address() => true,
            _ => {
                let mut at = 0;
                let width = self.dtype.bits() / 8;
                let mut piece = Vec::new();
                // An error says that a piece differs, and ends the comparison.
                let same = self.for_each_piece(&mut |a| {
                    for a in a.chunks(PIECE) {
                        piece.resize(a.len(), 0);
                        other.read_at(at / width, &mut piece);
                        at += a.len();
                        if a != piece {
                            return Err(io::ErrorKind::InvalidData.into());
                        }
                    }
                    Ok(())
                });
                same.is_ok()
            }
        }
    }
}

impl Eq for Data {}

impl fmt::Debug for Data {
    /// Type, shape and at most eight elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape)?;
        if self.len() <= 8 {
            match (self.to_i64s(), self.to_f64s()) {
                (Some(v), _) => write!(f, "{v:?}"),
                (None, Some(v)) => write!(f, "{v:?}"),
                (None, None) => Ok(()),
            }
        } else {
            f.write_str("[...]")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_low_bits_first() {
        // 1, 2, 3 in four bits: 0x21, 0x03.
        let d = Data::pack(DType::UInt4, &[3], &[1, 2, 3]).unwrap();
        assert_eq!(&d.bytes()[..], &[0x21, 0x03]);
        for (t, v) in [(DType::Int4, vec![-8, 7, -1]), (DType::UInt3, vec![7, 0, 5, 2]), (DType::UInt6, vec![63, 1])] {
            assert_eq!(Data::pack(t, &[v.len()], &v).unwrap().to_i64s().unwrap(), v);
        }
        assert_eq!(Data::pack(DType::UInt2, &[1], &[4]), None);
    }

    #[test]
    fn refuses_a_wrong_length_and_overflow() {
        assert!(matches!(Data::new(DType::Fp32, &[2], vec![0u8; 7]), Err(DataError::Length { want: 8, got: 7, .. })));
        assert!(matches!(Data::new(DType::Fp32, &[usize::MAX, 2], vec![]), Err(DataError::TooLarge { .. })));
        assert!(Data::new(DType::Fp32, &[0, 3], vec![]).unwrap().is_empty());
    }

    #[test]
    fn reads_unaligned_bytes() {
        let all = Bytes::from(vec![9u8, 0, 0, 128, 63, 0, 0, 0, 64]);
        let d = Data::new(DType::Fp32, &[2], all.slice(1..)).unwrap();
        assert_eq!(d.as_slice::<f32>().unwrap().as_ref(), &[1.0, 2.0]);
        assert_eq!(d.as_slice::<i32>(), None);
        assert_eq!(d.to_f64s().unwrap(), [1.0, 2.0]);
    }
}
