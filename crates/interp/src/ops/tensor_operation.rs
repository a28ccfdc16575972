//! Ops that make tensors.

use coremill_mil::{Const, OpKind};
use coremill_tensor::{DType, Data, f16};
use ndarray::{Axis, IxDyn};

use super::movement::{Words, by_width, gather, pick, strides, view, words};
use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[
    (OpKind::Concat, concat),
    (OpKind::Fill, fill),
    (OpKind::Identity, |a| Ok(vec![a.value("x")?.clone()])),
    (OpKind::Range1d, range_1d),
    (OpKind::Shape, shape),
    (OpKind::Tile, tile),
];

/// The most elements a folded `fill` or `range_1d` may have: 64 Mi, above any table a model builds, below what
/// a hostile program could ask for.
const MAX_ELEMENTS: usize = 1 << 26;

fn concat(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let parts = args.list("values")?;
    if args.bool_or("interleave", false)? {
        return Err(EvalError::Unsupported("interleaved `concat`".to_owned()));
    }
    let result = args.result()?;
    let axis = result.shape.axis(args.int("axis")?).ok_or_else(|| EvalError::bad("`axis` is outside the rank"))?;
    by_width!(result.dtype, T => {
        let all: Vec<Words<T>> = parts.iter().map(|d| words(d)).collect();
        let views = parts.iter().zip(&all).map(|(d, w)| view(d.shape(), w)).collect::<Result<Vec<_>, _>>()?;
        let joined = ndarray::concatenate(Axis(axis), &views).map_err(|e| EvalError::bad(e.to_string()))?;
        one(gather(result.dtype, &joined.view())?)
    })
}

/// One value everywhere.
fn fill(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let shape: Vec<usize> = args
        .ints("shape")?
        .into_iter()
        .map(|d| usize::try_from(d).map_err(|_| EvalError::bad("a negative extent")))
        .collect::<Result<_, _>>()?;
    let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|n| *n <= MAX_ELEMENTS);
    n.ok_or_else(|| EvalError::bad("too many elements"))?;
    // A `fill` without a value fills with zero, as its definition says.
    let zero = Data::scalar(0f32);
    let value = if args.0.is_given("value") { args.data("value")? } else { &zero };
    by_width!(value.dtype(), T => {
        let w = words::<T>(&value.reshaped(&[]).ok_or_else(|| EvalError::bad("`value` is no scalar"))?);
        let v = view(&[], &w)?;
        let wide = v.broadcast(IxDyn(&shape)).ok_or_else(|| EvalError::bad("no such shape"))?;
        one(gather(value.dtype(), &wide)?)
    })
}

/// `start`, `start + step`, ... below `end` (above, for a negative step).
fn range_1d(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let (start, end, step) = (args.data("start")?, args.data("end")?, args.data("step")?);
    let number = |d: &Data| d.scalar_f64().ok_or_else(|| EvalError::bad("no number"));
    let (a, b, s) = (number(start)?, number(end)?, number(step)?);
    let count = ((b - a) / s).ceil().max(0.0);
    if s == 0.0 || !count.is_finite() || count > MAX_ELEMENTS as f64 {
        return Err(EvalError::bad("the range has no end, or too many elements"));
    }
    let v = (0..count as u64).map(|i| a + i as f64 * s);
    let n = [count as usize];
    one(match start.dtype() {
        DType::Int32 => Data::from_vec(&n, v.map(|v| v as i32).collect::<Vec<_>>()),
        DType::Fp32 => Data::from_vec(&n, v.map(|v| v as f32).collect::<Vec<_>>()),
        DType::Fp16 => Data::from_vec(&n, v.map(f16::from_f64).collect::<Vec<_>>()),
        other => return Err(EvalError::Unsupported(format!("`range_1d` of {other}"))),
    })
}

/// Extents as `int32`; they come from the type, so `x` need not be constant.
fn shape(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let ty = args.0.ty("x").ok_or_else(|| EvalError::bad("`x` is not given"))?;
    let known = ty.shape().and_then(|s| s.to_known()).ok_or(EvalError::NotConstant("x"))?;
    let extents: Option<Vec<i32>> = known.iter().map(|&d| i32::try_from(d).ok()).collect();
    let extents = extents.ok_or_else(|| EvalError::bad("an extent above 2^31"))?;
    let dtype = args.result()?.dtype;
    one(match dtype {
        DType::Int16 => {
            let short: Option<Vec<i16>> = extents.iter().map(|&d| i16::try_from(d).ok()).collect();
            Data::from_vec(&[known.len()], short.ok_or_else(|| EvalError::bad("an extent above 2^15"))?)
        }
        _ => Data::from_vec(&[known.len()], extents),
    })
}

/// The tensor side by side with itself, `reps` times on each axis.
fn tile(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    let reps = args.ints("reps")?;
    if reps.len() != x.rank() {
        return Err(EvalError::bad("`reps` does not name every axis"));
    }
    let times = |(n, r): (&usize, &i64)| usize::try_from(*r).ok().and_then(|r| n.checked_mul(r));
    let shape: Option<Vec<usize>> = x.shape().iter().zip(&reps).map(times).collect();
    let shape =
        shape.filter(|s| s.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).is_some_and(|n| n <= MAX_ELEMENTS));
    let shape = shape.ok_or_else(|| EvalError::bad("too many elements"))?;
    let steps = strides(x.shape());
    one(pick(x, &shape, |index| {
        Some(index.iter().zip(x.shape()).zip(&steps).map(|((i, n), step)| i % n * step).sum())
    })?)
}
