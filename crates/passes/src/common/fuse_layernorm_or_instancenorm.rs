//! `common::fuse_layernorm_or_instancenorm`: a normalisation spelled out in single ops becomes `layer_norm` or `instance_norm`.
//!
//! With `m` the mean of `x` over constant axes that are kept, and `r = 1 / sqrt(mean((x - m)^2) + epsilon)`, these are
//! known, up to the order of the operands of products and sums:
//!
//! 1. `x * (gamma * r) + (beta - m * (gamma * r))`, also with the variance as `mean(x^2) - m^2` from sums over the count;
//! 2. `(x - m) / pow(..., 0.5) * gamma + beta`;
//! 3. `x * r + (m * r) * -1`;
//! 4. `(x - m) * r`, alone or as `((x - m) * r + beta) * gamma`, over axis 1 of rank 4.
//!
//! It is a `layer_norm` over trailing axes with `gamma` and `beta` of just these extents, or of form 4; and an `instance_norm`
//! over the spatial axes of rank 4, with one number per channel (between two transposes where the channels come last).
//! Both means must be over the same axes, `gamma`, `beta` and `epsilon` be constants, and what is between have no use
//! outside the pattern. Where the numbers of the parts are not those of a normalisation, nothing changes.

mod pattern;

use coremill_mil::{Const, Function, OpId, OpKind, Program};
use coremill_tensor::Data;

use crate::conv_fusion::per_channel;
use crate::matching::float_const;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};
use pattern::{Form, Norm, find_norm};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_layernorm_or_instancenorm",
    summary: "Fuses the parts of a normalisation into layer_norm or instance_norm",
    options: &[],
    spec: include_str!("../../specs/common/fuse_layernorm_or_instancenorm.mil"),
    make: |_: &Options| Box::new(FuseLayernormOrInstancenorm),
};

struct FuseLayernormOrInstancenorm;

impl Pass for FuseLayernormOrInstancenorm {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseLayernormOrInstancenorm {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ReduceMean, OpKind::ReduceSum]
    }

    fn find(&self, f: &Function, mean: OpId) -> Option<Patch> {
        let norm = find_norm(f, mean)?;
        let mut patch = Patch::before(f, norm.end, "spelled_out_norm");
        let fused = layer_norm(f, &norm, &mut patch).or_else(|| instance_norm(f, &norm, &mut patch))?;
        patch.replace_op(f, norm.end, fused);
        norm.inside.iter().rev().for_each(|&op| patch.erase(op));
        Some(patch)
    }
}

/// Axes counted from the end, in order.
fn from_end(norm: &Norm<'_>) -> Vec<i64> {
    let mut axes: Vec<i64> = norm.axes.iter().map(|&a| if a >= 0 { a - norm.rank as i64 } else { a }).collect();
    axes.sort_unstable();
    axes
}

/// Is the constant of just the extents of `x` along the axes?
fn has_extents(f: &Function, norm: &Norm<'_>, c: &Data) -> bool {
    let Some(shape) = f.ty(norm.x).shape() else { return false };
    let extents = norm.axes.iter().map(|&a| shape.get(shape.axis(a)?)?.known());
    let extents: Option<Vec<usize>> = extents.map(|d| d.map(|d| d as usize)).collect();
    extents.is_some_and(|e| e == c.shape())
}

fn layer_norm(f: &Function, norm: &Norm<'_>, patch: &mut Patch) -> Option<PatchValue> {
    let axes = from_end(norm);
    let (gamma, beta) = match norm.form {
        Form::ScaledShift => {
            // Here beta comes before gamma: (n + beta) * gamma is n * gamma + beta * gamma.
            let one_per_channel = |c: &Data| {
                let channels = f.ty(norm.x).shape()?.get(1)?.known()? as usize;
                per_channel(c, norm.rank, 1, channels)
            };
            let (gamma, beta) = (one_per_channel(norm.gamma?)?, one_per_channel(norm.beta?)?);
            let scaled = beta.iter().zip(&gamma).map(|(b, g)| b * g).collect();
            let shape = [gamma.len()];
            (Some(float_const(norm.dtype, &shape, gamma)?), Some(float_const(norm.dtype, &shape, scaled)?))
        }
        Form::Plain => (None, None),
        Form::Affine => {
            let trailing: Vec<i64> = (-(axes.len() as i64)..0).collect();
            let (gamma, beta) = (norm.gamma?, norm.beta?);
            let fits = axes == trailing && norm.axes.is_sorted();
            if !fits || !has_extents(f, norm, gamma) || !has_extents(f, norm, beta) {
                return None;
            }
            (Some(Const::Tensor(gamma.clone())), Some(Const::Tensor(beta.clone())))
        }
        Form::PerInstance => return None,
    };
    let axes: Option<Vec<i32>> = norm.axes.iter().map(|&a| i32::try_from(a).ok()).collect();
    let new = NewPatchOp::new(OpKind::LayerNorm, name(f, norm)).input("x", norm.x);
    let new = new.literal("axes", Const::int32s(&axes?)).maybe_literal("gamma", gamma).maybe_literal("beta", beta);
    Some(patch.make(new.literal("epsilon", float_const(norm.dtype, &[], vec![norm.epsilon])?)))
}

fn instance_norm(f: &Function, norm: &Norm<'_>, patch: &mut Patch) -> Option<PatchValue> {
    if norm.rank != 4 || !matches!(norm.form, Form::Affine | Form::PerInstance) {
        return None;
    }
    let last = match from_end(norm).as_slice() {
        [-2, -1] => false,
        [-3, -2] => true,
        _ => return None,
    };
    let channel = if last { 3 } else { 1 };
    let channels = f.ty(norm.x).shape()?.get(channel)?.known()? as usize;
    let vector = |c: Option<&Data>, missing: f64| {
        let values = c.map_or(Some(vec![missing; channels]), |c| per_channel(c, 4, channel, channels))?;
        float_const(norm.dtype, &[channels], values)
    };
    let (gamma, beta) = (vector(norm.gamma, 1.0)?, vector(norm.beta, 0.0)?);
    let name = name(f, norm);
    let turn = |patch: &mut Patch, x: PatchValue, perm: &[i32], name: String| {
        patch.make(NewPatchOp::new(OpKind::Transpose, name).input("x", x).literal("perm", Const::int32s(perm)))
    };
    let mut x: PatchValue = norm.x.into();
    if last {
        x = turn(patch, x, &[0, 3, 1, 2], format!("{name}_transpose_nhwc_nchw"));
    }
    let inner = if last { format!("{name}_instancenorm") } else { name.clone() };
    let new = NewPatchOp::new(OpKind::InstanceNorm, inner).input("x", x).literal("gamma", gamma).literal("beta", beta);
    let fused = patch.make(new.literal("epsilon", float_const(norm.dtype, &[], vec![norm.epsilon])?));
    Some(if last { turn(patch, fused, &[0, 2, 3, 1], name) } else { fused })
}

fn name(f: &Function, norm: &Norm<'_>) -> String {
    f.value(f.op(norm.end).output()).name.clone()
}
