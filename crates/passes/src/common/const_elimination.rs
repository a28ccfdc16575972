//! `common::const_elimination`: what is known at compile time is computed at compile time.
//!
//! An op whose results can be evaluated becomes `const` ops. `shape` is folded as soon as the extents are known,
//! whatever its input. A `constexpr_*` weight is never expanded, nor what is computed from one: its value lives
//! in the weight file in compressed form, and that is the point of it.
//!
//! Results may be larger than what they come from (`fill`, a sum of a column and a row). A program of a few bytes must
//! not become gigabytes that way: what folding adds in one run is bounded, and a note says what was left.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use coremill_interp::evaluate_op;
use coremill_mil::{Const, Flags, Function, OpId, OpKind, Program, Type, schema_of};

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
    make: |options: &Options| {
        Box::new(ConstElimination {
            skip_const_by_size: options.number("skip_const_by_size"),
            grown: AtomicUsize::new(0),
            declined: AtomicUsize::new(0),
        })
    },
};

/// Bytes that one run may add to a program: above the masks and tables of real models, below what hurts.
const MAX_GROWTH: usize = 256 << 20;

struct ConstElimination {
    skip_const_by_size: Option<f64>,
    /// Bytes by which results were larger than what they come from.
    grown: AtomicUsize,
    /// Ops left unfolded since they would pass the bound.
    declined: AtomicUsize,
}

impl Pass for ConstElimination {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        self.grown.store(0, Relaxed);
        self.declined.store(0, Relaxed);
        rewrite(program, &[self], cx)?;
        let declined = self.declined.load(Relaxed);
        if declined > 0 {
            let limit = MAX_GROWTH >> 20;
            cx.notes.push(format!(
                "ops left unfolded, since folding would add more than {limit} MiB to the program: {declined}"
            ));
        }
        Ok(())
    }
}

impl Rewrite for ConstElimination {
    fn roots(&self) -> &'static [OpKind] {
        &[]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        if !schema_of(f.kind(op))?.flags.has(Flags::FOLDABLE) {
            return None;
        }
        let outputs = f.op(op).outputs();
        let sources = operand_bytes(f, op);
        // Before anything is computed, by the declared types; what they hide is caught below.
        let declared = outputs.iter().filter_map(|&v| bytes_of(f.ty(v))).fold(0, usize::saturating_add);
        if !self.admits(declared.saturating_sub(sources)) {
            return None;
        }
        let results = evaluate_op(f, op).ok()?;
        if results.len() != outputs.len() || results.iter().any(|c| self.is_too_large(c)) {
            return None;
        }
        let made = results.iter().filter_map(Const::as_data).map(|d| d.byte_len()).fold(0, usize::saturating_add);
        let growth = made.saturating_sub(sources);
        if !self.admits(growth) {
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
        self.grown.fetch_add(growth, Relaxed);
        Some(patch)
    }
}

/// Bytes of the constants that an op reads.
fn operand_bytes(f: &Function, op: OpId) -> usize {
    let constants = f.op(op).operands().filter_map(|v| f.const_value(v)?.as_data());
    constants.map(|d| d.byte_len()).fold(0, usize::saturating_add)
}

/// Bytes of a tensor whose extents are known.
fn bytes_of(ty: &Type) -> Option<usize> {
    let tensor = ty.as_tensor()?;
    let elements = tensor.shape.to_known()?.iter().fold(1usize, |n, &d| n.saturating_mul(d));
    Some(elements.saturating_mul(tensor.dtype.bits()) / 8)
}

impl ConstElimination {
    /// Is there room for this many more bytes? Counts the op as declined when there is not.
    fn admits(&self, growth: usize) -> bool {
        let fits = self.grown.load(Relaxed).saturating_add(growth) <= MAX_GROWTH;
        if !fits {
            self.declined.fetch_add(1, Relaxed);
        }
        fits
    }

    fn is_too_large(&self, c: &Const) -> bool {
        let size = c.as_data().filter(|d| d.rank() > 0).map_or(0, |d| d.len());
        self.skip_const_by_size.is_some_and(|limit| size as f64 > limit)
    }
}

#[cfg(test)]
mod tests {
    use coremill_mil::text::{NoBlobs, parse};

    use super::*;

    #[test]
    fn what_one_run_adds_is_bounded() {
        let fill = |y: &str| format!("tensor<fp32, [1024]> {y} = fill(shape = s, value = v)[name = string(\"{y}\")];");
        let text = format!(
            "program(1.3)\n{{ func main<ios18>(tensor<fp32, [1]> x) {{
             tensor<int32, [1]> s = const()[name = string(\"s\"), val = tensor<int32, [1]>([1024])];
             fp32 v = const()[name = string(\"v\"), val = fp32(1)];
             {}{}{} }} -> (a, b, c); }}",
            fill("a"),
            fill("b"),
            fill("c")
        );
        let mut program = parse(&text, &NoBlobs).unwrap();
        // A fill makes 4096 bytes of the 8 that it reads: there is room for one more, and not for two.
        let grown = AtomicUsize::new(MAX_GROWTH - 5000);
        let pass = ConstElimination { skip_const_by_size: None, grown, declined: AtomicUsize::new(0) };
        let mut cx = PassContext::new(PASS.id);
        rewrite(&mut program, &[&pass], &mut cx).unwrap();
        assert_eq!((cx.rewrites, pass.declined.load(Relaxed)), (1, 2));
    }
}
