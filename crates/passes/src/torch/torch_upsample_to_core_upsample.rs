//! `torch::torch_upsample_to_core_upsample`: an upsampling to a size is one by factors.
//!
//! `torch_upsample_nearest_neighbor` and `torch_upsample_bilinear` go to a height and width; the ops of ML Programs take factors.
//! These are the quotients of the new and the old extents, which must be known. Anything else is an error that names the op:
//! a program with an op of the dialect cannot be written.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::known::known_value;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "torch::torch_upsample_to_core_upsample",
    summary: "Replaces upsampling to a size by upsampling by factors",
    options: &[],
    spec: include_str!("../../specs/torch/torch_upsample_to_core_upsample.mil"),
    make: |_: &Options| Box::new(UpsampleToCore),
};

const KINDS: &[OpKind] = &[OpKind::TorchUpsampleNearestNeighbor, OpKind::TorchUpsampleBilinear];

struct UpsampleToCore;

impl Pass for UpsampleToCore {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)?;
        for f in program.functions.values().filter(|_| !cx.is_exhausted()) {
            if let Some(op) = f.all_ops().into_iter().find(|&op| KINDS.contains(&f.kind(op))) {
                let what = format!(
                    "`{}` of `{}`: the extents before and after must be known for its factors",
                    f.kind(op),
                    f.value(f.op(op).output()).name
                );
                return Err(PassError::Unsupported { what, op: Some(op) });
            }
        }
        Ok(())
    }
}

impl Rewrite for UpsampleToCore {
    fn roots(&self) -> &'static [OpKind] {
        KINDS
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let x = f.op(op).arg("x")?;
        let shape = f.ty(x).shape()?;
        let factor = |input: &str, axis: usize| {
            let new = known_value(f, f.op(op).arg(input)?)?.as_f64()?;
            let old = shape.get(axis)?.known()? as f64;
            (new > 0.0 && old > 0.0).then(|| Const::fp32((new / old) as f32))
        };
        let (height, width) = (factor("output_height", 2)?, factor("output_width", 3)?);
        let out = f.op(op).output();
        let bilinear = f.kind(op) == OpKind::TorchUpsampleBilinear;
        let kind = if bilinear { OpKind::UpsampleBilinear } else { OpKind::UpsampleNearestNeighbor };
        let new = NewPatchOp::new(kind, f.value(out).name.clone()).input("x", x);
        let new = new.literal("scale_factor_height", height).literal("scale_factor_width", width);
        let new = if bilinear { new.same(f, op, "align_corners") } else { new };
        let mut patch = Patch::before(f, op, "upsample_by_factors");
        let new = patch.make(new);
        patch.replace_op(f, op, new);
        Some(patch)
    }
}
