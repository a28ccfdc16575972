//! `common::fuse_transpose_matmul`: a `transpose` of the last two axes before a `matmul` becomes its flag.
//!
//! Either operand or both; a flag that was set is cleared. Transposes that move other axes stay, and so do all where an
//! operand is a vector, whose flag has no meaning. The transpose itself stays for its other users and dies
//! with dead code otherwise.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_transpose_matmul",
    summary: "Fuses a transpose of the last two axes into the matmul that takes it",
    options: &[],
    spec: include_str!("../../specs/common/fuse_transpose_matmul.mil"),
    make: |_: &Options| Box::new(FuseTransposeMatmul),
};

struct FuseTransposeMatmul;

impl Pass for FuseTransposeMatmul {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for FuseTransposeMatmul {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Matmul]
    }

    fn find(&self, f: &Function, matmul: OpId) -> Option<Patch> {
        let (x, y) = (f.op(matmul).arg("x")?, f.op(matmul).arg("y")?);
        if f.ty(x).rank()? < 2 || f.ty(y).rank()? < 2 {
            return None;
        }
        let (x_source, y_source) = (before_transpose(f, x), before_transpose(f, y));
        if x_source.is_none() && y_source.is_none() {
            return None;
        }
        let flag = |name: &str, swap: bool| {
            let set = match f.op(matmul).arg(name) {
                Some(v) => f.const_value(v)?.as_bool()?,
                None => false,
            };
            Some(Const::bool(set != swap))
        };
        let out = f.op(matmul).output();
        let new = NewPatchOp::new(OpKind::Matmul, f.value(out).name.clone())
            .input("x", x_source.unwrap_or(x))
            .input("y", y_source.unwrap_or(y))
            .literal("transpose_x", flag("transpose_x", x_source.is_some())?)
            .literal("transpose_y", flag("transpose_y", y_source.is_some())?);
        let mut patch = Patch::before(f, matmul, "transpose_and_matmul");
        let new = patch.make(new);
        patch.replace_op(f, matmul, new);
        Some(patch)
    }
}

/// What `v` is the transpose of, if it is one of exactly the last two axes.
fn before_transpose(f: &Function, v: ValueId) -> Option<ValueId> {
    let transpose = f.producer_of(v, OpKind::Transpose)?;
    let perm = f.const_arg(transpose, "perm").and_then(Const::as_i64s)?;
    let rank = i64::try_from(perm.len()).ok()?;
    let swapped = (0..rank).map(|axis| match rank - axis {
        2 => rank - 1,
        1 => rank - 2,
        _ => axis,
    });
    let swaps =
        rank >= 2 && swapped.zip(&perm).all(|(want, &p)| want == if p < 0 { p.saturating_add(rank) } else { p });
    f.op(transpose).arg("x").filter(|_| swaps)
}
