//! `common::fuse_onehot_matmul_to_gather`: a product of one-hot vectors with a constant matrix picks rows of it.
//!
//! `matmul(one_hot(indices), w)` with the ones along the last axis, ones and zeros as values, and a constant `w` of rank 2
//! becomes `gather(w, indices)`. From ios17 on, where `gather` takes no negative indices, these are counted from the end.
//! For indices out of range, which `one_hot` turns into zeros, a gather has no such answer: like coremltools, the pass
//! takes it that there are none. The one-hot vectors must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Opset, Program};

use crate::index_ops::IndexOps;
use crate::matching::{only_user_of_kind, scalar};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_onehot_matmul_to_gather",
    summary: "Replaces a matmul of one-hot vectors with a constant by gather",
    options: &[],
    spec: include_str!("../../specs/common/fuse_onehot_matmul_to_gather.mil"),
    make: |_: &Options| Box::new(FuseOnehotMatmulToGather),
};

struct FuseOnehotMatmulToGather;

impl Pass for FuseOnehotMatmulToGather {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// A scalar parameter, or what holds where it is not given.
fn value(f: &Function, op: OpId, name: &str, missing: f64) -> Option<f64> {
    f.op(op).arg(name).map_or(Some(missing), |v| scalar(f, v))
}

fn is_set(f: &Function, op: OpId, name: &str) -> bool {
    f.op(op).arg(name).is_some() && f.const_arg(op, name).and_then(Const::as_bool) != Some(false)
}

impl Rewrite for FuseOnehotMatmulToGather {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::OneHot]
    }

    fn find(&self, f: &Function, one_hot: OpId) -> Option<Patch> {
        let indices = f.op(one_hot).arg("indices")?;
        let rank = f.ty(indices).rank()? as f64;
        let axis = value(f, one_hot, "axis", -1.0)?;
        let plain = value(f, one_hot, "on_value", 1.0)? == 1.0 && value(f, one_hot, "off_value", 0.0)? == 0.0;
        let matmul = only_user_of_kind(f, f.op(one_hot).output(), OpKind::Matmul)?;
        let weight = f.op(matmul).arg("y")?;
        let is_left = f.op(matmul).arg("x") == Some(f.op(one_hot).output()) && weight != f.op(one_hot).output();
        let w = f.const_value(weight)?.as_data().filter(|w| w.rank() == 2)?;
        let size = value(f, one_hot, "one_hot_vector_size", -1.0)?;
        if !(axis == -1.0 || axis == rank) || !plain || !is_left || size != w.shape()[0] as f64 {
            return None;
        }
        if is_set(f, matmul, "transpose_x") || is_set(f, matmul, "transpose_y") {
            return None;
        }
        let out = f.op(matmul).output();
        let name = f.value(out).name.clone();
        let mut patch = Patch::before(f, matmul, "one_hot_times_rows");
        let mut at = indices.into();
        if f.opset >= Opset::Ios17 {
            let mut m = IndexOps { patch: &mut patch, base: &name };
            let positive = m.is_positive(at);
            let shape = m.make(OpKind::Shape, "shape", |op| op.input("x", weight));
            let rows = m.at(shape, 0);
            at = m.guarded(at, positive, rows);
        }
        let gather = NewPatchOp::new(OpKind::Gather, name).input("x", weight).input("indices", at);
        let gather = patch.make(gather.literal("axis", Const::int32(0)));
        patch.replace_op(f, matmul, gather);
        patch.erase(one_hot);
        Some(patch)
    }
}
