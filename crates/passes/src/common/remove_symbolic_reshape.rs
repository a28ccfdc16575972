//! `common::remove_symbolic_reshape`: a `reshape` to extents that are symbols gets a constant `shape` with -1.
//!
//! It applies where `shape` is computed from extents known as expressions (so it is no constant, yet says the
//! same for every input), nothing else uses it, and at most one result extent is not a number. A reshape whose
//! `shape` is only known at run time stays.

use coremill_mil::{Const, Function, OpId, OpKind, Program, extents_of};
use coremill_tensor::Dim;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::remove_symbolic_reshape",
    summary: "Gives a reshape to symbolic extents a constant shape with -1",
    options: &[],
    spec: include_str!("../../specs/common/remove_symbolic_reshape.mil"),
    make: |_: &Options| Box::new(RemoveSymbolicReshape),
};

struct RemoveSymbolicReshape;

impl Pass for RemoveSymbolicReshape {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for RemoveSymbolicReshape {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Reshape]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let reshape = f.op(op);
        let shape = reshape.arg("shape")?;
        let maker = f.producer(shape)?;
        let known = f.kind(maker) == OpKind::ConstSymbolic || extents_of(f, shape).is_some();
        if !known || f.const_value(shape).is_some() || f.value(shape).uses().len() > 1 {
            return None;
        }
        let out = reshape.output();
        let extents = f.ty(out).shape()?;
        if extents.iter().filter(|d| !d.is_known()).count() > 1 {
            return None;
        }
        let number = |d: &Dim| d.known().map_or(Some(-1), |n| i32::try_from(n).ok());
        let numbers = extents.iter().map(number).collect::<Option<Vec<i32>>>()?;
        let mut patch = Patch::before(f, op, "shape_with_minus_one");
        let shape = patch.constant(format!("{}x", f.value(shape).name), Const::int32s(&numbers));
        let reshaped =
            NewPatchOp::new(OpKind::Reshape, f.value(out).name.clone()).same(f, op, "x").input("shape", shape);
        let reshaped = patch.make(reshaped);
        patch.replace_op(f, op, reshaped);
        patch.erase(maker);
        Some(patch)
    }
}
