//! `common::add_conv_transpose_output_shape`: a `conv_transpose` says the shape that it gives.
//!
//! Where all extents of the result are known and `output_shape` is not given, it is added. Nothing is computed in
//! another way; what is gained is that later passes and the runtime need not infer it.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::add_conv_transpose_output_shape",
    summary: "Adds the output shape to a conv_transpose, where it is known",
    options: &[],
    spec: include_str!("../../specs/common/add_conv_transpose_output_shape.mil"),
    make: |_: &Options| Box::new(AddConvTransposeOutputShape),
};

struct AddConvTransposeOutputShape;

impl Pass for AddConvTransposeOutputShape {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for AddConvTransposeOutputShape {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ConvTranspose]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let out = f.op(op).output();
        if f.op(op).arg("output_shape").is_some() {
            return None;
        }
        let extents = f.ty(out).shape()?.to_known()?;
        let shape: Option<Vec<i32>> = extents.into_iter().map(|d| i32::try_from(d).ok()).collect();
        let new = NewPatchOp::new(OpKind::ConvTranspose, f.value(out).name.clone()).same_but(f, op, &[]);
        let mut patch = Patch::before(f, op, "add_output_shape");
        let new = patch.make(new.literal("output_shape", Const::int32s(&shape?)));
        patch.replace_op(f, op, new);
        Some(patch)
    }
}
