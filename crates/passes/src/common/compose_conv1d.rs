//! `common::compose_conv1d`: a `conv` over two dimensions, one of which was put in for it, is a `conv` over one.
//!
//! Two forms are known, both with an axis of extent 1 as height:
//! * `expand_dims`, `conv`, `squeeze` becomes `conv`;
//! * the same on channels that come last, `expand_dims`, `transpose`, `conv`, `transpose`, `squeeze`, becomes
//!   `transpose`, `conv`, `transpose`.
//!
//! The weight gets a `squeeze`, which constant folding takes up. Its kernel must be of height 1, and nothing may be
//! padded above the one row: the row of the result would be made of padding. Every value in between must have no other
//! use and be no output. A compressed weight stays as it is, and so does its convolution.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::{const_ints, is_compressed, only_user_of_kind, private_producer};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::compose_conv1d",
    summary: "Replaces a conv over a height of 1 that was put in and is taken out again by a conv over one dimension",
    options: &[],
    spec: include_str!("../../specs/common/compose_conv1d.mil"),
    make: |_: &Options| Box::new(ComposeConv1d),
};

struct ComposeConv1d;

impl Pass for ComposeConv1d {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for ComposeConv1d {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Conv]
    }

    fn find(&self, f: &Function, conv: OpId) -> Option<Patch> {
        let x = f.op(conv).arg("x").filter(|&x| f.ty(x).rank() == Some(4))?;
        let result = f.op(conv).output();
        if let Some(expand) = private_producer(f, x, OpKind::ExpandDims, conv) {
            let squeeze = only_user_of_kind(f, result, OpKind::Squeeze)?;
            channels_first(f, expand, conv, squeeze)
        } else {
            let before = private_producer(f, x, OpKind::Transpose, conv)?;
            let expand = private_producer(f, f.op(before).arg("x")?, OpKind::ExpandDims, before)?;
            let after = only_user_of_kind(f, result, OpKind::Transpose)?;
            let squeeze = only_user_of_kind(f, f.op(after).output(), OpKind::Squeeze)?;
            channels_last(f, [expand, before, conv, after, squeeze])
        }
    }
}

fn channels_first(f: &Function, expand: OpId, conv: OpId, squeeze: OpId) -> Option<Patch> {
    if !is_axis(f, expand, 2) || !is_axis(f, squeeze, 2) {
        return None;
    }
    let mut patch = Patch::before(f, conv, "conv_of_one_row");
    let composed = compose(f, &mut patch, conv, f.op(expand).arg("x")?.into(), f.op(squeeze).output())?;
    patch.replace_op(f, squeeze, composed);
    patch.erase(conv);
    patch.erase(expand);
    Some(patch)
}

fn channels_last(f: &Function, ops: [OpId; 5]) -> Option<Patch> {
    let [expand, before, conv, after, squeeze] = ops;
    let is_order = |op, wanted: [i64; 4]| {
        const_ints(f, op, "perm").is_some_and(|p| p.iter().map(|&a| if a < 0 { a + 4 } else { a }).eq(wanted))
    };
    let orders = is_order(before, [0, 3, 1, 2]) && is_order(after, [0, 2, 3, 1]);
    if !orders || !is_axis(f, expand, 1) || !is_axis(f, squeeze, 1) {
        return None;
    }
    let mut patch = Patch::before(f, conv, "conv_of_one_row_channels_last");
    let swap = |of: OpId| {
        let name = f.value(f.op(of).output()).name.clone();
        NewPatchOp::new(OpKind::Transpose, name).literal("perm", Const::int32s(&[0, 2, 1]))
    };
    let x = patch.make(swap(before).input("x", f.op(expand).arg("x")?));
    let composed = compose(f, &mut patch, conv, x, f.op(conv).output())?;
    let out = patch.make(swap(squeeze).input("x", composed));
    patch.replace_op(f, squeeze, out);
    for op in [after, conv, before, expand] {
        patch.erase(op);
    }
    Some(patch)
}

/// Is `axis` the one axis that the op puts into a tensor of rank 4, or takes out of it?
fn is_axis(f: &Function, op: OpId, axis: i64) -> bool {
    const_ints(f, op, "axes").is_some_and(|axes| axes == [axis] || axes == [axis - 4])
}

/// `conv` on `x`, which has no height, named like `named`.
fn compose(f: &Function, patch: &mut Patch, conv: OpId, x: PatchValue, named: ValueId) -> Option<PatchValue> {
    let weight = f.op(conv).arg("weight")?;
    let one_row = |v: ValueId| f.ty(v).shape().and_then(|s| s.get(2)?.known()) == Some(1);
    if is_compressed(f, weight) || !one_row(weight) || !one_row(f.op(conv).output()) {
        return None;
    }
    // Padding above would be what the one row reads; padding below is not reached, since there is one row only.
    let pads = f.const_arg(conv, "pad_type").and_then(Const::as_str) == Some("custom");
    let pad = along_width(f, conv, "pad", 2)?;
    if pads && f.op(conv).arg("pad").is_some() && const_ints(f, conv, "pad")?.first() != Some(&0) {
        return None;
    }
    let strides = along_width(f, conv, "strides", 1)?;
    let dilations = along_width(f, conv, "dilations", 1)?;
    let squeezed = NewPatchOp::new(OpKind::Squeeze, format!("{}_squeezed", f.value(weight).name))
        .input("x", weight)
        .literal("axes", Const::int32s(&[-2]));
    let weight = patch.make(squeezed);
    let new = NewPatchOp::new(OpKind::Conv, f.value(named).name.clone())
        .input("x", x)
        .input("weight", weight)
        .same(f, conv, "bias")
        .maybe_literal("strides", strides)
        .same(f, conv, "pad_type")
        .maybe_literal("pad", pad)
        .maybe_literal("dilations", dilations)
        .same(f, conv, "groups");
    Some(patch.make(new))
}

/// What a parameter of two dimensions, `each` numbers for one, has for the second; `Some(None)` where it is left out.
fn along_width(f: &Function, conv: OpId, name: &str, each: usize) -> Option<Option<Const>> {
    if f.op(conv).arg(name).is_none() {
        return Some(None);
    }
    let given = const_ints(f, conv, name)?;
    // Files carry a `pad` of any length where `pad_type` does not ask for it.
    let width = given.get(each..).filter(|w| w.len() == each);
    let width = width.map(|w| w.iter().map(|&n| i32::try_from(n).ok()).collect::<Option<Vec<i32>>>());
    match width {
        Some(width) => Some(Some(Const::int32s(&width?))),
        None => Some(None),
    }
}
