//! `common::expand_high_rank_reshape_and_transpose`: a transpose of rank 6 or more between reshapes becomes several of rank 4.
//!
//! In `reshape -> transpose -> reshape`, where the first makes a tensor of rank 6 or more with known extents and the last
//! one of at most 5, axes that stay neighbours in order are taken as one. If fewer than 6 are left, one transpose does;
//! else each axis of the result is brought to its place by a reshape to rank 4 and a transpose. Elements are only moved,
//! as before. What is between must have no other use and be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::conv_fusion::follower;
use crate::matching::const_ints;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::expand_high_rank_reshape_and_transpose",
    summary: "Expands a transpose of rank 6 or more between reshapes into ones of rank 4",
    options: &[],
    spec: include_str!("../../specs/common/expand_high_rank_reshape_and_transpose.mil"),
    make: |_: &Options| Box::new(ExpandHighRank),
};

/// The largest rank that the runtime has.
const MAX_RANK: usize = 5;

struct ExpandHighRank;

impl Pass for ExpandHighRank {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for ExpandHighRank {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Reshape]
    }

    fn find(&self, f: &Function, first: OpId) -> Option<Patch> {
        let extents = f.ty(f.op(first).output()).shape()?.to_known()?;
        let rank = extents.len();
        if rank <= MAX_RANK {
            return None;
        }
        let transpose = follower(f, first, &[OpKind::Transpose])?;
        let last = follower(f, transpose, &[OpKind::Reshape])?;
        let out = f.op(last).output();
        if f.ty(out).rank().is_none_or(|r| r > MAX_RANK) {
            return None;
        }
        let perm = const_ints(f, transpose, "perm")?;
        let perm: Vec<usize> = perm.iter().map(|&p| p.rem_euclid(rank as i64) as usize).collect();
        let shape: Option<Vec<i32>> = extents.iter().map(|&d| i32::try_from(d).ok()).collect();
        let (shape, perm) = grouped(&shape?, &perm);
        let mut patch = Patch::before(f, last, "high_rank");
        let mut m = Maker { patch: &mut patch, name: f.value(out).name.clone(), made: 0 };
        let moved = m.move_axes(f.op(first).arg("x")?, &shape, &perm);
        let new = NewPatchOp::new(OpKind::Reshape, f.value(out).name.clone()).input("x", moved);
        let new = patch.make(new.same(f, last, "shape"));
        patch.replace_op(f, last, new);
        patch.erase(transpose);
        patch.erase(first);
        Some(patch)
    }
}

/// The shape and permutation with axes that stay neighbours, in order, as one.
fn grouped(shape: &[i32], perm: &[usize]) -> (Vec<i32>, Vec<usize>) {
    let mut groups: Vec<(usize, i32)> = Vec::new();
    for (i, &axis) in perm.iter().enumerate() {
        match groups.last_mut().filter(|_| i > 0 && axis == perm[i - 1] + 1) {
            Some((_, extent)) => *extent = extent.saturating_mul(shape[axis]),
            None => groups.push((axis, shape[axis])),
        }
    }
    let mut ordered = groups.clone();
    ordered.sort_unstable();
    let place = |group: &(usize, i32)| ordered.iter().position(|o| o.0 == group.0).unwrap_or(0);
    (ordered.iter().map(|g| g.1).collect(), groups.iter().map(place).collect())
}

struct Maker<'p> {
    patch: &'p mut Patch,
    name: String,
    made: usize,
}

impl Maker<'_> {
    fn make(&mut self, kind: OpKind, x: PatchValue, parameter: &'static str, values: &[i32]) -> PatchValue {
        self.made += 1;
        let new = NewPatchOp::new(kind, format!("{}_step_{}", self.name, self.made)).input("x", x);
        self.patch.make(new.literal(parameter, Const::int32s(values)))
    }

    fn move_axes(&mut self, x: ValueId, shape: &[i32], perm: &[usize]) -> PatchValue {
        let x: PatchValue = x.into();
        if perm.len() <= MAX_RANK {
            let x = self.make(OpKind::Reshape, x, "shape", shape);
            let perm: Vec<i32> = perm.iter().map(|&p| p as i32).collect();
            return self.make(OpKind::Transpose, x, "perm", &perm);
        }
        // Axes that are in place lead; the next one comes to stand behind them.
        let (mut x, mut leading, mut placed) = (x, 1, vec![false; shape.len()]);
        for &axis in perm {
            placed[axis] = true;
            let product =
                |range: std::ops::Range<usize>| range.filter(|&i| !placed[i]).map(|i| shape[i]).product::<i32>();
            let four = [leading, product(0..axis), shape[axis], product(axis + 1..shape.len())];
            x = self.make(OpKind::Reshape, x, "shape", &four);
            x = self.make(OpKind::Transpose, x, "perm", &[0, 2, 1, 3]);
            leading *= shape[axis];
        }
        x
    }
}
