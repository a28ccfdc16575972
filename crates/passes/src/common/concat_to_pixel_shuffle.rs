//! `common::concat_to_pixel_shuffle`: four tensors interleaved by rows and columns are a `pixel_shuffle`.
//!
//! An interleaving `concat` along the width of two interleaving `concat`s of two tensors along the height, for float
//! tensors of rank 4: the four tensors, interleaved by channel, have the channels that `pixel_shuffle` by 2 spreads
//! over the plane just so. The inner concats must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::private_producer;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::concat_to_pixel_shuffle",
    summary: "Replaces nested interleaving concats by concat and pixel_shuffle",
    options: &[],
    spec: include_str!("../../specs/common/concat_to_pixel_shuffle.mil"),
    make: |_: &Options| Box::new(ConcatToPixelShuffle),
};

struct ConcatToPixelShuffle;

impl Pass for ConcatToPixelShuffle {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// The two tensors that an interleaving concat along this axis of rank 4 takes.
fn pair(f: &Function, concat: OpId, axis: i64) -> Option<[ValueId; 2]> {
    let values: Vec<ValueId> = f.op(concat).args("values").collect();
    let along = f.const_arg(concat, "axis")?.as_i64()?.rem_euclid(4);
    let interleaves = f.const_arg(concat, "interleave").and_then(Const::as_bool)?;
    let pair: [ValueId; 2] = values.try_into().ok()?;
    (interleaves && along == axis && f.ty(pair[0]).rank() == Some(4)).then_some(pair)
}

impl Rewrite for ConcatToPixelShuffle {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Concat]
    }

    fn find(&self, f: &Function, outer: OpId) -> Option<Patch> {
        let [even, odd] = pair(f, outer, 3)?;
        let even = private_producer(f, even, OpKind::Concat, outer)?;
        let odd = private_producer(f, odd, OpKind::Concat, outer)?;
        let ([a, c], [b, d]) = (pair(f, even, 2)?, pair(f, odd, 2)?);
        let out = f.op(outer).output();
        if !f.ty(out).dtype()?.is_float() {
            return None;
        }
        let name = f.value(out).name.clone();
        let mut patch = Patch::before(f, outer, "interleaved_plane");
        let channels = NewPatchOp::new(OpKind::Concat, format!("{name}_channels"))
            .list("values", [a, b, c, d].into_iter().map(Into::into))
            .literal("axis", Const::int32(1))
            .literal("interleave", Const::bool(true));
        let channels = patch.make(channels);
        let new = NewPatchOp::new(OpKind::PixelShuffle, name).input("x", channels);
        let new = patch.make(new.literal("upscale_factor", Const::int32(2)));
        patch.replace_op(f, outer, new);
        patch.erase(even);
        patch.erase(odd);
        Some(patch)
    }
}
