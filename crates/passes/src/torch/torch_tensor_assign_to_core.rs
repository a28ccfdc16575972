//! `torch::torch_tensor_assign_to_core`: an assignment to a slice is a `scatter` into the flat tensor.
//!
//! `torch_tensor_assign` replaces a slice of a tensor. The same slice of the tensor's element numbers says where in the flat
//! tensor the new elements go. Works for shapes that are only known at run time.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "torch::torch_tensor_assign_to_core",
    summary: "Replaces the assignment to a slice by scatter",
    options: &[],
    spec: include_str!("../../specs/torch/torch_tensor_assign_to_core.mil"),
    make: |_: &Options| Box::new(AssignToCore),
};

struct AssignToCore;

impl Pass for AssignToCore {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for AssignToCore {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::TorchTensorAssign]
    }

    fn find(&self, f: &Function, assign: OpId) -> Option<Patch> {
        let (x, updates) = (f.op(assign).arg("x")?, f.op(assign).arg("updates")?);
        let out = f.op(assign).output();
        let base = f.value(out).name.clone();
        let mut patch = Patch::before(f, assign, "assignment_to_a_slice");
        let mut make = |kind: OpKind, what: &str, fill: &dyn Fn(NewPatchOp) -> NewPatchOp| {
            patch.make(fill(NewPatchOp::new(kind, format!("{base}_{what}"))))
        };
        let flat = Const::int32s(&[-1]);
        let shape = make(OpKind::Shape, "shape", &|op| op.input("x", x));
        let count = make(OpKind::ReduceProd, "count", &|op| op.input("x", shape));
        let numbers = make(OpKind::Range1d, "numbers", &|op| {
            op.input("end", count).literal("start", Const::int32(0)).literal("step", Const::int32(1))
        });
        // Of the tensor's shape, which inference cannot tell from a computed one.
        let numbers = make(OpKind::Reshape, "places", &|op| {
            let ty =
                f.ty(x).shape().map(|s| vec![coremill_mil::Type::tensor(coremill_tensor::DType::Int32, s.clone())]);
            let op = op.input("x", numbers).input("shape", shape);
            match ty {
                Some(ty) => op.types(ty),
                None => op,
            }
        });
        let slice =
            make(OpKind::SliceByIndex, "slice", &|op| op.input("x", numbers).same_but(f, assign, &["x", "updates"]));
        let reshape = |v: PatchValue| move |op: NewPatchOp| op.input("x", v);
        let places = make(OpKind::Reshape, "flat_places", &|op| reshape(slice)(op).literal("shape", flat.clone()));
        let new =
            make(OpKind::Reshape, "flat_updates", &|op| reshape(updates.into())(op).literal("shape", flat.clone()));
        let old = make(OpKind::Reshape, "flat", &|op| reshape(x.into())(op).literal("shape", flat.clone()));
        let scattered = make(OpKind::Scatter, "scattered", &|op| {
            let op = op.input("data", old).input("indices", places).input("updates", new);
            op.literal("axis", Const::int32(0)).literal("mode", Const::string("update"))
        });
        let back = NewPatchOp::new(OpKind::Reshape, base.clone()).input("x", scattered).input("shape", shape);
        let back = patch.make(back.types(vec![f.ty(out).clone()]));
        patch.replace_op(f, assign, back);
        Some(patch)
    }
}
