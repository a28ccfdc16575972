//! Reductions along axes. Floats are summed in double precision in the order of the elements and rounded once; integers are
//! exact and wrap.

use coremill_mil::{Const, OpKind};
use coremill_tensor::{DType, Data, f16};

use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

type Results = Result<Vec<Const>, EvalError>;

pub(super) const KERNELS: Family = &[
    (OpKind::ReduceSum, |a| reduce(a, true, |v| v.iter().sum())),
    (OpKind::ReduceMax, |a| reduce(a, true, |v| extreme(v, f64::max))),
    (OpKind::ReduceMin, |a| reduce(a, true, |v| extreme(v, f64::min))),
    (OpKind::ReduceProd, |a| reduce(a, false, |v| v.iter().product())),
    (OpKind::ReduceMean, |a| reduce(a, false, |v| v.iter().sum::<f64>() / v.len() as f64)),
    (OpKind::ReduceSumSquare, |a| reduce(a, false, |v| v.iter().map(|x| x * x).sum())),
    (OpKind::ReduceL1Norm, |a| reduce(a, false, |v| v.iter().map(|x| x.abs()).sum())),
    (OpKind::ReduceL2Norm, |a| reduce(a, false, |v| v.iter().map(|x| x * x).sum::<f64>().sqrt())),
    (OpKind::ReduceLogSum, |a| reduce(a, false, |v| v.iter().sum::<f64>().ln())),
    (OpKind::ReduceLogSumExp, |a| reduce(a, false, log_sum_exp)),
    (OpKind::ReduceArgmax, |a| argument(a, |new, best| new > best)),
    (OpKind::ReduceArgmin, |a| argument(a, |new, best| new < best)),
];

/// A NaN anywhere is the result.
fn extreme(v: &[f64], pick: fn(f64, f64) -> f64) -> f64 {
    let chosen = v.iter().copied().reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { pick(a, b) });
    chosen.unwrap_or(f64::NAN)
}

fn log_sum_exp(v: &[f64]) -> f64 {
    let largest = extreme(v, f64::max);
    if largest.is_infinite() { largest } else { largest + v.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() }
}

/// The elements of `x` by place in the result, each group in the order of the elements.
fn groups(x: &Data, axes: &[usize]) -> Result<Vec<Vec<f64>>, EvalError> {
    let values = x.to_f64s().ok_or_else(|| EvalError::Unsupported(format!("a reduction of {}", x.dtype())))?;
    let kept = |d: usize| !axes.contains(&d);
    let count: usize = x.shape().iter().enumerate().filter(|(d, _)| kept(*d)).map(|(_, &n)| n).product();
    let mut groups = vec![Vec::new(); count];
    for (i, v) in values.into_iter().enumerate() {
        let (mut rest, mut place, mut stride) = (i, 0, 1);
        for (d, &n) in x.shape().iter().enumerate().rev() {
            if kept(d) {
                place += rest % n * stride;
                stride *= n;
            }
            rest /= n;
        }
        groups[place].push(v);
    }
    Ok(groups)
}

fn axes(args: &Args<'_, '_>, name: &'static str, rank: usize) -> Result<Vec<usize>, EvalError> {
    if !args.0.is_given(name) {
        return Ok((0..rank).collect());
    }
    let wrong = || EvalError::bad(format!("`{name}` is outside the rank"));
    let front = |a: i64| usize::try_from(if a < 0 { a + rank as i64 } else { a }).ok().filter(|&a| a < rank);
    args.ints(name)?.into_iter().map(|a| front(a).ok_or_else(wrong)).collect()
}

/// `f` of each group; integers only where that is exact.
fn reduce(args: &Args<'_, '_>, integers: bool, f: impl Fn(&[f64]) -> f64) -> Results {
    let x = args.data("x")?;
    let axes = axes(args, "axes", x.rank())?;
    let shape = args.result_shape()?;
    let results: Vec<f64> = groups(x, &axes)?.iter().map(|g| f(g)).collect();
    if x.is_empty() || shape.iter().product::<usize>() != results.len() {
        return Err(EvalError::Unsupported("a reduction of no elements".to_owned()));
    }
    one(match x.dtype() {
        DType::Fp32 => Data::from_vec(&shape, results.into_iter().map(|v| v as f32).collect()),
        DType::Fp16 => Data::from_vec(&shape, results.into_iter().map(f16::from_f64).collect()),
        DType::Int32 if integers && x.len() < 1 << 21 => {
            Data::from_vec(&shape, results.into_iter().map(|v| v as i64 as i32).collect())
        }
        other => return Err(EvalError::Unsupported(format!("`{}` of {other}", args.0.kind))),
    })
}

/// The place of the first element that beats all others.
fn argument(args: &Args<'_, '_>, beats: fn(f64, f64) -> bool) -> Results {
    let x = args.data("x")?;
    let axis = args.number_or("axis", -1.0)? as i64;
    let axis = if axis < 0 { axis + x.rank() as i64 } else { axis };
    let axis = usize::try_from(axis).ok().filter(|&a| a < x.rank());
    let axis = axis.ok_or_else(|| EvalError::bad("`axis` is outside the rank"))?;
    let result = args.result()?;
    let shape = args.result_shape()?;
    if result.dtype != DType::Int32 || x.is_empty() {
        return Err(EvalError::Unsupported(format!("`{}` that gives {}", args.0.kind, result.dtype)));
    }
    let place = |g: &Vec<f64>| {
        let best = g.iter().enumerate().skip(1).fold(0, |best, (i, &v)| if beats(v, g[best]) { i } else { best });
        best as i32
    };
    let places: Vec<i32> = groups(x, &[axis])?.iter().map(place).collect();
    if shape.iter().product::<usize>() != places.len() {
        return Err(EvalError::bad("the result has another number of elements"));
    }
    one(Data::from_vec(&shape, places))
}

#[cfg(test)]
mod tests {
    use coremill_mil::{Arg, Const, OpArgs, OpKind, Opset};
    use coremill_tensor::Data;

    use crate::evaluate;

    fn reduced(kind: OpKind, x: Data, axes: &[i32], keep: bool) -> (Vec<usize>, Vec<f64>) {
        let values = [Const::Tensor(x), Const::int32s(axes), Const::bool(keep)];
        let types: Vec<_> = values.iter().map(Const::ty).collect();
        let mut args = OpArgs::new(kind, Opset::Ios17);
        for ((name, v), ty) in ["x", "axes", "keep_dims"].into_iter().zip(&values).zip(&types) {
            args.inputs.push((name, std::iter::once(Arg::new(ty, Some(v))).collect()));
        }
        let results = evaluate(&args).unwrap();
        let data = results[0].as_data().unwrap();
        (data.shape().to_vec(), data.to_f64s().unwrap())
    }

    #[test]
    fn along_axes_and_all() {
        let x = || Data::from_vec(&[2, 3], vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(reduced(OpKind::ReduceSum, x(), &[0], false), (vec![3], vec![5.0, 7.0, 9.0]));
        assert_eq!(reduced(OpKind::ReduceMean, x(), &[-1], true), (vec![2, 1], vec![2.0, 5.0]));
        assert_eq!(reduced(OpKind::ReduceMax, x(), &[0, 1], false), (vec![], vec![6.0]));
        assert_eq!(reduced(OpKind::ReduceProd, x(), &[1], false), (vec![2], vec![6.0, 120.0]));
        assert_eq!(reduced(OpKind::ReduceL2Norm, Data::from_vec(&[2], vec![3f32, 4.0]), &[0], false).1, [5.0]);
        // ln(e^1000 + e^1000) = 1000 + ln 2, without the overflow of e^1000.
        let big = Data::from_vec(&[2], vec![1000f32, 1000.0]);
        assert_eq!(reduced(OpKind::ReduceLogSumExp, big, &[0], false).1, [f64::from((1000.0 + 2f64.ln()) as f32)]);
        let whole = Data::from_vec(&[2], vec![i32::MAX, 1]);
        assert_eq!(reduced(OpKind::ReduceSum, whole, &[0], false).1, [f64::from(i32::MIN)]);
    }
}
