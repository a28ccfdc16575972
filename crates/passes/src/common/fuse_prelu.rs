//! `common::fuse_prelu`: `relu(x) + a * relu(-x)`, with one `a` per channel, is `prelu(x)` with the slopes `-a`.
//!
//! `x` is of rank 4, and `a` of shape `[c, 1, 1]` or `[1, c, 1, 1]`. Where the channels come last, behind a `transpose` of
//! the order `[0, 2, 3, 1]` that nothing else uses, `a` is of shape `[c]`, or that after axes of 1, and the `transpose`
//! comes after the `prelu`. There must be as many slopes as `x` has channels for certain, and they must be finite (an
//! infinite one times the zeros of `relu` is no number). Every value in between must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, Use, ValueId};
use coremill_tensor::Data;

use crate::matching::{const_ints, float_const, operand_beside, private_producer, scalar};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_prelu",
    summary: "Replaces relu(x) + a * relu(-x) by prelu(x)",
    options: &[],
    spec: include_str!("../../specs/common/fuse_prelu.mil"),
    make: |_: &Options| Box::new(FusePrelu),
};

struct FusePrelu;

impl Pass for FusePrelu {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FusePrelu {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Add]
    }

    fn find(&self, f: &Function, add: OpId) -> Option<Patch> {
        let (p, q) = (f.op(add).arg("x")?, f.op(add).arg("y")?);
        let found = matched(f, add, p, q).or_else(|| matched(f, add, q, p))?;
        let out = f.op(add).output();
        if f.ty(found.x).rank() != Some(4) || f.ty(out).rank() != Some(4) {
            return None;
        }
        let name = f.value(out).name.clone();
        let mut patch = Patch::before(f, add, "relus_of_both_signs");
        let mut gone = found.ops.to_vec();
        let new = if let Some(alpha) = found.slopes(f, found.x, 3) {
            patch.make(NewPatchOp::new(OpKind::Prelu, name).input("x", found.x).literal("alpha", alpha))
        } else {
            let transpose = found.behind_transpose(f)?;
            let source = f.op(transpose).arg("x")?;
            let alpha = found.slopes(f, source, 1)?;
            gone.push(transpose);
            let prelu = NewPatchOp::new(OpKind::Prelu, format!("{name}_prelu")).input("x", source);
            let prelu = patch.make(prelu.literal("alpha", alpha));
            patch.make(NewPatchOp::new(OpKind::Transpose, name).input("x", prelu).same(f, transpose, "perm"))
        };
        patch.replace_op(f, add, new);
        gone.into_iter().for_each(|op| patch.erase(op));
        Some(patch)
    }
}

/// `relu(x) + a * relu(-x)` below its sum.
struct Match<'f> {
    /// Each op before those that it uses.
    ops: [OpId; 4],
    x: ValueId,
    a: &'f Data,
}

/// `positive + negative`, where `positive` is `relu(x)` and `negative` is `a * relu(-1 * x)`.
fn matched(f: &Function, add: OpId, positive: ValueId, negative: ValueId) -> Option<Match<'_>> {
    let of_x = private_producer(f, positive, OpKind::Relu, add)?;
    let x = f.op(of_x).arg("x")?;
    let scaled = private_producer(f, negative, OpKind::Mul, add)?;
    let (p, q) = (f.op(scaled).arg("x")?, f.op(scaled).arg("y")?);
    let (a, inner) = match (f.const_value(p), f.const_value(q)) {
        (Some(a), None) => (a, q),
        (None, Some(a)) => (a, p),
        _ => return None,
    };
    let of_negated = private_producer(f, inner, OpKind::Relu, scaled)?;
    let negated = private_producer(f, f.op(of_negated).arg("x")?, OpKind::Mul, of_negated)?;
    if scalar(f, operand_beside(f, negated, x)?) != Some(-1.0) {
        return None;
    }
    Some(Match { ops: [of_x, scaled, of_negated, negated], x, a: a.as_data()? })
}

impl Match<'_> {
    /// `-a`, where it has one element for each channel of `x`, all on the axis that is `from_end` axes from its end.
    fn slopes(&self, f: &Function, x: ValueId, from_end: usize) -> Option<Const> {
        let shape = self.a.shape();
        let count = *shape.get(shape.len().checked_sub(from_end)?)?;
        let channels = f.ty(x).shape()?.get(1)?.known()?;
        if self.a.len() != count || usize::try_from(channels) != Ok(count) || count == 0 {
            return None;
        }
        let slopes: Vec<f64> = self.a.to_f64s()?.into_iter().map(|a| -a).collect();
        if !slopes.iter().all(|a| a.is_finite()) {
            return None;
        }
        float_const(self.a.dtype(), &[count], slopes)
    }

    /// The `transpose` that puts the channels last, when only these ops use what it gives.
    fn behind_transpose(&self, f: &Function) -> Option<OpId> {
        let [of_x, .., negated] = self.ops;
        let transpose = f.producer_of(self.x, OpKind::Transpose)?;
        let ours = |u: &Use| matches!(u, Use::Op { op, .. } if *op == of_x || *op == negated);
        let order = const_ints(f, transpose, "perm")?.into_iter().map(|p| if p < 0 { p + 4 } else { p });
        let fits = f.value(self.x).uses().iter().all(ours)
            && f.block_of(transpose) == f.block_of(of_x)
            && order.eq([0, 2, 3, 1]);
        Some(transpose).filter(|_| fits)
    }
}
