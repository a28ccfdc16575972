//! Ops that run along one axis and keep the shape: computed in double precision and rounded once.

use coremill_mil::{Const, OpKind};
use coremill_tensor::{DType, Data, f16};

use super::movement::{from_front, strides};
use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

type Results = Result<Vec<Const>, EvalError>;

pub(super) const KERNELS: Family = &[(OpKind::Cumsum, cumsum), (OpKind::Softmax, softmax)];

/// Applies `f` to each line of elements along the axis, in place.
fn along(args: &Args<'_, '_>, axis: i64, integers: bool, f: impl Fn(&mut [f64])) -> Results {
    let x = args.data("x")?;
    let axis = from_front(axis, x.rank()).ok_or_else(|| EvalError::bad("`axis` is outside the rank"))?;
    let mut values =
        x.to_f64s().ok_or_else(|| EvalError::Unsupported(format!("`{}` of {}", args.0.kind, x.dtype())))?;
    let (length, stride) = (x.shape()[axis], strides(x.shape())[axis]);
    for start in 0..values.len() {
        // A line begins where the index along the axis is zero.
        if length == 0 || start / stride % length != 0 {
            continue;
        }
        let at = |i: usize| start + i * stride;
        let mut line: Vec<f64> = (0..length).map(|i| values[at(i)]).collect();
        f(&mut line);
        line.into_iter().enumerate().for_each(|(i, v)| values[at(i)] = v);
    }
    one(match x.dtype() {
        DType::Fp32 => Data::from_vec(x.shape(), values.into_iter().map(|v| v as f32).collect()),
        DType::Fp16 => Data::from_vec(x.shape(), values.into_iter().map(f16::from_f64).collect()),
        DType::Int32 if integers && x.len() < 1 << 21 => {
            Data::from_vec(x.shape(), values.into_iter().map(|v| v as i64 as i32).collect())
        }
        other => return Err(EvalError::Unsupported(format!("`{}` of {other}", args.0.kind))),
    })
}

fn softmax(args: &Args<'_, '_>) -> Results {
    let axis = args.number_or("axis", -1.0)? as i64;
    along(args, axis, false, |line| {
        let largest = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        line.iter_mut().for_each(|v| *v = (*v - largest).exp());
        let sum: f64 = line.iter().sum();
        line.iter_mut().for_each(|v| *v /= sum);
    })
}

/// `exclusive` leaves the element itself out; `reverse` sums from the end.
fn cumsum(args: &Args<'_, '_>) -> Results {
    let axis = args.number_or("axis", 0.0)? as i64;
    let (exclusive, reverse) = (args.bool_or("exclusive", false)?, args.bool_or("reverse", false)?);
    along(args, axis, true, |line| {
        if reverse {
            line.reverse();
        }
        let mut sum = 0.0;
        for v in line.iter_mut() {
            let with = sum + *v;
            *v = if exclusive { sum } else { with };
            sum = with;
        }
        if reverse {
            line.reverse();
        }
    })
}

#[cfg(test)]
mod tests {
    use coremill_mil::{Arg, Const, OpArgs, OpKind, Opset};
    use coremill_tensor::Data;

    use crate::evaluate;

    fn run(kind: OpKind, given: &[(&'static str, Const)]) -> Vec<f64> {
        let types: Vec<_> = given.iter().map(|(_, c)| c.ty()).collect();
        let mut args = OpArgs::new(kind, Opset::Ios17);
        for ((name, v), ty) in given.iter().zip(&types) {
            args.inputs.push((name, std::iter::once(Arg::new(ty, Some(v))).collect()));
        }
        evaluate(&args).unwrap()[0].as_data().unwrap().to_f64s().unwrap()
    }

    #[test]
    fn sums_along_an_axis() {
        let x = || Const::Tensor(Data::from_vec(&[2, 2], vec![1f32, 2.0, 3.0, 4.0]));
        let sums = |axis, exclusive, reverse| {
            let axis = Const::int32(axis);
            let given =
                [("x", x()), ("axis", axis), ("exclusive", Const::bool(exclusive)), ("reverse", Const::bool(reverse))];
            run(OpKind::Cumsum, &given)
        };
        assert_eq!(sums(0, false, false), [1.0, 2.0, 4.0, 6.0]);
        assert_eq!(sums(-1, false, false), [1.0, 3.0, 3.0, 7.0]);
        assert_eq!(sums(-1, true, false), [0.0, 1.0, 0.0, 3.0]);
        assert_eq!(sums(-1, true, true), [2.0, 0.0, 4.0, 0.0]);
    }

    #[test]
    fn softmax_of_large_numbers_and_the_error_function() {
        let x = Const::Tensor(Data::from_vec(&[2], vec![1000f32, 1000.0]));
        assert_eq!(run(OpKind::Softmax, &[("x", x), ("axis", Const::int32(0))]), [0.5, 0.5]);
        // erf(1), from a table.
        let one = run(OpKind::Erf, &[("x", Const::fp32(1.0))])[0];
        assert!((one - 0.842_700_79).abs() < 1e-7, "{one}");
    }
}
