//! `common::scaled_dot_product_attention_sliced_q`: attention over a long query is computed a piece of the query at a time.
//!
//! A `scaled_dot_product_attention` whose query has a known sequence of at least `min_seq_length` becomes, for each of
//! `seq_length_divider` pieces, `softmax(q k^T / sqrt(d) + mask) v`, joined in the end. The scores of one piece are all that is
//! held at once. A mask of booleans is minus infinity where it is false. All shapes must be known.

use coremill_mil::{Const, Function, OpId, OpKind, Program, TensorType, ValueId};
use coremill_tensor::DType;

use crate::matching::float_const;
use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::scaled_dot_product_attention_sliced_q",
    summary: "Computes attention over a long query in pieces of the query",
    options: &[
        OptionSpec {
            name: "min_seq_length",
            kind: OptionKind::Count,
            summary: "Leave shorter queries alone; without it, 1280",
        },
        OptionSpec {
            name: "seq_length_divider",
            kind: OptionKind::Count,
            summary: "Number of pieces, at least 1; without it, 16",
        },
    ],
    spec: include_str!("../../specs/common/scaled_dot_product_attention_sliced_q.mil"),
    make: |options: &Options| {
        Box::new(SlicedQ {
            min_length: options.count("min_seq_length").unwrap_or(1280),
            pieces: options.count("seq_length_divider").unwrap_or(16),
        })
    },
};

struct SlicedQ {
    min_length: u64,
    pieces: u64,
}

impl Pass for SlicedQ {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        if self.pieces == 0 {
            return Err(PassError::unsupported("`seq_length_divider` is 0; it must be at least 1"));
        }
        rewrite(program, &[self], cx)
    }
}

/// The pieces of a sequence: as long as the others, or one longer.
fn pieces(length: usize, count: u64) -> Vec<(usize, usize)> {
    let count = usize::try_from(count).unwrap_or(length).min(length.max(1));
    let (size, longer) = (length / count, length % count);
    let start = |i: usize| i * size + i.min(longer);
    (0..count).map(|i| (start(i), start(i + 1))).collect()
}

impl Rewrite for SlicedQ {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::ScaledDotProductAttention]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let arg = |name| f.op(op).arg(name);
        let (q, k, v, mask) = (arg("query")?, arg("key")?, arg("value")?, arg("attn_mask"));
        let known = |v: ValueId| f.ty(v).shape()?.to_known();
        let shape = known(q)?;
        let [.., length, depth] = shape[..] else { return None };
        if (length as u64) < self.min_length || length == 0 || depth == 0 {
            return None;
        }
        let out = f.op(op).output();
        let ty = f.ty(q).as_tensor()?;
        let mut patch = Patch::before(f, op, "pieces_of_the_query");
        let mut m = Maker { patch: &mut patch, name: f.value(out).name.clone(), ty, made: 0 };
        let mask = match mask {
            Some(mask) => Some((m.float_mask(f, mask, known(mask)?)?, known(mask)?)),
            None => None,
        };
        let mut joined: Option<PatchValue> = None;
        for (start, end) in pieces(length, self.pieces) {
            let piece = m.slice(q.into(), &shape, start, end)?;
            let scores = m.matmul(piece, k.into(), true);
            let factor = float_const(ty.dtype, &[], vec![(depth as f64).powf(-0.5)])?;
            let mut scores = m.make(OpKind::Mul, |op| op.input("x", scores).literal("y", factor));
            if let Some((mask, mask_shape)) = &mask {
                let rows = *mask_shape.get(mask_shape.len().checked_sub(2)?)?;
                let part = if rows == 1 { *mask } else { m.slice(*mask, mask_shape, start, end)? };
                scores = m.make(OpKind::Add, |op| op.input("x", scores).input("y", part));
            }
            let weights = m.make(OpKind::Softmax, |op| op.input("x", scores).literal("axis", Const::int32(-1)));
            let part = m.matmul(weights, v.into(), false);
            let all: Vec<PatchValue> = joined.into_iter().chain([part]).collect();
            joined = Some(m.make(OpKind::Concat, |op| {
                op.list("values", all).literal("axis", Const::int32(-2)).literal("interleave", Const::bool(false))
            }));
        }
        patch.replace_op(f, op, joined?);
        Some(patch)
    }
}

struct Maker<'p, 'f> {
    patch: &'p mut Patch,
    name: String,
    ty: &'f TensorType,
    made: usize,
}

impl Maker<'_, '_> {
    fn make(&mut self, kind: OpKind, fill: impl FnOnce(NewPatchOp) -> NewPatchOp) -> PatchValue {
        self.made += 1;
        self.patch.make(fill(NewPatchOp::new(kind, format!("{}_{}", self.name, self.made))))
    }

    fn matmul(&mut self, x: PatchValue, y: PatchValue, transpose_y: bool) -> PatchValue {
        self.make(OpKind::Matmul, |op| {
            let op = op.input("x", x).input("y", y).literal("transpose_x", Const::bool(false));
            op.literal("transpose_y", Const::bool(transpose_y))
        })
    }

    /// Rows `start` to `end` of the last but one axis.
    fn slice(&mut self, x: PatchValue, shape: &[usize], start: usize, end: usize) -> Option<PatchValue> {
        let rank = shape.len();
        let int = |n: usize| i32::try_from(n).ok();
        let mut begin = vec![0; rank];
        let mut stop: Vec<i32> = shape.iter().map(|&d| int(d)).collect::<Option<_>>()?;
        let mut whole = vec![true; rank];
        let row = rank.checked_sub(2)?;
        (begin[row], stop[row], whole[row]) = (int(start)?, int(end)?, false);
        Some(self.make(OpKind::SliceByIndex, |op| {
            let op = op.input("x", x).literal("begin", Const::int32s(&begin)).literal("end", Const::int32s(&stop));
            op.literal("end_mask", Const::bools(&whole))
        }))
    }

    /// The mask as what is added to the scores.
    fn float_mask(&mut self, f: &Function, mask: ValueId, shape: Vec<usize>) -> Option<PatchValue> {
        if f.ty(mask).dtype()? != DType::Bool {
            return Some(mask.into());
        }
        let hidden = self.make(OpKind::LogicalNot, |op| op.input("x", mask));
        let zeros = float_const(self.ty.dtype, &shape, vec![0.0; shape.iter().product()])?;
        let infinity = float_const(self.ty.dtype, &[], vec![f64::NEG_INFINITY])?;
        Some(self.make(OpKind::Select, |op| op.input("cond", hidden).literal("a", infinity).literal("b", zeros)))
    }
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_cover_the_sequence() {
        assert_eq!(pieces(10, 4), [(0, 3), (3, 6), (6, 8), (8, 10)]);
        assert_eq!(pieces(2, 4), [(0, 1), (1, 2)]);
        assert_eq!(pieces(5, 1), [(0, 5)]);
    }
}
