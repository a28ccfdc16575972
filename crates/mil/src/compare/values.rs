//! Constants within a tolerance.

use coremill_tensor::{DType, Data};

use super::Same;
use crate::Const;

/// Relative tolerance by element type.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::Fp16 => 2e-3,
        DType::Bf16 | DType::Fp8E4M3 | DType::Fp8E5M2 => 1e-2,
        _ => 2e-5,
    }
}

/// Are two constants the same? With `rank`, integers are axes of a tensor of that rank.
pub(super) fn same(a: &Const, b: &Const, place: &str, rank: Option<usize>) -> Same {
    let all = |a: &[Const], b: &[Const]| a.iter().zip(b).try_for_each(|(x, y)| same(x, y, place, rank));
    match (a, b) {
        (Const::Tensor(a), Const::Tensor(b)) => tensors(a, b, place, rank),
        (Const::Strings(sa, va), Const::Strings(sb, vb)) => {
            if sa != sb {
                return Err(format!("{place}: constant of shape {sa:?} against {sb:?}"));
            }
            if va == vb { Ok(()) } else { Err(format!("{place}: constant {va:?} against {vb:?}")) }
        }
        (Const::List(_, a), Const::List(_, b)) | (Const::Tuple(a), Const::Tuple(b)) if a.len() == b.len() => all(a, b),
        (Const::Dict(_, a), Const::Dict(_, b)) if a.len() == b.len() => {
            a.iter().zip(b).try_for_each(|((ka, va), (kb, vb))| {
                same(ka, kb, place, None)?;
                same(va, vb, place, None)
            })
        }
        _ => Err(format!("{place}: constant of {} against {}", a.ty(), b.ty())),
    }
}

fn tensors(a: &Data, b: &Data, place: &str, rank: Option<usize>) -> Same {
    if a.dtype() != b.dtype() {
        return Err(format!("{place}: constant of {} against {}", a.dtype(), b.dtype()));
    }
    if a.shape() != b.shape() {
        return Err(format!("{place}: constant of shape {:?} against {:?}", a.shape(), b.shape()));
    }
    if a == b {
        return Ok(());
    }
    if a.dtype().is_float() {
        if let (Some(x), Some(y)) = (a.to_f64s(), b.to_f64s()) {
            return floats(&x, &y, tolerance(a.dtype()), place);
        }
    } else if let (Some(x), Some(y)) = (a.to_i64s(), b.to_i64s()) {
        let turn = |v: &[i64]| -> Vec<i64> {
            match rank.filter(|&r| r > 0).and_then(|r| i64::try_from(r).ok()) {
                Some(r) => v.iter().map(|n| n.rem_euclid(r)).collect(),
                None => v.to_vec(),
            }
        };
        if turn(&x) == turn(&y) {
            return Ok(());
        }
        return Err(format!("{place}: constant differs, {:?} against {:?}", head(&x), head(&y)));
    }
    Err(format!("{place}: constant differs"))
}

fn head<T>(v: &[T]) -> &[T] {
    &v[..v.len().min(6)]
}

fn floats(x: &[f64], y: &[f64], tolerance: f64, place: &str) -> Same {
    let scale = x.iter().filter(|v| v.is_finite()).fold(0f64, |m, v| m.max(v.abs()));
    let absolute = tolerance * scale.min(1.0) * 0.1 + 1e-12;
    let close = |a: f64, b: f64| {
        a == b
            || (a.is_nan() && b.is_nan())
            || (a.is_finite() && b.is_finite() && (a - b).abs() <= absolute + tolerance * b.abs())
    };
    match x.iter().zip(y).position(|(&a, &b)| !close(a, b)) {
        None => Ok(()),
        Some(i) => {
            let at = |v: &[f64]| v.get(i).copied().unwrap_or(f64::NAN);
            Err(format!("{place}: constant differs at element {i}, {} against {}", at(x), at(y)))
        }
    }
}
