//! `common::use_reflection_padding`: rows of a tensor put around it in mirrored order are a `pad` in mode `reflect`.
//!
//! A `concat` along one of the two innermost axes of slices that are one element thick, the tensor in the middle, and as
//! many slices again: before it the elements `n, ..., 2, 1`, after it those that mirror them from the far end. Each
//! slice must take one element of that axis and the whole of every other one. A slice with another user, or one that
//! is an output, keeps the `concat`.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::{const_ints, float_const, private_producer};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::use_reflection_padding",
    summary: "Replaces a concat of a tensor with its own mirrored borders by a reflecting pad",
    options: &[],
    spec: include_str!("../../specs/common/use_reflection_padding.mil"),
    make: |_: &Options| Box::new(UseReflectionPadding),
};

struct UseReflectionPadding;

impl Pass for UseReflectionPadding {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for UseReflectionPadding {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Concat]
    }

    fn find(&self, f: &Function, concat: OpId) -> Option<Patch> {
        let values: Vec<ValueId> = f.op(concat).args("values").collect();
        let count = values.len() / 2;
        if values.len() % 2 != 1 || count == 0 {
            return None;
        }
        let x = values[count];
        let tensor = f.ty(x).as_tensor()?;
        let axis = tensor.shape.axis(f.const_arg(concat, "axis")?.as_i64()?)?;
        let behind = tensor.rank() - 1 - axis;
        let zero = float_const(tensor.dtype, &[], vec![0.0])?;
        let interleave = f.op(concat).arg("interleave").is_some()
            && f.const_arg(concat, "interleave").and_then(Const::as_bool) != Some(false);
        if behind > 1 || interleave {
            return None;
        }
        let mut slices: Vec<OpId> = Vec::with_capacity(2 * count);
        for (i, &v) in values.iter().enumerate().filter(|&(i, _)| i != count) {
            let slice = private_producer(f, v, OpKind::SliceByIndex, concat)?;
            // From the end where it is after the middle: the last element, -1, is the mirror.
            let at = if i < count { (count - i) as i64 } else { -1 - (i - count) as i64 };
            if f.op(slice).arg("x") != Some(x) || !takes_one(f, slice, axis, at) {
                return None;
            }
            slices.push(slice);
        }
        let by = i32::try_from(count).ok()?;
        let pad: &[i32] = if behind == 0 { &[by, by] } else { &[by, by, 0, 0] };
        let mut patch = Patch::before(f, concat, "concat_of_mirrored_slices");
        let new = NewPatchOp::new(OpKind::Pad, f.value(f.op(concat).output()).name.clone())
            .input("x", x)
            .literal("pad", Const::int32s(pad))
            .literal("mode", Const::string("reflect"))
            .literal("constant_val", zero);
        let padded = patch.make(new);
        patch.replace_op(f, concat, padded);
        // One slice may stand on both sides: the middle of three elements.
        slices.sort_unstable();
        slices.dedup();
        slices.into_iter().for_each(|slice| patch.erase(slice));
        Some(patch)
    }
}

/// Does the slice take element `at` of `axis`, counted from the end where it is negative, and all of every other axis?
fn takes_one(f: &Function, slice: OpId, axis: usize, at: i64) -> bool {
    let taken = || -> Option<bool> {
        let shape = f.ty(f.op(slice).arg("x")?).shape()?;
        let (begin, end) = (const_ints(f, slice, "begin")?, const_ints(f, slice, "end")?);
        let begin_mask = mask(f, slice, "begin_mask", shape.rank())?;
        let end_mask = mask(f, slice, "end_mask", shape.rank())?;
        let squeezes = mask(f, slice, "squeeze_mask", shape.rank())?.contains(&true);
        let steps = f.op(slice).arg("stride").is_none() || const_ints(f, slice, "stride")?.iter().all(|&s| s == 1);
        if squeezes || !steps || begin.len() != shape.rank() || end.len() != shape.rank() {
            return Some(false);
        }
        let along = |i: usize| {
            let extent = shape[i].known().and_then(|n| i64::try_from(n).ok());
            let from = if begin_mask[i] { Some(0) } else { place(begin[i], extent) };
            let to = if end_mask[i] { extent } else { place(end[i], extent) };
            if i != axis {
                return from == Some(0) && (end_mask[i] || to.is_some() && to == extent);
            }
            match (extent, from, to) {
                (Some(n), Some(from), Some(to)) => to - from == 1 && from == if at < 0 { n + at } else { at },
                // Of an unknown extent the two ends must be counted from the side that `at` is.
                (None, ..) => !begin_mask[i] && !end_mask[i] && begin[i] == at && end[i] == at + 1,
                _ => false,
            }
        };
        Some((0..shape.rank()).all(along))
    };
    taken().unwrap_or(false)
}

/// An index counted from the front and held to the extent; of an unknown extent only one that is 0 is certain.
fn place(index: i64, extent: Option<i64>) -> Option<i64> {
    match extent {
        Some(n) => Some((if index < 0 { index.saturating_add(n) } else { index }).clamp(0, n)),
        None => Some(0).filter(|_| index == 0),
    }
}

/// A mask of `rank` axes; none is set where it is left out.
fn mask(f: &Function, slice: OpId, name: &str, rank: usize) -> Option<Vec<bool>> {
    if f.op(slice).arg(name).is_none() {
        return Some(vec![false; rank]);
    }
    let mask: Vec<bool> = const_ints(f, slice, name)?.into_iter().map(|m| m != 0).collect();
    Some(mask).filter(|m| m.len() == rank)
}
