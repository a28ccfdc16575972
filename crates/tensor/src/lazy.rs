//! Elements that are computed when they are read.
//!
//! A pass that casts or scales every weight of a model would hold a second copy of all of them until the file is written. Such
//! elements are not made but described: where they come from, and what is done to each. Whoever writes them asks for
//! one piece after the other; whoever needs them all gets a copy that lives as long as it is used.
//!
//! Each element is a function of one element of the source and of its place, so that any part can be computed alone, on
//! all cores.

use half::f16;
use rayon::prelude::*;

use crate::{DType, Data};

/// Elements that come from those of another tensor.
#[derive(Debug)]
pub(crate) struct Lazy {
    source: Data,
    change: Change,
}

/// What is done to each element.
#[derive(Debug)]
enum Change {
    /// Rounded from float32 to float16, to nearest even.
    ToFp16,
    /// Each run of elements is multiplied by its factor in double precision and rounded once.
    Scale { run: usize, factors: Vec<f64> },
    /// Taken from another place: the extents of the result, and how far apart in the source its neighbours along each axis
    /// are, in elements. The source is made.
    Permute { shape: Vec<usize>, strides: Vec<usize> },
}

/// Bytes that one core computes at a time.
const GRAIN: usize = 1 << 16;

/// Tensors of fewer bytes are made at once: describing them would save nothing.
const SMALL: usize = 1 << 16;

impl Data {
    /// Float32 elements rounded to float16, to nearest even. A large tensor is rounded when it is read. `None` for other
    /// element types.
    pub fn rounded_to_fp16(&self) -> Option<Data> {
        (self.dtype() == DType::Fp32).then(|| self.changed(DType::Fp16, Change::ToFp16))
    }

    /// Each run of `run` elements multiplied by its factor in double precision, and rounded once to the element type, which
    /// is float16 or float32. A large tensor is multiplied when it is read. `None` for other element types, or when
    /// there is not one factor for each run.
    pub fn scaled(&self, run: usize, factors: Vec<f64>) -> Option<Data> {
        let fits = run > 0 && factors.len().checked_mul(run) == Some(self.len());
        let is_float = matches!(self.dtype(), DType::Fp16 | DType::Fp32);
        (fits && is_float).then(|| self.changed(self.dtype(), Change::Scale { run, factors }))
    }

    /// The same elements with the axes in another order: axis `i` of the result is axis `perm[i]` of this. A large tensor is
    /// turned when it is read. `None` when `perm` is no permutation of the axes, and for sub-byte types.
    pub fn permuted(&self, perm: &[usize]) -> Option<Data> {
        let mut seen = vec![false; self.rank()];
        let is_permutation = perm.len() == self.rank()
            && perm.iter().all(|&a| seen.get_mut(a).is_some_and(|seen| !std::mem::replace(seen, true)));
        if !is_permutation || !self.dtype().bits().is_multiple_of(8) {
            return None;
        }
        let mut strides = vec![1; self.rank()];
        for axis in (1..self.rank()).rev() {
            strides[axis - 1] = strides[axis] * self.shape()[axis];
        }
        let shape: Vec<usize> = perm.iter().map(|&a| self.shape()[a]).collect();
        let strides = perm.iter().map(|&a| strides[a]).collect();
        let lazy = Lazy { source: self.made(), change: Change::Permute { shape: shape.clone(), strides } };
        let turned = Data::of_lazy(self.dtype(), &shape, lazy);
        Some(if turned.byte_len() < SMALL { turned.made() } else { turned })
    }

    fn changed(&self, dtype: DType, change: Change) -> Data {
        let lazy = Data::of_lazy(dtype, self.shape(), Lazy { source: self.clone(), change });
        if lazy.byte_len() < SMALL { lazy.made() } else { lazy }
    }
}

impl Lazy {
    /// Computes the elements from number `start` on into `out`, which is as long as they are in bytes; on all cores where
    /// they are many.
    pub(crate) fn fill(&self, start: usize, out: &mut [u8]) {
        let width = match self.change {
            Change::ToFp16 => 2,
            Change::Scale { .. } | Change::Permute { .. } => self.source.dtype().bits() / 8,
        };
        if out.len() <= GRAIN {
            return self.fill_part(start, out);
        }
        let parts = out.par_chunks_mut(GRAIN).enumerate();
        parts.for_each(|(i, part)| self.fill_part(start + i * (GRAIN / width), part));
    }

    fn fill_part(&self, start: usize, out: &mut [u8]) {
        match &self.change {
            Change::ToFp16 => {
                let mut wide = vec![0; out.len() * 2];
                self.source.read_at(start, &mut wide);
                for (to, from) in out.chunks_exact_mut(2).zip(wide.chunks_exact(4)) {
                    let v = f32::from_le_bytes([from[0], from[1], from[2], from[3]]);
                    to.copy_from_slice(&f16::from_f32(v).to_le_bytes());
                }
            }
            Change::Permute { shape, strides } => self.turn(start, out, shape, strides),
            Change::Scale { run, factors } => {
                self.source.read_at(start, out);
                let factor = |i: usize| factors.get((start + i) / run).copied().unwrap_or(f64::NAN);
                if self.source.dtype() == DType::Fp16 {
                    for (i, b) in out.chunks_exact_mut(2).enumerate() {
                        let v = f16::from_le_bytes([b[0], b[1]]).to_f64() * factor(i);
                        b.copy_from_slice(&f16::from_f64(v).to_le_bytes());
                    }
                } else {
                    for (i, b) in out.chunks_exact_mut(4).enumerate() {
                        let v = f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])) * factor(i);
                        b.copy_from_slice(&(v as f32).to_le_bytes());
                    }
                }
            }
        }
    }
}

impl Lazy {
    /// Copies elements from their places in the source, one line along the last axis after the other.
    fn turn(&self, start: usize, out: &mut [u8], shape: &[usize], strides: &[usize]) {
        let width = self.source.dtype().bits() / 8;
        let bytes = self.source.bytes();
        let (&last, outer) = shape.split_last().unwrap_or((&1, &[]));
        let step = strides.last().copied().unwrap_or(1);
        let (mut line, mut column) = (start / last.max(1), start % last.max(1));
        let mut left = &mut out[..];
        while !left.is_empty() {
            let (mut rest, mut base) = (line, 0);
            for (&extent, &stride) in outer.iter().zip(strides).rev() {
                base += rest % extent * stride;
                rest /= extent;
            }
            let count = (last - column).min(left.len() / width);
            let (part, behind) = left.split_at_mut(count * width);
            for (i, to) in part.chunks_exact_mut(width).enumerate() {
                let from = (base + (column + i) * step) * width;
                to.copy_from_slice(&bytes[from..from + width]);
            }
            left = behind;
            (line, column) = (line + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than is made at once, and no multiple of what a core takes.
    const COUNT: usize = 100_003;

    fn source() -> Data {
        Data::from_vec(&[COUNT], (0..COUNT).map(|i| i as f32 * 0.37 - 9000.0).collect::<Vec<_>>())
    }

    #[test]
    fn rounds_and_scales_as_if_made_at_once() {
        let source = source();
        let half = source.rounded_to_fp16().unwrap();
        let expected: Vec<f16> = source.as_slice::<f32>().unwrap().iter().map(|&v| f16::from_f32(v)).collect();
        assert_eq!(half.as_slice::<f16>().unwrap().as_ref(), expected);
        // COUNT is 7 runs of 14286 elements and one element more, so runs of 1 and of all.
        let doubled = source.scaled(COUNT, vec![2.0]).unwrap().rounded_to_fp16().unwrap();
        let expected: Vec<f16> = source.as_slice::<f32>().unwrap().iter().map(|&v| f16::from_f32(2.0 * v)).collect();
        assert_eq!(doubled.as_slice::<f16>().unwrap().as_ref(), expected);
        let by_place = source.scaled(1, (0..COUNT).map(|i| i as f64).collect()).unwrap();
        let at = by_place.as_slice::<f32>().unwrap()[70_001];
        assert_eq!(at, ((70_001_f32 * 0.37 - 9000.0) as f64 * 70_001.0) as f32);
        assert!(source.scaled(2, vec![1.0]).is_none() && half.rounded_to_fp16().is_none());
    }

    #[test]
    fn turns_as_if_made_at_once() {
        let (a, b, c) = (37, 50, 29);
        let source = Data::from_vec(&[a, b, c], (0..(a * b * c) as i32).collect::<Vec<_>>());
        let turned = source.permuted(&[2, 0, 1]).unwrap();
        assert_eq!(turned.shape(), [c, a, b]);
        let all = turned.as_slice::<i32>().unwrap().into_owned();
        let at = |k: usize, i: usize, j: usize| all[(k * a + i) * b + j];
        for (k, i, j) in [(0, 0, 0), (28, 36, 49), (3, 5, 7), (17, 30, 2)] {
            assert_eq!(at(k, i, j), ((i * b + j) * c + k) as i32);
        }
        assert_eq!(turned.permuted(&[1, 2, 0]).unwrap(), source);
        // A part that begins within a line.
        let mut part = [0; 12];
        turned.read_at(1234, &mut part);
        assert_eq!(part, bytemuck::cast_slice::<i32, u8>(&all[1234..1237]));
        assert!(source.permuted(&[0, 0, 1]).is_none() && source.permuted(&[0, 1]).is_none());
        let scalar = Data::scalar(5i32);
        assert_eq!(scalar.permuted(&[]).unwrap(), scalar);
        assert_eq!(source.slab(c, &[2, c]).unwrap().as_slice::<i32>().unwrap()[0], c as i32);
        assert!(source.slab(a * b * c, &[1]).is_none());
    }

    #[test]
    fn pieces_and_comparison_go_by_the_elements() {
        let half = source().rounded_to_fp16().unwrap();
        let mut all = Vec::new();
        half.for_each_piece(&mut |piece| {
            all.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        assert_eq!(all, half.bytes());
        let made = Data::new(DType::Fp16, &[COUNT], all).unwrap();
        assert_eq!(half, made);
        assert_ne!(half, source().scaled(COUNT, vec![1.5]).unwrap().rounded_to_fp16().unwrap());
        assert_eq!(half.reshaped(&[1, COUNT]).unwrap().bytes(), made.bytes());
        assert_eq!(&half.head(4)[..], &made.bytes()[..4]);
    }
}
