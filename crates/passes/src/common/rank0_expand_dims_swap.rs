//! `common::rank0_expand_dims_swap`: an `expand_dims` of scalar arithmetic moves in front of it.
//!
//! A binary op of two scalars, one of them constant, whose result one `expand_dims` with `axes = [0]` reads: the operands
//! get the axis instead, and what else reads the result gets it back by a `squeeze`. Runtimes give such ops a result of
//! rank 1, and this says so. The result must be no output.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::const_ints;
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::rank0_expand_dims_swap",
    summary: "Moves expand_dims in front of scalar arithmetic",
    options: &[],
    spec: include_str!("../../specs/common/rank0_expand_dims_swap.mil"),
    make: |_: &Options| Box::new(Rank0ExpandDimsSwap),
};

struct Rank0ExpandDimsSwap;

impl Pass for Rank0ExpandDimsSwap {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for Rank0ExpandDimsSwap {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::RealDiv, OpKind::FloorDiv]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let (x, y) = (f.op(op).arg("x")?, f.op(op).arg("y")?);
        let result = f.op(op).output();
        let is_scalar = |v: ValueId| f.ty(v).rank() == Some(0);
        let one_constant = f.const_value(x).is_some() != f.const_value(y).is_some();
        if !is_scalar(x) || !is_scalar(y) || !one_constant || f.is_block_output(result) {
            return None;
        }
        let users = f.users(result);
        let mut expansions = users.iter().copied().filter(|&u| f.kind(u) == OpKind::ExpandDims);
        let expand = expansions.next().filter(|_| expansions.next().is_none())?;
        if const_ints(f, expand, "axes")? != [0] || f.block_of(expand) != f.block_of(op) {
            return None;
        }
        let mut patch = Patch::before(f, op, "expand_operands");
        let name = f.value(f.op(expand).output()).name.clone();
        let mut expanded = |v: ValueId, side: &str| {
            let new = NewPatchOp::new(OpKind::ExpandDims, format!("{name}_{side}"));
            patch.make(new.input("x", v).literal("axes", Const::int32s(&[0])))
        };
        let (x, y) = (expanded(x, "x"), expanded(y, "y"));
        let new = patch.make(NewPatchOp::new(f.kind(op), name).input("x", x).input("y", y));
        patch.replace_op(f, expand, new);
        if users.len() > 1 {
            let back = NewPatchOp::new(OpKind::Squeeze, f.value(result).name.clone());
            let back = patch.make(back.input("x", new).literal("axes", Const::int32s(&[0])));
            patch.replace(result, back);
        }
        patch.erase(op);
        Some(patch)
    }
}
