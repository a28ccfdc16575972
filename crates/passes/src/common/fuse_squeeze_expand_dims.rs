//! `common::fuse_squeeze_expand_dims`: an `expand_dims` that undoes a `squeeze` leaves a copy.
//!
//! `expand_dims(squeeze(x))` becomes `identity(x)` where the result has the shape of `x` for certain; neither op moves
//! an element, so the shape is all there is to compare. The squeezed value must have no other use and be no output.

use coremill_mil::{Function, OpId, OpKind, Program};

use crate::matching::{only_user_of_kind, same_type};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_squeeze_expand_dims",
    summary: "Replaces a squeeze and the expand_dims that undoes it by a copy",
    options: &[],
    spec: include_str!("../../specs/common/fuse_squeeze_expand_dims.mil"),
    make: |_: &Options| Box::new(FuseSqueezeExpandDims),
};

struct FuseSqueezeExpandDims;

impl Pass for FuseSqueezeExpandDims {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseSqueezeExpandDims {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Squeeze]
    }

    fn find(&self, f: &Function, squeeze: OpId) -> Option<Patch> {
        let x = f.op(squeeze).arg("x")?;
        let expand = only_user_of_kind(f, f.op(squeeze).output(), OpKind::ExpandDims)?;
        let out = f.op(expand).output();
        if !same_type(f, x, out) {
            return None;
        }
        let mut patch = Patch::before(f, expand, "expand_dims_of_squeeze");
        let copy = patch.make(NewPatchOp::new(OpKind::Identity, f.value(out).name.clone()).input("x", x));
        patch.replace_op(f, expand, copy);
        patch.erase(squeeze);
        Some(patch)
    }
}
