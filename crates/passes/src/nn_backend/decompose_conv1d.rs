//! `nn_backend::decompose_conv1d`: a `conv` over one dimension becomes a `conv` over two, the first of extent 1.
//!
//! `expand_dims` puts the axis in, before the last one, for `x` and for the weight, and `squeeze` takes it out of the
//! result; constant folding takes up the weight's. `common::compose_conv1d` is the way back. A compressed weight stays
//! as it is, and so does its convolution.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::matching::{const_ints, is_compressed};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "nn_backend::decompose_conv1d",
    summary: "Replaces a conv over one dimension by a conv over two, the first of extent 1",
    options: &[],
    spec: include_str!("../../specs/nn_backend/decompose_conv1d.mil"),
    make: |_: &Options| Box::new(DecomposeConv1d),
};

struct DecomposeConv1d;

impl Pass for DecomposeConv1d {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for DecomposeConv1d {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Conv]
    }

    fn find(&self, f: &Function, conv: OpId) -> Option<Patch> {
        let x = f.op(conv).arg("x").filter(|&x| f.ty(x).rank() == Some(3))?;
        let weight = f.op(conv).arg("weight").filter(|&w| !is_compressed(f, w))?;
        let strides = with_height(f, conv, "strides", &[1], 1)?;
        let pad = with_height(f, conv, "pad", &[0, 0], 2)?;
        let dilations = with_height(f, conv, "dilations", &[1], 1)?;
        let mut patch = Patch::before(f, conv, "conv_of_rank_3");
        let axes = || Const::int32s(&[-2]);
        let expanded = |patch: &mut Patch, v| -> PatchValue {
            let name = format!("{}_expanded", f.value(v).name);
            patch.make(NewPatchOp::new(OpKind::ExpandDims, name).input("x", v).literal("axes", axes()))
        };
        let (x, weight) = (expanded(&mut patch, x), expanded(&mut patch, weight));
        let name = &f.value(f.op(conv).output()).name;
        let new = NewPatchOp::new(OpKind::Conv, format!("{name}_expanded"))
            .input("x", x)
            .input("weight", weight)
            .same(f, conv, "bias")
            .maybe_literal("strides", strides)
            .same(f, conv, "pad_type")
            .maybe_literal("pad", pad)
            .maybe_literal("dilations", dilations)
            .same(f, conv, "groups");
        let new = patch.make(new);
        let squeeze = NewPatchOp::new(OpKind::Squeeze, name.clone()).input("x", new).literal("axes", axes());
        let squeezed = patch.make(squeeze);
        patch.replace_op(f, conv, squeezed);
        Some(patch)
    }
}

/// A parameter of one dimension, with `height` put before it; `Some(None)` where it is left out.
fn with_height(f: &Function, conv: OpId, name: &str, height: &[i32], count: usize) -> Option<Option<Const>> {
    if f.op(conv).arg(name).is_none() {
        return Some(None);
    }
    let given = const_ints(f, conv, name)?;
    // Files carry a `pad` of any length where `pad_type` does not ask for it.
    if given.len() != count {
        return Some(None);
    }
    let mut both = height.to_vec();
    for n in given {
        both.push(i32::try_from(n).ok()?);
    }
    Some(Some(Const::int32s(&both)))
}
