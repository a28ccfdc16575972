//! `common::reorder_lut_per_channel_scale`: the scale of a palettised weight moves behind the op that reads the weight.
//!
//! Where `constexpr_blockwise_shift_scale` alone scales a table's floats, one number for each output channel, and only `linear`,
//! `conv` and `matmul` (as `y`) read the result, these read the unscaled weight, and their result is multiplied. A constant
//! bias is divided before. The Neural Engine then runs the look-up on its own. The scales must be constants other
//! than zero along the output channels, with no offset but zeros, and the bias must stay within its dtype's normal
//! numbers; otherwise all stays.

use coremill_mil::{Const, Function, OpId, OpKind, Place, Program, ValueId};
use coremill_tensor::{DType, Data, f16};

use crate::conv_fusion::follower;
use crate::matching::float_const;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::reorder_lut_per_channel_scale",
    summary: "Moves the scale per channel of a palettised weight behind the op that reads it",
    options: &[],
    spec: include_str!("../../specs/common/reorder_lut_per_channel_scale.mil"),
    make: |_: &Options| Box::new(ReorderLutScale),
};

struct ReorderLutScale;

impl Pass for ReorderLutScale {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// How a reader takes the weight: the parameter, the axis of output channels in the weight and in the result's shape.
struct Reader {
    op: OpId,
    weight: &'static str,
    channels: usize,
    /// The shape that the scales have against the result.
    scale_shape: Vec<usize>,
}

fn reader(f: &Function, op: OpId, scaled: ValueId, n: usize) -> Option<Reader> {
    let rank = f.ty(f.op(op).output()).rank()?;
    let last = |rank: usize| [vec![1; rank.saturating_sub(1)], vec![n]].concat();
    let is_matrix = f.ty(scaled).rank() == Some(2);
    let (weight, channels, scale_shape) = match f.kind(op) {
        OpKind::Linear if is_matrix => ("weight", 0, last(rank)),
        OpKind::Conv => {
            let spatial = rank.checked_sub(2)?;
            ("weight", 0, [vec![1, n], vec![1; spatial]].concat())
        }
        OpKind::Matmul if is_matrix => {
            let transposed = match f.op(op).arg("transpose_y") {
                Some(_) => f.const_arg(op, "transpose_y")?.as_bool()?,
                None => false,
            };
            ("y", usize::from(!transposed), last(rank))
        }
        _ => return None,
    };
    // It must be read as the weight, and as nothing else.
    let once = f.op(op).operands().filter(|&v| v == scaled).count() == 1;
    (once && f.op(op).arg(weight) == Some(scaled)).then_some(Reader { op, weight, channels, scale_shape })
}

impl Rewrite for ReorderLutScale {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ConstexprLutToDense]
    }

    fn find(&self, f: &Function, lookup: OpId) -> Option<Patch> {
        let scale_op = follower(f, lookup, &[OpKind::ConstexprBlockwiseShiftScale])?;
        let (dense, scaled) = (f.op(lookup).output(), f.op(scale_op).output());
        let scale = f.const_arg(scale_op, "scale")?.as_data()?;
        let values = scale.to_f64s()?;
        let floats = f.ty(dense).dtype()?.is_float() && f.op(scale_op).arg("data") == Some(dense);
        let shifts = f.op(scale_op).arg("offset").is_some_and(|v| !is_zero(f, v));
        let plain = !shifts && values.iter().all(|v| v.is_finite() && *v != 0.0);
        let users = f.users(scaled);
        if !floats || !plain || users.is_empty() || f.is_block_output(scaled) {
            return None;
        }
        let readers: Vec<Reader> = users.iter().map(|&u| reader(f, u, scaled, values.len())).collect::<Option<_>>()?;
        let along = |axis: usize| scale.shape().iter().enumerate().all(|(d, &n)| d == axis || n == 1);
        let whole = |axis: usize| {
            let weight = f.ty(dense).shape().and_then(|s| s.get(axis)?.known());
            scale.shape().get(axis).is_some_and(|&n| weight == Some(n as u64) || n == 1)
        };
        if !readers.iter().all(|r| along(r.channels) && whole(r.channels)) {
            return None;
        }
        let mut patch = Patch::before(f, readers.last()?.op, "scale_behind");
        for r in &readers {
            patch.move_to(Place::Before(r.op));
            move_scale(f, &mut patch, r, dense, scale)?;
        }
        patch.erase(scale_op);
        Some(patch)
    }
}

fn move_scale(f: &Function, patch: &mut Patch, r: &Reader, dense: ValueId, scale: &Data) -> Option<()> {
    let out = f.op(r.op).output();
    let dtype: DType = f.ty(out).dtype()?;
    let name = f.value(out).name.clone();
    let values = scale.to_f64s()?;
    let mut new = NewPatchOp::new(f.kind(r.op), format!("{name}_unscaled"));
    new = new.same_but(f, r.op, &[r.weight, "bias"]).input(r.weight, dense);
    if f.op(r.op).arg("bias").is_some() {
        let bias = f.const_arg(r.op, "bias")?.as_data()?;
        let of = |i: usize| values[if values.len() == 1 { 0 } else { i }];
        if values.len() != 1 && values.len() != bias.len() {
            return None;
        }
        let divided: Vec<f64> = bias.to_f64s()?.into_iter().enumerate().map(|(i, b)| b / of(i)).collect();
        if !divided.iter().all(|&b| is_exact_enough(bias.dtype(), b)) {
            return None;
        }
        new = new.literal("bias", float_const(bias.dtype(), bias.shape(), divided)?);
    }
    let unscaled = patch.make(new);
    let scales: Const = float_const(dtype, &r.scale_shape, values)?;
    let product = patch.make(NewPatchOp::new(OpKind::Mul, name).input("x", unscaled).literal("y", scales));
    patch.replace_op(f, r.op, product);
    Some(())
}

/// Does the dtype hold the number with all its digits: is it zero, or neither too large nor too small?
fn is_exact_enough(dtype: DType, v: f64) -> bool {
    let (least, most) = match dtype {
        DType::Fp16 => (f16::MIN_POSITIVE.to_f64(), f16::MAX.to_f64()),
        _ => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
    };
    v == 0.0 || (least..=most).contains(&v.abs())
}

/// Is this a constant of zeros only?
fn is_zero(f: &Function, v: ValueId) -> bool {
    let values = f.const_value(v).and_then(|c| c.as_data()?.to_f64s());
    values.is_some_and(|v| v.iter().all(|&v| v == 0.0))
}
