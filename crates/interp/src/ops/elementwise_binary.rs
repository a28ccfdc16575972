//! Element-wise ops of two tensors, broadcast against each other.

use coremill_mil::{Const, OpKind};
use coremill_tensor::{DType, Data, f16};
use ndarray::{ArrayD, IxDyn};

use super::movement::{by_width, from_words, view, words};
use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[
    (OpKind::Add, |a| arithmetic(a, |x, y| x + y, |x, y| Some(x.wrapping_add(y)))),
    (OpKind::Sub, |a| arithmetic(a, |x, y| x - y, |x, y| Some(x.wrapping_sub(y)))),
    (OpKind::Mul, |a| arithmetic(a, |x, y| x * y, |x, y| Some(x.wrapping_mul(y)))),
    (OpKind::RealDiv, |a| arithmetic(a, |x, y| x / y, floor_div)),
    (OpKind::FloorDiv, |a| arithmetic(a, |x, y| (x / y).floor(), floor_div)),
    (OpKind::Mod, |a| arithmetic(a, floor_mod, |x, y| Some(x - floor_div(x, y)? * y))),
    (OpKind::Pow, |a| arithmetic(a, f64::powf, int_pow)),
    (OpKind::Maximum, |a| arithmetic(a, maximum, |x, y| Some(x.max(y)))),
    (OpKind::Minimum, |a| arithmetic(a, minimum, |x, y| Some(x.min(y)))),
    (OpKind::Equal, |a| compare(a, |x, y| x == y, |x, y| x == y)),
    (OpKind::NotEqual, |a| compare(a, |x, y| x != y, |x, y| x != y)),
    (OpKind::Greater, |a| compare(a, |x, y| x > y, |x, y| x > y)),
    (OpKind::GreaterEqual, |a| compare(a, |x, y| x >= y, |x, y| x >= y)),
    (OpKind::Less, |a| compare(a, |x, y| x < y, |x, y| x < y)),
    (OpKind::LessEqual, |a| compare(a, |x, y| x <= y, |x, y| x <= y)),
    (OpKind::LogicalAnd, |a| compare(a, |_, _| false, |x, y| x != 0 && y != 0)),
    (OpKind::LogicalOr, |a| compare(a, |_, _| false, |x, y| x != 0 || y != 0)),
    (OpKind::LogicalXor, |a| compare(a, |_, _| false, |x, y| (x != 0) != (y != 0))),
    (OpKind::Select, select),
];

/// Quotient of integers, floored; none for a zero divisor.
fn floor_div(x: i64, y: i64) -> Option<i64> {
    let q = x.checked_div(y)?;
    Some(if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q })
}

/// Remainder with the sign of the divisor.
fn floor_mod(x: f64, y: f64) -> f64 {
    let r = x % y;
    if r != 0.0 && (r < 0.0) != (y < 0.0) { r + y } else { r }
}

fn int_pow(x: i64, y: i64) -> Option<i64> {
    match u32::try_from(y) {
        Ok(y) => Some(x.wrapping_pow(y)),
        // A negative power of an integer rounds toward zero.
        Err(_) if y < 0 => match x {
            1 => Some(1),
            -1 => Some(if y % 2 == 0 { 1 } else { -1 }),
            0 => None,
            _ => Some(0),
        },
        Err(_) => None,
    }
}

/// The greater; NaN when either is, as IEEE `maximum` and NumPy say.
fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) }
}

/// The lesser; NaN when either is.
fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() { f64::NAN } else { x.min(y) }
}

/// Both tensors' elements, broadcast, under `f`.
fn zip<A: Clone, R>(
    (xs, x): (&[usize], Vec<A>),
    (ys, y): (&[usize], Vec<A>),
    shape: &[usize],
    f: impl Fn(&A, &A) -> Result<R, EvalError>,
) -> Result<Vec<R>, EvalError> {
    let array = |s: &[usize], v| ArrayD::from_shape_vec(IxDyn(s), v).map_err(|e| EvalError::bad(e.to_string()));
    let (x, y) = (array(xs, x)?, array(ys, y)?);
    let wide = || EvalError::bad(format!("shapes {xs:?} and {ys:?} do not broadcast to {shape:?}"));
    let (x, y) = (x.broadcast(IxDyn(shape)).ok_or_else(wide)?, y.broadcast(IxDyn(shape)).ok_or_else(wide)?);
    x.iter().zip(y.iter()).map(|(a, b)| f(a, b)).collect()
}

fn both<'a>(args: &Args<'_, 'a>) -> Result<(&'a Data, &'a Data), EvalError> {
    let (x, y) = (args.data("x")?, args.data("y")?);
    if x.dtype() != y.dtype() {
        return Err(EvalError::bad(format!("`x` is {} and `y` is {}", x.dtype(), y.dtype())));
    }
    Ok((x, y))
}

fn arithmetic(
    args: &Args<'_, '_>,
    real: fn(f64, f64) -> f64,
    int: fn(i64, i64) -> Option<i64>,
) -> Result<Vec<Const>, EvalError> {
    let (x, y) = both(args)?;
    let shape = args.result_shape()?;
    if x.dtype() == DType::Int32 {
        let v = |d: &Data| d.to_i64s().ok_or_else(|| EvalError::bad("no integers"));
        let undefined = || EvalError::bad("a division by zero or a power that overflows");
        let z = zip((x.shape(), v(x)?), (y.shape(), v(y)?), &shape, |&a, &b| int(a, b).ok_or_else(undefined))?;
        // Two's complement: the low 32 bits.
        return one(Data::from_vec(&shape, z.into_iter().map(|v| v as i32).collect::<Vec<_>>()));
    }
    let v = |d: &Data| d.to_f64s().ok_or_else(|| EvalError::bad("no numbers"));
    let z = zip((x.shape(), v(x)?), (y.shape(), v(y)?), &shape, |&a, &b| Ok(real(a, b)))?;
    one(match x.dtype() {
        DType::Fp16 => Data::from_vec(&shape, z.into_iter().map(f16::from_f64).collect::<Vec<_>>()),
        DType::Fp32 => Data::from_vec(&shape, z.into_iter().map(|v| v as f32).collect::<Vec<_>>()),
        other => return Err(EvalError::Unsupported(format!("`{}` of {other}", args.0.kind))),
    })
}

fn compare(
    args: &Args<'_, '_>,
    real: fn(f64, f64) -> bool,
    int: fn(i64, i64) -> bool,
) -> Result<Vec<Const>, EvalError> {
    let (x, y) = both(args)?;
    let shape = args.result_shape()?;
    let z = match (x.to_i64s(), y.to_i64s()) {
        (Some(a), Some(b)) => zip((x.shape(), a), (y.shape(), b), &shape, |&a, &b| Ok(int(a, b)))?,
        _ => {
            let v = |d: &Data| d.to_f64s().ok_or_else(|| EvalError::bad("no numbers"));
            zip((x.shape(), v(x)?), (y.shape(), v(y)?), &shape, |&a, &b| Ok(real(a, b)))?
        }
    };
    one(Data::from_bools(&shape, &z))
}

/// `a` where `cond` is true, `b` elsewhere, all broadcast.
fn select(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let (cond, a, b) = (args.data("cond")?, args.data("a")?, args.data("b")?);
    if a.dtype() != b.dtype() || cond.dtype() != DType::Bool {
        return Err(EvalError::bad("`a` and `b` must be of one type, and `cond` boolean"));
    }
    let shape = args.result_shape()?;
    by_width!(a.dtype(), T => {
        let (cond_words, a_words, b_words) = (words::<u8>(cond), words::<T>(a), words::<T>(b));
        let wide = || EvalError::bad(format!("the shapes do not broadcast to {shape:?}"));
        let (c, x, y) = (view(cond.shape(), &cond_words)?, view(a.shape(), &a_words)?, view(b.shape(), &b_words)?);
        let c = c.broadcast(IxDyn(&shape)).ok_or_else(wide)?;
        let (x, y) = (x.broadcast(IxDyn(&shape)).ok_or_else(wide)?, y.broadcast(IxDyn(&shape)).ok_or_else(wide)?);
        let picked: Vec<T> = c.iter().zip(x.iter().zip(y.iter())).map(|(&c, (&x, &y))| if c != 0 { x } else { y }).collect();
        one(from_words(a.dtype(), &shape, picked)?)
    })
}
