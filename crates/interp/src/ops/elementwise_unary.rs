//! Element-wise ops of one tensor.

use coremill_mil::{Const, OpKind};
use coremill_tensor::{DType, Data, Element, f16};

use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

pub(super) const KERNELS: Family = &[
    (OpKind::Cast, cast),
    (OpKind::Abs, |a| real(a, f64::abs)),
    (OpKind::Acos, |a| real(a, f64::acos)),
    (OpKind::Asin, |a| real(a, f64::asin)),
    (OpKind::Atan, |a| real(a, f64::atan)),
    (OpKind::Ceil, |a| real(a, f64::ceil)),
    (OpKind::Cos, |a| real(a, f64::cos)),
    (OpKind::Cosh, |a| real(a, f64::cosh)),
    (OpKind::Exp, |a| real(a, f64::exp)),
    (OpKind::Exp2, |a| real(a, f64::exp2)),
    (OpKind::Floor, |a| real(a, f64::floor)),
    (OpKind::LogicalNot, logical_not),
    (OpKind::Relu, |a| real(a, |x| if x < 0.0 { 0.0 } else { x })),
    (OpKind::Round, |a| real(a, f64::round_ties_even)),
    (OpKind::Sigmoid, |a| real(a, |x| 1.0 / (1.0 + (-x).exp()))),
    (OpKind::Sign, |a| real(a, |x| if x == 0.0 { 0.0 } else { x.signum() })),
    (OpKind::Sin, |a| real(a, f64::sin)),
    (OpKind::Sinh, |a| real(a, f64::sinh)),
    (OpKind::Sqrt, |a| real(a, f64::sqrt)),
    (OpKind::Square, |a| real(a, |x| x * x)),
    (OpKind::Tan, |a| real(a, f64::tan)),
    (OpKind::Tanh, |a| real(a, f64::tanh)),
];

/// `f` of every element; integers keep their type where the result is whole.
pub(super) fn real(args: &Args<'_, '_>, f: impl Fn(f64) -> f64) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    let shape = x.shape();
    macro_rules! map {
        ($t:ty, $widen:expr, $narrow:expr) => {{
            let v = x.as_slice::<$t>().unwrap_or_default();
            Data::from_vec(shape, v.iter().map(|&v| $narrow(f($widen(v)))).collect::<Vec<$t>>())
        }};
    }
    one(match x.dtype() {
        DType::Fp16 => map!(f16, f16::to_f64, f16::from_f64),
        DType::Fp32 => map!(f32, f64::from, |v| v as f32),
        DType::Int32 => map!(i32, f64::from, |v| v as i64 as i32),
        other => return Err(EvalError::Unsupported(format!("`{}` of {other}", args.0.kind))),
    })
}

fn logical_not(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    if x.dtype() != DType::Bool {
        return Err(EvalError::bad(format!("`x` is {}, not bool", x.dtype())));
    }
    one(Data::from_bools(x.shape(), &x.bytes().iter().map(|&b| b == 0).collect::<Vec<_>>()))
}

/// Conversion to another element type: integers wrap, floats round to nearest even or truncate toward zero,
/// anything but zero is true.
fn cast(args: &Args<'_, '_>) -> Result<Vec<Const>, EvalError> {
    let x = args.data("x")?;
    let name = args.text("dtype")?;
    let to: DType = name.parse().map_err(|_| EvalError::bad(format!("`dtype` `{name}` is no element type")))?;
    if to == x.dtype() {
        return one(x.clone());
    }
    if let Some(half) = (to == DType::Fp16).then(|| x.rounded_to_fp16()).flatten() {
        return one(half);
    }
    let shape = x.shape();
    one(match (x.to_i64s(), x.to_f64s()) {
        (Some(v), _) => narrow(to, shape, &v, |v| v as f64, |v| v, |v| v != 0)?,
        (None, Some(v)) => narrow(to, shape, &v, |v| v, |v| v as i64, |v| v != 0.0)?,
        (None, None) => return Err(EvalError::Unsupported(format!("`cast` of {}", x.dtype()))),
    })
}

fn narrow<W: Copy>(
    to: DType,
    shape: &[usize],
    v: &[W],
    real: impl Fn(W) -> f64,
    int: impl Fn(W) -> i64,
    truth: impl Fn(W) -> bool,
) -> Result<Data, EvalError> {
    fn map<W: Copy, T: Element + Send + Sync>(shape: &[usize], v: &[W], f: impl Fn(W) -> T) -> Data {
        Data::from_vec(shape, v.iter().map(|&v| f(v)).collect::<Vec<T>>())
    }
    Ok(match to {
        DType::Bool => Data::from_bools(shape, &v.iter().map(|&v| truth(v)).collect::<Vec<_>>()),
        DType::Fp16 => map(shape, v, |v| f16::from_f64(real(v))),
        DType::Fp32 => map(shape, v, |v| real(v) as f32),
        DType::Fp64 => map(shape, v, &real),
        DType::Int8 => map(shape, v, |v| int(v) as i8),
        DType::Int16 => map(shape, v, |v| int(v) as i16),
        DType::Int32 => map(shape, v, |v| int(v) as i32),
        DType::Int64 => map(shape, v, &int),
        DType::UInt8 => map(shape, v, |v| int(v) as u8),
        DType::UInt16 => map(shape, v, |v| int(v) as u16),
        DType::UInt32 => map(shape, v, |v| int(v) as u32),
        other => return Err(EvalError::Unsupported(format!("`cast` to {other}"))),
    })
}
