//! Ops on indices of gathers, as patches make them.

use coremill_mil::{Const, OpKind};

use crate::patch::{NewPatchOp, Patch, PatchValue};

/// Makes ops whose names begin with a base.
pub(crate) struct IndexOps<'p> {
    /// Where they go.
    pub patch: &'p mut Patch,
    /// What their names begin with.
    pub base: &'p str,
}

impl IndexOps<'_> {
    /// An op.
    pub(crate) fn make(&mut self, kind: OpKind, what: &str, fill: impl FnOnce(NewPatchOp) -> NewPatchOp) -> PatchValue {
        self.patch.make(fill(NewPatchOp::new(kind, format!("{}_{what}", self.base))))
    }

    /// `x` in this element type.
    pub(crate) fn cast(&mut self, x: PatchValue, dtype: &str) -> PatchValue {
        self.make(OpKind::Cast, &format!("as_{dtype}"), |op| op.input("x", x).literal("dtype", Const::string(dtype)))
    }

    /// The element of a vector at this place.
    pub(crate) fn at(&mut self, x: PatchValue, place: i32) -> PatchValue {
        self.make(OpKind::SliceByIndex, "size", |op| {
            op.input("x", x)
                .literal("begin", Const::int32s(&[place]))
                .literal("end", Const::int32s(&[0]))
                .literal("squeeze_mask", Const::bools(&[true]))
        })
    }

    /// Is each index at least zero?
    pub(crate) fn is_positive(&mut self, indices: PatchValue) -> PatchValue {
        self.make(OpKind::GreaterEqual, "is_positive", |op| op.input("x", indices).literal("y", Const::int32(0)))
    }

    /// The indices that are positive, and the others counted from the end of an axis of this size.
    pub(crate) fn guarded(&mut self, indices: PatchValue, positive: PatchValue, size: PatchValue) -> PatchValue {
        let from_end = self.make(OpKind::Add, "from_end", |op| op.input("x", indices).input("y", size));
        self.make(OpKind::Select, "indices", |op| op.input("cond", positive).input("a", indices).input("b", from_end))
    }
}
