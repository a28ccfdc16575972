//! Pooling.

use coremill_mil::{Const, OpKind};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("max_pool1d.default", max_pool),
    ("max_pool2d.default", max_pool),
    ("max_pool3d.default", max_pool),
    ("max_pool2d_with_indices.default", max_pool),
    ("avg_pool1d.default", avg_pool),
    ("avg_pool2d.default", avg_pool),
    ("avg_pool3d.default", avg_pool),
    ("adaptive_avg_pool2d.default", adaptive_avg_pool2d),
    ("_adaptive_avg_pool2d.default", adaptive_avg_pool2d),
];

struct Window {
    kernel: Vec<i32>,
    strides: Vec<i32>,
    pad: Vec<i32>,
    ceil_mode: bool,
}

/// Kernel, stride (the kernel's when not given) and padding of each spatial axis.
fn window(n: &mut NodeCx<'_, '_>) -> Result<Window, NodeError> {
    let narrow = |v: &[i64], axes: usize| -> Result<Vec<i32>, NodeError> {
        let v = if v.len() == 1 { vec![v[0]; axes] } else { v.to_vec() };
        let narrow = |v: i64| i32::try_from(v).map_err(|_| NodeError::unsupported(format!("an extent of {v}")));
        v.into_iter().map(narrow).collect()
    };
    let kernel = n.ints("kernel_size")?;
    let axes = n.shape_of("self")?.rank().saturating_sub(2);
    if axes == 0 {
        return Err(NodeError::unsupported("pooling without a batch axis: unsqueeze before the call"));
    }
    let kernel = narrow(&kernel, axes)?;
    let stride = n.ints_or("stride", &[])?;
    let strides = if stride.is_empty() { kernel.clone() } else { narrow(&stride, axes)? };
    let pad = narrow(&n.ints_or("padding", &[0])?, axes)?;
    if [kernel.len(), strides.len(), pad.len()].iter().any(|&l| l != axes) {
        return Err(NodeError::unsupported("a window of another rank than the input's"));
    }
    let pad = pad.into_iter().flat_map(|p| [p, p]).collect();
    Ok(Window { kernel, strides, pad, ceil_mode: n.bool_or("ceil_mode", false)? })
}

fn max_pool(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    if n.ints_or("dilation", &[1])?.iter().any(|&d| d != 1) {
        return Err(NodeError::unsupported("a `dilation` other than 1"));
    }
    let w = window(n)?;
    let op = n.op(OpKind::MaxPool).input("x", x).literal("kernel_sizes", Const::int32s(&w.kernel));
    let op = op.literal("strides", Const::int32s(&w.strides)).literal("pad_type", Const::string("custom"));
    Ok(op.literal("pad", Const::int32s(&w.pad)).literal("ceil_mode", Const::bool(w.ceil_mode)).one()?.into())
}

fn avg_pool(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    if n.maybe_int("divisor_override")?.is_some() {
        return Err(NodeError::unsupported("a `divisor_override`"));
    }
    let w = window(n)?;
    let padded = w.pad.iter().any(|&p| p != 0);
    let counts_padding = n.bool_or("count_include_pad", true)?;
    if w.ceil_mode && counts_padding && padded {
        // Torch divides the windows that reach past the padding by what they cover; MIL by the whole kernel.
        return Err(NodeError::unsupported("`ceil_mode` together with counted padding"));
    }
    let op = n.op(OpKind::AvgPool).input("x", x).literal("kernel_sizes", Const::int32s(&w.kernel));
    let op = op.literal("strides", Const::int32s(&w.strides)).literal("pad_type", Const::string("custom"));
    let op = op.literal("pad", Const::int32s(&w.pad));
    let op = op.literal("exclude_padding_from_average", Const::bool(!counts_padding));
    Ok(op.literal("ceil_mode", Const::bool(w.ceil_mode)).one()?.into())
}

/// To one element: a mean. To extents that divide the input's: windows without overlap.
fn adaptive_avg_pool2d(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let out = n.ints("output_size")?;
    if out == [1, 1] {
        let op = n.op(OpKind::ReduceMean).input("x", x).literal("axes", Const::int32s(&[-2, -1]));
        return Ok(op.literal("keep_dims", Const::bool(true)).one()?.into());
    }
    let extents = [n.known_extent(x, -2)?, n.known_extent(x, -1)?];
    let mut kernel = Vec::new();
    for (&extent, &out) in extents.iter().zip(&out) {
        let out = usize::try_from(out).ok().filter(|&o| o > 0 && extent.is_multiple_of(o)).ok_or_else(|| {
            NodeError::unsupported(format!("an output extent of {out}, which does not divide the input's {extent}"))
        })?;
        kernel.push((extent / out) as i32);
    }
    let op = n.op(OpKind::AvgPool).input("x", x).literal("kernel_sizes", Const::int32s(&kernel));
    let op = op.literal("strides", Const::int32s(&kernel)).literal("pad_type", Const::string("valid"));
    Ok(op.literal("pad", Const::int32s(&[0; 4])).one()?.into())
}
