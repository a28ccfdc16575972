//! Convolutions.

use coremill_mil::{Const, OpKind};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("conv1d.default", conv),
    ("conv2d.default", conv),
    ("conv3d.default", conv),
    ("conv1d.padding", conv_padding),
    ("conv2d.padding", conv_padding),
    ("conv3d.padding", conv_padding),
    ("convolution.default", convolution),
    ("conv_transpose1d.default", conv_transpose),
    ("conv_transpose2d.input", conv_transpose),
    ("conv_transpose3d.input", conv_transpose),
];

/// Padding of each spatial axis, both sides alike, or by name.
enum Padding {
    Extents(Vec<i64>),
    Named(String),
}

fn conv(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let padding = n.ints_or("padding", &[0])?;
    forward(n, Padding::Extents(padding))
}

fn conv_padding(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let padding = n.text_or("padding", "valid")?;
    forward(n, Padding::Named(padding))
}

fn convolution(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    if n.bool_or("transposed", false)? { conv_transpose(n) } else { conv(n) }
}

/// One number per spatial axis; a single one holds for all.
fn per_axis(v: &[i64], axes: usize, what: &str) -> Result<Vec<i32>, NodeError> {
    let narrow = |v: i64| i32::try_from(v).map_err(|_| NodeError::unsupported(format!("`{what}` of {v}")));
    match v {
        [one] => Ok(vec![narrow(*one)?; axes]),
        many if many.len() == axes => many.iter().map(|&v| narrow(v)).collect(),
        many => Err(NodeError::unsupported(format!("`{what}` of {} numbers for {axes} axes", many.len()))),
    }
}

fn forward(n: &mut NodeCx<'_, '_>, padding: Padding) -> Result<Lowered, NodeError> {
    let (x, weight, bias) = (n.value("input")?, n.value("weight")?, n.maybe_value("bias")?);
    let axes = n.shape(weight)?.rank().saturating_sub(2);
    let strides = per_axis(&n.ints_or("stride", &[1])?, axes, "stride")?;
    let dilations = per_axis(&n.ints_or("dilation", &[1])?, axes, "dilation")?;
    let groups = n.int_or("groups", 1)? as i32;
    let (pad_type, pad) = match padding {
        Padding::Named(name) if name == "same" || name == "valid" => (name, vec![0; 2 * axes]),
        Padding::Named(name) => return Err(NodeError::unsupported(format!("`padding` `{name}`"))),
        Padding::Extents(p) => {
            let p = per_axis(&p, axes, "padding")?;
            let both: Vec<i32> = p.iter().flat_map(|&p| [p, p]).collect();
            let pad_type = if both.iter().all(|&p| p == 0) { "valid" } else { "custom" };
            (pad_type.to_owned(), both)
        }
    };
    let op = n.op(OpKind::Conv).input("x", x).input("weight", weight).maybe("bias", bias);
    let op = op.literal("strides", Const::int32s(&strides)).literal("pad_type", Const::string(pad_type));
    let op = op.literal("pad", Const::int32s(&pad)).literal("dilations", Const::int32s(&dilations));
    Ok(op.literal("groups", Const::int32(groups)).one()?.into())
}

/// Transposed convolution without output padding; the output's extents follow from the other parameters.
fn conv_transpose(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, weight, bias) = (n.value("input")?, n.value("weight")?, n.maybe_value("bias")?);
    let axes = n.shape(weight)?.rank().saturating_sub(2);
    if n.ints_or("output_padding", &[0])?.iter().any(|&p| p != 0) {
        return Err(NodeError::unsupported("an `output_padding` other than 0"));
    }
    let strides = per_axis(&n.ints_or("stride", &[1])?, axes, "stride")?;
    let dilations = per_axis(&n.ints_or("dilation", &[1])?, axes, "dilation")?;
    let padding = per_axis(&n.ints_or("padding", &[0])?, axes, "padding")?;
    let groups = n.int_or("groups", 1)? as i32;
    let pad: Vec<i32> = padding.iter().flat_map(|&p| [p, p]).collect();
    let pad_type = if pad.iter().all(|&p| p == 0) { "valid" } else { "custom" };
    let op = n.op(OpKind::ConvTranspose).input("x", x).input("weight", weight).maybe("bias", bias);
    let op = op.literal("strides", Const::int32s(&strides)).literal("pad_type", Const::string(pad_type));
    let op = op.literal("pad", Const::int32s(&pad)).literal("dilations", Const::int32s(&dilations));
    Ok(op.literal("groups", Const::int32(groups)).one()?.into())
}
