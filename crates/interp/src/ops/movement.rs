//! Elements moved, not computed on: the same code for every dtype of a width.

use std::ops::Deref;

use coremill_tensor::{Bytes, DType, Data};
use ndarray::{ArrayViewD, Dimension, IxDyn};

use crate::EvalError;

/// The element widths that tensors of whole bytes come in.
pub(crate) trait Word: bytemuck::Pod + Send + Sync {}
impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}
impl Word for u64 {}

/// Runs `$body` with `$T` the word of the dtype's width.
macro_rules! by_width {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.bits() {
            8 => {
                type $T = u8;
                $body
            }
            16 => {
                type $T = u16;
                $body
            }
            32 => {
                type $T = u32;
                $body
            }
            64 => {
                type $T = u64;
                $body
            }
            _ => Err($crate::EvalError::Unsupported(format!("moving elements of {}", $dtype))),
        }
    };
}
pub(crate) use by_width;

/// The elements as words, whatever their meaning: shared, where they are aligned.
pub(crate) struct Words<T> {
    bytes: Bytes,
    copied: Option<Vec<T>>,
}

impl<T: Word> Deref for Words<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.copied {
            Some(words) => words,
            None => bytemuck::cast_slice(&self.bytes),
        }
    }
}

/// The elements as words.
pub(crate) fn words<T: Word>(d: &Data) -> Words<T> {
    let bytes = d.bytes();
    let copied = match bytemuck::try_cast_slice::<u8, T>(&bytes) {
        Ok(_) => None,
        Err(_) => Some(bytemuck::allocation::pod_collect_to_vec(&bytes)),
    };
    Words { bytes, copied }
}

/// A view of words under a shape.
pub(crate) fn view<'a, T: Word>(shape: &[usize], words: &'a [T]) -> Result<ArrayViewD<'a, T>, EvalError> {
    ArrayViewD::from_shape(IxDyn(shape), words).map_err(|e| EvalError::bad(e.to_string()))
}

/// The elements of a view in order, as data of `dtype`.
pub(crate) fn gather<T: Word>(dtype: DType, v: &ArrayViewD<'_, T>) -> Result<Data, EvalError> {
    let shape = v.shape().to_vec();
    let words: Vec<T> = v.iter().copied().collect();
    from_words(dtype, &shape, words)
}

/// Data of `dtype` from words of its width.
pub(crate) fn from_words<T: Word>(dtype: DType, shape: &[usize], words: Vec<T>) -> Result<Data, EvalError> {
    Data::from_words(dtype, shape, words).map_err(|e| EvalError::bad(e.to_string()))
}

/// The elements of `d` from `begin` on, in this shape; shared where they lie side by side.
pub(crate) fn part(d: &Data, begin: &[usize], shape: &[usize]) -> Result<Data, EvalError> {
    let outside = || EvalError::bad("a part is outside the tensor");
    let fits = |((b, n), extent): ((&usize, &usize), &usize)| b.checked_add(*n).is_some_and(|end| end <= *extent);
    if begin.len() != d.rank() || shape.len() != d.rank() || !begin.iter().zip(shape).zip(d.shape()).all(fits) {
        return Err(outside());
    }
    let strides = strides(d.shape());
    let base = flat(begin, &strides);
    // Behind the first axis of several elements, all must be taken.
    let inner = shape.iter().position(|&n| n != 1).map_or(shape.len(), |at| at + 1);
    if shape[inner..] == d.shape()[inner..]
        && let Some(slab) = d.slab(base, shape)
    {
        return Ok(slab);
    }
    pick(d, shape, |index| Some(base + flat(index, &strides)))
}

/// Data of `shape` whose element at each index is the element of `d` at the flat position that `from` gives.
/// `from` must stay below the number of elements of `d`; an index outside is an error.
pub(crate) fn pick(d: &Data, shape: &[usize], from: impl Fn(&[usize]) -> Option<usize>) -> Result<Data, EvalError> {
    by_width!(d.dtype(), T => {
        let words = words::<T>(d);
        let mut out = Vec::with_capacity(shape.iter().product());
        for index in ndarray::indices(IxDyn(shape)) {
            let at = from(index.as_array_view().as_slice().unwrap_or_default()).and_then(|at| words.get(at));
            out.push(*at.ok_or_else(|| EvalError::bad("an index is outside the tensor"))?);
        }
        from_words(d.dtype(), shape, out)
    })
}

/// Row-major strides of a shape, in elements.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// The flat position of an index.
pub(crate) fn flat(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(i, s)| i * s).sum()
}

/// An axis or a position counted from the front: `-n..n` to `0..n`.
pub(crate) fn from_front(i: i64, n: usize) -> Option<usize> {
    let at = if i < 0 { i.checked_add(i64::try_from(n).ok()?)? } else { i };
    usize::try_from(at).ok().filter(|&at| at < n)
}
