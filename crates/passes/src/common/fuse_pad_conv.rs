//! `common::fuse_pad_conv`: a `pad` before a `transpose` to a convolution goes after the `transpose`.
//!
//! There it stands right before the convolution, whose runtime can take it up. It applies where every user of the padded
//! value is a `transpose` with a convolution behind it; each gets its own `pad`. Only a `pad` that fills with a constant
//! may come to lie on other axes than the two innermost ones. A padded value that is an output, and one that a nested
//! block uses, stays.
//!
//! A moved `pad` is used by a convolution and cannot move again, and a `pad` before it does not reach one: one look at
//! each `pad` is enough.

use coremill_mil::{Const, Function, OpId, OpKind, Place, Program, Use, ValueId};

use crate::matching::const_ints;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_pad_conv",
    summary: "Moves a pad behind the transpose that stands between it and a convolution",
    options: &[],
    spec: include_str!("../../specs/common/fuse_pad_conv.mil"),
    make: |_: &Options| Box::new(FusePadConv),
};

struct FusePadConv;

impl Pass for FusePadConv {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            let mut pads = f.all_ops();
            pads.retain(|&op| f.op(op).kind == OpKind::Pad);
            for pad in pads {
                cx.visited += 1;
                if cx.is_exhausted() {
                    break;
                }
                if let Some(patch) = moved(f, pad) {
                    patch.apply(f, cx)?;
                    cx.rewrites += 1;
                }
            }
        }
        Ok(())
    }
}

fn moved(f: &Function, pad: OpId) -> Option<Patch> {
    let (x, padded) = (f.op(pad).arg("x")?, f.op(pad).output());
    let mode = f.const_arg(pad, "mode").and_then(Const::as_str);
    let constant = f.op(pad).arg("mode").is_none() || mode == Some("constant");
    let transposes: Vec<OpId> = f.value(padded).uses().iter().map(|u| to_conv(f, pad, u)).collect::<Option<_>>()?;
    let mut patch = Patch::before(f, *transposes.first()?, "pad_before_transpose");
    for transpose in transposes {
        let transposed = f.op(transpose).output();
        let amounts = permuted(&const_ints(f, pad, "pad")?, &const_ints(f, transpose, "perm")?, constant)?;
        let name = f.value(transposed).name.clone();
        patch.move_to(Place::Before(transpose));
        let inner = NewPatchOp::new(OpKind::Transpose, format!("{name}_unpadded")).input("x", x);
        let inner = patch.make(inner.same(f, transpose, "perm"));
        let outer = NewPatchOp::new(OpKind::Pad, name)
            .input("x", inner)
            .literal("pad", Const::int32s(&amounts))
            .same(f, pad, "mode")
            .same(f, pad, "constant_val");
        let outer = patch.make(outer);
        patch.replace_op(f, transpose, outer);
    }
    patch.erase(pad);
    Some(patch)
}

/// The `transpose` that this use of a padded value is, when it is in the block of the `pad` and a convolution uses it.
fn to_conv(f: &Function, pad: OpId, place: &Use) -> Option<OpId> {
    let Use::Op { op, .. } = *place else { return None };
    let is_conv = |u: &Use| match u {
        Use::Op { op, .. } => {
            matches!(f.op(*op).kind, OpKind::Conv | OpKind::ConvTranspose | OpKind::ConvQuantized)
        }
        Use::Output { .. } => false,
    };
    let feeds = |v: ValueId| f.value(v).uses().iter().any(is_conv);
    let fits = f.op(op).kind == OpKind::Transpose && f.block_of(op) == f.block_of(pad) && feeds(f.op(op).output());
    Some(op).filter(|_| fits)
}

/// The amounts of a pad, in the order of axes that `perm` makes. As many axes are named as before, where that is enough.
fn permuted(amounts: &[i64], perm: &[i64], anywhere: bool) -> Option<Vec<i32>> {
    let rank = perm.len();
    let named = amounts.len() / 2;
    let skipped = rank.checked_sub(named)?;
    let mut out = Vec::with_capacity(2 * rank);
    for &axis in perm {
        let axis = usize::try_from(if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis }).ok()?;
        for side in 0..2 {
            let amount = axis.checked_sub(skipped).and_then(|i| amounts.get(2 * i + side));
            out.push(i32::try_from(*amount.unwrap_or(&0)).ok()?);
        }
    }
    let unpadded = out.iter().position(|&n| n != 0).unwrap_or(out.len()) / 2;
    if !anywhere && unpadded + 2 < rank {
        return None;
    }
    out.drain(..2 * skipped.min(unpadded));
    Some(out)
}
