//! Elements moved, not computed on: the same code for every dtype of a width.

use coremill_tensor::{DType, Data};
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

/// The elements as words, whatever their meaning.
pub(crate) fn words<T: Word>(d: &Data) -> Vec<T> {
    bytemuck::allocation::pod_collect_to_vec(d.bytes())
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
    let bytes: Vec<u8> = bytemuck::allocation::pod_collect_to_vec(&words);
    Data::new(dtype, shape, bytes).map_err(|e| EvalError::bad(e.to_string()))
}

/// The elements under another order of axes.
pub(crate) fn transpose(d: &Data, perm: &[usize]) -> Result<Data, EvalError> {
    by_width!(d.dtype(), T => {
        let words = words::<T>(d);
        gather(d.dtype(), &view(d.shape(), &words)?.permuted_axes(IxDyn(perm)))
    })
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
