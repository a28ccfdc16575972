//! `common::const_elimination`: what is known at compile time is computed at compile time.
//!
//! An op whose results can be evaluated becomes `const` ops. `shape` is folded as soon as the extents are known,
//! whatever its input. A `constexpr_*` weight is never expanded, nor what is computed from one: its value lives
//! in the weight file in compressed form, and that is the point of it.

use coremill_interp::evaluate_op;
use coremill_mil::{Const, Flags, Function, OpId, OpKind, Program, schema_of};

use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::const_elimination",
    summary: "Evaluates ops whose inputs are constant",
    options: &[OptionSpec {
        name: "skip_const_by_size",
        kind: OptionKind::Number,
        summary: "Leave a result of more elements than this unfolded; without it, fold whatever the size",
    }],
    spec: include_str!("../../specs/common/const_elimination.mil"),
    make: |options: &Options| Box::new(ConstElimination { skip_const_by_size: options.number("skip_const_by_size") }),
};

struct ConstElimination {
    skip_const_by_size: Option<f64>,
}

impl Pass for ConstElimination {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for ConstElimination {
    fn roots(&self) -> &'static [OpKind] {
        &[]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        if !schema_of(f.op(op).kind)?.flags.has(Flags::FOLDABLE) {
            return None;
        }
        let results = evaluate_op(f, op).ok()?;
        let outputs = f.op(op).outputs();
        if results.len() != outputs.len() || results.iter().any(|c| self.is_too_large(c)) {
            return None;
        }
        let mut patch = Patch::before(f, op, "fold");
        for (&old, value) in outputs.iter().zip(results) {
            // A kernel that disagrees with type inference must not change the program.
            if !value.ty().compatible(f.ty(old)) {
                return None;
            }
            let new: PatchValue = patch.constant(f.value(old).name.clone(), value);
            patch.replace(old, new);
        }
        patch.erase(op);
        Some(patch)
    }
}

impl ConstElimination {
    fn is_too_large(&self, c: &Const) -> bool {
        let size = c.as_data().filter(|d| d.rank() > 0).map_or(0, |d| d.len());
        self.skip_const_by_size.is_some_and(|limit| size as f64 > limit)
    }
}
