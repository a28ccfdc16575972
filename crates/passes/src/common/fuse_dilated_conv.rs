//! `common::fuse_dilated_conv`: `space_to_batch`, `conv`, `batch_to_space` is a `conv` with dilations.
//!
//! Blocks of `b` make a batch of every `b`-th row, and a convolution of those with dilation `d` and stride 1 is one of
//! all rows with dilation `b * d`. Paddings and crops add up to the padding before and after each axis, that of the inner
//! convolution `b` times. It applies where the sum is none at all (`valid`), or that of the type `same`. The kernel must
//! be of known extent; a weight that is computed at run time takes no dilations and stays. Both values in between must
//! have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::matching::{const_ints, is_compressed, only_user_of_kind, private_producer};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_dilated_conv",
    summary: "Replaces a conv between space_to_batch and batch_to_space by a conv with dilations",
    options: &[],
    spec: include_str!("../../specs/common/fuse_dilated_conv.mil"),
    make: |_: &Options| Box::new(FuseDilatedConv),
};

struct FuseDilatedConv;

impl Pass for FuseDilatedConv {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseDilatedConv {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Conv]
    }

    fn find(&self, f: &Function, conv: OpId) -> Option<Patch> {
        let apart = private_producer(f, f.op(conv).arg("x")?, OpKind::SpaceToBatch, conv)?;
        let together = only_user_of_kind(f, f.op(conv).output(), OpKind::BatchToSpace)?;
        let blocks = const_ints(f, apart, "block_shape")?;
        if const_ints(f, together, "block_shape")? != blocks || !divides(f, apart, &blocks) {
            return None;
        }
        let weight = f.op(conv).arg("weight")?;
        if f.const_value(weight).is_none() && !is_compressed(f, weight) {
            return None;
        }
        let (x, out) = (f.op(apart).arg("x")?, f.op(together).output());
        // Nothing is left of an axis: not something that a convolution gives.
        if f.ty(out).shape()?.iter().skip(2).any(|d| d.known() == Some(0)) {
            return None;
        }
        let fused = fused(f, apart, conv, together, &blocks)?;
        let mut patch = Patch::before(f, conv, "conv_of_blocks");
        let mut new = NewPatchOp::new(OpKind::Conv, f.value(out).name.clone())
            .input("x", x)
            .input("weight", weight)
            .literal("dilations", Const::int32s(&fused.dilations));
        for name in ["bias", "strides", "pad", "groups"] {
            new = new.same(f, conv, name);
        }
        let new = patch.make(match fused.pad_type {
            Some(pad_type) => new.literal("pad_type", Const::string(pad_type)),
            None => new.same(f, conv, "pad_type"),
        });
        patch.replace_op(f, together, new);
        patch.erase(conv);
        patch.erase(apart);
        Some(patch)
    }
}

/// What the convolution of all rows has of its own.
struct Fused {
    dilations: [i32; 2],
    /// `None` where that of the inner convolution is right.
    pad_type: Option<&'static str>,
}

fn fused(f: &Function, apart: OpId, conv: OpId, together: OpId, blocks: &[i64]) -> Option<Fused> {
    let (paddings, crops) = (const_ints(f, apart, "paddings")?, const_ints(f, together, "crops")?);
    let ones = |name| if f.op(conv).arg(name).is_none() { Some(vec![1, 1]) } else { const_ints(f, conv, name) };
    let (strides, inner) = (ones("strides")?, ones("dilations")?);
    if strides != [1, 1] || inner.len() != 2 || blocks.len() != 2 || paddings.len() != 4 || crops.len() != 4 {
        return None;
    }
    let kernel = f.ty(f.op(conv).arg("weight")?).shape()?;
    let mut dilations = [0; 2];
    let (mut valid, mut same, mut unpadded) = (true, true, true);
    for i in 0..2 {
        let taps = i64::try_from(kernel.get(2 + i)?.known()?).ok()?.checked_sub(1)?;
        let reach = taps.checked_mul(inner[i])?;
        let own = own_padding(f, conv, i, reach)?;
        let mut sum = [0; 2];
        for side in 0..2 {
            let grown = own[side].checked_mul(blocks[i])?.checked_add(paddings[2 * i + side])?;
            sum[side] = grown.checked_sub(crops[2 * i + side])?;
        }
        let total = reach.checked_mul(blocks[i])?;
        dilations[i] = i32::try_from(inner[i].checked_mul(blocks[i])?).ok()?;
        valid &= sum == [0, 0];
        same &= sum == [total / 2, total - total / 2];
        unpadded &= own == [0, 0];
    }
    match (valid, same) {
        (true, _) if unpadded => Some(Fused { dilations, pad_type: None }),
        (true, _) => Some(Fused { dilations, pad_type: Some("valid") }),
        (_, true) => Some(Fused { dilations, pad_type: Some("same") }),
        _ => None,
    }
}

/// What the inner convolution pads before and after spatial dimension `i`, whose kernel reaches over `reach` elements.
fn own_padding(f: &Function, conv: OpId, i: usize, reach: i64) -> Option<[i64; 2]> {
    if f.op(conv).arg("pad_type").is_none() {
        return Some([0, 0]);
    }
    match f.const_arg(conv, "pad_type")?.as_str()? {
        "valid" => Some([0, 0]),
        "same" => Some([reach / 2, reach - reach / 2]),
        "same_lower" => Some([reach - reach / 2, reach / 2]),
        "custom" if f.op(conv).arg("pad").is_none() => Some([0, 0]),
        // A negative amount crops, which a row of zeros does not undo.
        "custom" => match const_ints(f, conv, "pad")?.get(2 * i..2 * i + 2)? {
            &[before, after] if before >= 0 && after >= 0 => Some([before, after]),
            _ => None,
        },
        _ => None,
    }
}

/// Do the blocks divide the padded extents, as far as these are known? The op is not defined otherwise.
fn divides(f: &Function, apart: OpId, blocks: &[i64]) -> bool {
    let check = || -> Option<bool> {
        let shape = f.ty(f.op(apart).arg("x")?).shape()?;
        let paddings = const_ints(f, apart, "paddings")?;
        let along = |i: usize| -> Option<bool> {
            let Some(n) = shape.get(2 + i)?.known() else { return Some(true) };
            let by = paddings.get(2 * i)?.checked_add(*paddings.get(2 * i + 1)?)?;
            let padded = i64::try_from(n).ok()?.checked_add(by)?;
            Some(padded.checked_rem(*blocks.get(i)?)? == 0)
        };
        Some(along(0)? && along(1)?)
    };
    check().unwrap_or(false)
}
