//! Matrices of discrete Fourier transforms, computed in double precision.

use std::f64::consts::TAU;

/// The real and the imaginary part of a matrix, row-major.
pub(super) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub re: Vec<f64>,
    pub im: Vec<f64>,
}

/// The most elements of a matrix: 32 Mi, 128 MiB in float32.
const MAX_ELEMENTS: usize = 1 << 25;

/// Cosine and sine of `at / n` of a turn; exact at the quarters.
fn turn(at: usize, n: usize) -> (f64, f64) {
    let at = at % n;
    if (4 * at).is_multiple_of(n) {
        return [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][4 * at / n];
    }
    let angle = TAU * at as f64 / n as f64;
    (angle.cos(), angle.sin())
}

impl Matrix {
    /// Row `r`, column `c`: `weight(r, c)` times `e` to the power of `direction * 2 pi i r c / n`.
    ///
    /// `None` when it would be huge.
    pub(super) fn new(
        (rows, columns): (usize, usize),
        n: usize,
        direction: f64,
        weight: impl Fn(usize, usize) -> f64,
    ) -> Option<Matrix> {
        let count = rows.checked_mul(columns).filter(|&c| c <= MAX_ELEMENTS && n <= MAX_ELEMENTS)?;
        let (mut re, mut im) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for r in 0..rows {
            for c in 0..columns {
                // Both are below 2^25, so the product is exact.
                let (cos, sin) = turn(r * c, n);
                let w = weight(r, c);
                re.push(w * cos);
                // No negative zeros: they would show in constants.
                im.push(if sin == 0.0 { 0.0 } else { w * direction * sin });
            }
        }
        Some(Matrix { rows, columns, re, im })
    }

    /// The factors of `complex_irfft`: a row for each bin of the half spectrum of `n` real samples, a column a sample. Bins that
    /// stand for themselves and their conjugates count twice.
    pub(super) fn half_inverse(bins: usize, n: usize, scale: f64) -> Option<Matrix> {
        let weight = |r: usize| if r == 0 || 2 * r == n { scale } else { 2.0 * scale };
        Matrix::new((bins, n), n, 1.0, |r, _| weight(r))
    }
}
