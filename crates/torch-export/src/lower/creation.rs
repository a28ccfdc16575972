//! Tensors out of nothing: what is known at compile time becomes a constant at once.

use coremill_mil::Const;
use coremill_tensor::{DType, Data, f16};

use super::node::{Lowered, NodeCx, NodeError, Scalar};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("arange.default", arange),
    ("arange.start", arange),
    ("arange.start_step", arange),
    ("full.default", |n| filled(n, None)),
    ("zeros.default", |n| filled(n, Some(0.0))),
    ("ones.default", |n| filled(n, Some(1.0))),
    ("full_like.default", |n| filled(n, None)),
    ("zeros_like.default", |n| filled(n, Some(0.0))),
    ("ones_like.default", |n| filled(n, Some(1.0))),
    ("scalar_tensor.default", scalar_tensor),
];

/// More elements than any table a model builds, fewer than a hostile file could ask for.
const MAX_ELEMENTS: f64 = (1u64 << 26) as f64;

fn arange(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let number = |n: &NodeCx<'_, '_>, name, or| n.maybe_scalar(name).map(|s| s.unwrap_or(or));
    let start = number(n, "start", Scalar::Int(0))?;
    let end = n.maybe_scalar("end")?.ok_or(NodeError::Missing("end"))?;
    let step = number(n, "step", Scalar::Int(1))?;
    let (a, b, s) = (start.as_f64(), end.as_f64(), step.as_f64());
    let count = ((b - a) / s).ceil().max(0.0);
    if s == 0.0 || count.is_nan() || count > MAX_ELEMENTS {
        return Err(NodeError::unsupported("a range without end, or of too many elements"));
    }
    let values: Vec<f64> = (0..count as u64).map(|i| a + i as f64 * s).collect();
    let dtype = n.result_dtype()?;
    let data = narrow(dtype, &[values.len()], &values)?;
    Ok(n.constant_result(data).into())
}

fn filled(n: &mut NodeCx<'_, '_>, value: Option<f64>) -> Result<Lowered, NodeError> {
    let value = match value {
        Some(v) => v,
        None => n.maybe_scalar("fill_value")?.ok_or(NodeError::Missing("fill_value"))?.as_f64(),
    };
    let shape: Vec<usize> = n.result_extents()?.into_iter().map(|d| d.max(0) as usize).collect();
    let count = shape.iter().try_fold(1usize, |c, &d| c.checked_mul(d)).filter(|&c| c as f64 <= MAX_ELEMENTS);
    let count = count.ok_or_else(|| NodeError::unsupported("too many elements"))?;
    let dtype = n.result_dtype()?;
    let data = narrow(dtype, &shape, &vec![value; count])?;
    Ok(n.constant_result(data).into())
}

fn scalar_tensor(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let value = n.maybe_scalar("s")?.ok_or(NodeError::Missing("s"))?;
    let dtype = n.result_dtype()?;
    let data = narrow(dtype, &[], &[value.as_f64()])?;
    Ok(n.constant_result(data).into())
}

/// Numbers in a dtype of MIL programs.
pub(super) fn narrow(dtype: DType, shape: &[usize], v: &[f64]) -> Result<Const, NodeError> {
    Ok(Const::Tensor(match dtype {
        DType::Fp16 => Data::from_vec(shape, v.iter().map(|&v| f16::from_f64(v)).collect::<Vec<_>>()),
        DType::Fp32 => Data::from_vec(shape, v.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        DType::Int32 => Data::from_vec(shape, v.iter().map(|&v| v as i32).collect::<Vec<_>>()),
        DType::Bool => Data::from_bools(shape, &v.iter().map(|&v| v != 0.0).collect::<Vec<_>>()),
        other => return Err(NodeError::unsupported(format!("a constant of {other}"))),
    }))
}
