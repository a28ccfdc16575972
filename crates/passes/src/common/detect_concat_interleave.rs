//! `common::detect_concat_interleave`: a `concat` whose channels are shuffled afterwards is an interleaving one.
//!
//! `n` tensors `[B, C, H, W]`, all of the same known shape, joined along the channels, reshaped to `[B, n, C, H, W]`,
//! transposed by `[0, 2, 1, 3, 4]` and reshaped to `[B, n * C, H, W]`: the channels alternate, which `concat` does by
//! itself with `interleave`. What is between must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::conv_fusion::follower;
use crate::matching::const_ints;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::detect_concat_interleave",
    summary: "Replaces a concat with shuffled channels by an interleaving one",
    options: &[],
    spec: include_str!("../../specs/common/detect_concat_interleave.mil"),
    make: |_: &Options| Box::new(DetectConcatInterleave),
};

struct DetectConcatInterleave;

impl Pass for DetectConcatInterleave {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

fn extents(f: &Function, v: ValueId) -> Option<Vec<usize>> {
    f.ty(v).shape()?.to_known()
}

impl Rewrite for DetectConcatInterleave {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Concat]
    }

    fn find(&self, f: &Function, concat: OpId) -> Option<Patch> {
        let values: Vec<ValueId> = f.op(concat).args("values").collect();
        let shape = extents(f, *values.first()?)?;
        let [b, c, h, w] = shape[..] else { return None };
        let n = values.len();
        let along_channels = f.const_arg(concat, "axis")?.as_i64()?.rem_euclid(4) == 1;
        let interleaves =
            f.op(concat).arg("interleave").is_some() && f.const_arg(concat, "interleave").and_then(Const::as_bool)?;
        let alike = values.iter().all(|&v| extents(f, v).as_ref() == Some(&shape));
        if !along_channels || interleaves || !alike {
            return None;
        }
        let apart = follower(f, concat, &[OpKind::Reshape])?;
        let turn = follower(f, apart, &[OpKind::Transpose])?;
        let join = follower(f, turn, &[OpKind::Reshape])?;
        let out = f.op(join).output();
        let fits = extents(f, f.op(apart).output())? == [b, n, c, h, w]
            && const_ints(f, turn, "perm")? == [0, 2, 1, 3, 4]
            && extents(f, out)? == [b, c.checked_mul(n)?, h, w];
        if !fits {
            return None;
        }
        let mut patch = Patch::before(f, join, "shuffled_channels");
        let new = NewPatchOp::new(OpKind::Concat, f.value(out).name.clone()).same_but(f, concat, &["interleave"]);
        let new = patch.make(new.literal("interleave", Const::bool(true)));
        patch.replace_op(f, join, new);
        [turn, apart, concat].into_iter().for_each(|op| patch.erase(op));
        Some(patch)
    }
}
