//! `common::canonicalize_quantized_lut_pattern`: the entries of a table are scaled before they are looked up.
//!
//! A `constexpr_blockwise_shift_scale` of what `constexpr_lut_to_dense` alone gives it from a table of integers becomes the
//! look-up in a scaled table: the same numbers, with far fewer of them to scale. Scale and offset must be constants with no
//! more extents than the table has groups. What is between must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program};
use coremill_tensor::Data;

use crate::conv_fusion::follower;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::canonicalize_quantized_lut_pattern",
    summary: "Scales the table of a quantised look-up instead of what is looked up",
    options: &[],
    spec: include_str!("../../specs/common/canonicalize_quantized_lut_pattern.mil"),
    make: |_: &Options| Box::new(CanonicalizeQuantizedLut),
};

struct CanonicalizeQuantizedLut;

impl Pass for CanonicalizeQuantizedLut {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for CanonicalizeQuantizedLut {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ConstexprLutToDense]
    }

    fn find(&self, f: &Function, lookup: OpId) -> Option<Patch> {
        let scaled = follower(f, lookup, &[OpKind::ConstexprBlockwiseShiftScale])?;
        if f.op(scaled).arg("data") != Some(f.op(lookup).output()) {
            return None;
        }
        let table = f.const_arg(lookup, "lut")?.as_data()?;
        let scale = f.const_arg(scaled, "scale")?.as_data()?;
        let offset = match f.op(scaled).arg("offset") {
            Some(_) => Some(f.const_arg(scaled, "offset")?.as_data()?),
            None => None,
        };
        let of_table = |d: &Data| d.reshaped(&[d.shape(), &[1, 1]].concat()).map(Const::Tensor);
        let groups = table.shape().get(..table.rank().checked_sub(2)?)?;
        let fits = scale.rank() == groups.len()
            && scale.shape().iter().zip(groups).all(|(&s, &g)| s > 0 && s <= g && g % s == 0)
            && offset.is_none_or(|o| o.shape() == scale.shape());
        if !fits {
            return None;
        }
        let name = f.value(f.op(scaled).output()).name.clone();
        let mut patch = Patch::before(f, scaled, "scaled_table");
        let new = NewPatchOp::new(OpKind::ConstexprBlockwiseShiftScale, format!("{name}_lut"));
        let new = new.same_as(f, lookup, "lut", "data").literal("scale", of_table(scale)?);
        let table = match offset {
            Some(o) => patch.make(new.literal("offset", of_table(o)?)),
            None => patch.make(new),
        };
        let new = NewPatchOp::new(OpKind::ConstexprLutToDense, name).same_but(f, lookup, &["lut"]);
        let new = patch.make(new.input("lut", table));
        patch.replace_op(f, scaled, new);
        patch.erase(lookup);
        Some(patch)
    }
}
