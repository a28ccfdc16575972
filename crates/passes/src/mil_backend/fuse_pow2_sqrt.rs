//! `mil_backend::fuse_pow2_sqrt`: `sqrt(x)` squared is `x`.
//!
//! `pow(sqrt(x), 2)` becomes `identity(x)`; for a negative `x`, which has no real root, the fused program gives
//! `x` where the original gives NaN. The other order, `sqrt(pow(x, 2))`, is the magnitude of `x`: it becomes
//! `abs(x)`, since `identity(x)`, which the peer makes of it, is wrong for every negative `x`. The inner op must
//! have no other use.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "mil_backend::fuse_pow2_sqrt",
    summary: "Fuses a square root and a square into a copy",
    options: &[],
    spec: include_str!("../../specs/mil_backend/fuse_pow2_sqrt.mil"),
    make: |_: &Options| Box::new(FusePow2Sqrt),
};

struct FusePow2Sqrt;

impl Pass for FusePow2Sqrt {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FusePow2Sqrt {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Pow, OpKind::Sqrt]
    }

    fn find(&self, f: &Function, outer: OpId) -> Option<Patch> {
        let between = f.op(outer).arg("x")?;
        let inner = f.producer(between)?;
        let square_of_root = is_square(f, outer) && f.kind(inner) == OpKind::Sqrt;
        let root_of_square = f.kind(outer) == OpKind::Sqrt && is_square(f, inner);
        if !(square_of_root || root_of_square) || f.only_user(between) != Some(outer) {
            return None;
        }
        let x = f.op(inner).arg("x")?;
        let kind = if square_of_root { OpKind::Identity } else { OpKind::Abs };
        let mut patch = Patch::before(f, outer, if square_of_root { "square_of_root" } else { "root_of_square" });
        let copy = patch.make(NewPatchOp::new(kind, f.value(f.op(outer).output()).name.clone()).input("x", x));
        patch.replace_op(f, outer, copy);
        patch.erase(inner);
        Some(patch)
    }
}

fn is_square(f: &Function, op: OpId) -> bool {
    let exponent = || f.const_arg(op, "y").and_then(Const::as_data).and_then(|d| d.to_f64s());
    f.kind(op) == OpKind::Pow && exponent().is_some_and(|v| !v.is_empty() && v.iter().all(|&v| v == 2.0))
}
