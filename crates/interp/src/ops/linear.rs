//! Matrix products.

use coremill_mil::{Const, OpKind};
use coremill_tensor::{DType, Data, f16};
use gemm::{Parallelism, gemm};

use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[(OpKind::Matmul, matmul)];

/// Batched product of the two innermost axes; the others broadcast. Sums run in double precision and are
/// rounded once.
fn matmul(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = oriented(args.data("x")?, args.bool_or("transpose_x", false)?)?;
    let y = oriented(args.data("y")?, args.bool_or("transpose_y", false)?)?;
    let out = args.result()?;
    let shape = args.result_shape()?;
    // A vector is a matrix of one row on the left, of one column on the right.
    let as_matrix = |d: &Data, left: bool| match (d.shape(), left) {
        ([k], true) => vec![1, *k],
        ([k], false) => vec![*k, 1],
        (s, _) => s.to_vec(),
    };
    let (xs, ys) = (as_matrix(&x, true), as_matrix(&y, false));
    let (Some([m, k]), Some([k2, n])) = (xs.last_chunk::<2>(), ys.last_chunk::<2>()) else {
        return Err(EvalError::bad("`matmul` takes tensors of rank 1 or more"));
    };
    if k != k2 {
        return Err(EvalError::bad(format!("inner extents {k} and {k2} differ")));
    }
    let (m, n, k) = (*m, *n, *k);
    let batch = broadcast_shape(&xs[..xs.len() - 2], &ys[..ys.len() - 2])?;
    let wide = |d: &Data| d.to_f64s().ok_or_else(|| EvalError::Unsupported(format!("`matmul` of {}", d.dtype())));
    let (a, b) = (wide(&x)?, wide(&y)?);
    let batches: usize = batch.iter().product();
    let mut c = vec![0f64; batches * m * n];
    for i in 0..batches {
        let (ai, bi) = (batch_index(&batch, i, &xs[..xs.len() - 2]), batch_index(&batch, i, &ys[..ys.len() - 2]));
        product(&mut c[i * m * n..][..m * n], &a[ai * m * k..][..m * k], &b[bi * k * n..][..k * n], (m, n, k));
    }
    one(narrow(out.dtype, &shape, c)?)
}

fn oriented(d: &Data, transposed: bool) -> Result<Data, EvalError> {
    let rank = d.rank();
    if !transposed || rank < 2 {
        return Ok(d.clone());
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 1, rank - 2);
    d.permuted(&perm).ok_or_else(|| EvalError::Unsupported(format!("turning elements of {}", d.dtype())))
}

/// `c = a * b` for row-major matrices of `m x k` and `k x n`.
fn product(c: &mut [f64], a: &[f64], b: &[f64], (m, n, k): (usize, usize, usize)) {
    if c.is_empty() || k == 0 {
        return;
    }
    let cols = |n: usize| isize::try_from(n).unwrap_or(isize::MAX);
    #[allow(unsafe_code, reason = "the gemm crate takes pointers")]
    // SAFETY: the slices hold exactly `m*n`, `m*k` and `k*n` elements, row-major with unit column stride.
    unsafe {
        gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            cols(n),
            false,
            a.as_ptr(),
            1,
            cols(k),
            b.as_ptr(),
            1,
            cols(n),
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

fn broadcast_shape(a: &[usize], b: &[usize]) -> Result<Vec<usize>, EvalError> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |k| s[k]);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y || y == 1 => Ok(x),
            (1, y) => Ok(y),
            _ => Err(EvalError::bad(format!("shapes {a:?} and {b:?} do not broadcast"))),
        })
        .collect()
}

/// Index of the batch of `own` that batch `i` of `all` reads.
fn batch_index(all: &[usize], mut i: usize, own: &[usize]) -> usize {
    let (mut index, mut stride) = (0, 1);
    for (axis, &n) in all.iter().enumerate().rev() {
        let at = i % n;
        i /= n;
        if let Some(&d) = (axis + own.len()).checked_sub(all.len()).and_then(|k| own.get(k)) {
            index += if d == 1 { 0 } else { at * stride };
            stride *= d;
        }
    }
    index
}

/// Doubles rounded to `dtype`.
pub(super) fn narrow(dtype: DType, shape: &[usize], v: Vec<f64>) -> Result<Data, EvalError> {
    if v.len() != shape.iter().product::<usize>() {
        return Err(EvalError::bad("the result's shape does not hold the result"));
    }
    Ok(match dtype {
        DType::Fp16 => Data::from_vec(shape, v.into_iter().map(f16::from_f64).collect::<Vec<_>>()),
        DType::Fp32 => Data::from_vec(shape, v.into_iter().map(|v| v as f32).collect::<Vec<_>>()),
        DType::Fp64 => Data::from_vec(shape, v),
        DType::Int32 => Data::from_vec(shape, v.into_iter().map(|v| v as i32).collect::<Vec<_>>()),
        other => return Err(EvalError::Unsupported(format!("a result of {other}"))),
    })
}
