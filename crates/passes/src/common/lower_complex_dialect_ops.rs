//! `common::lower_complex_dialect_ops`: complex numbers become two real tensors each.
//!
//! Core ML has no complex numbers. An op of the complex dialect whose operand is a `complex` of two real tensors is written
//! with real ops, and its result, when it is complex, as another `complex`; nothing reads these in the end, and they go.
//! Fourier transforms are products with constant matrices, `complex_stft` is a convolution with them. The matrices are
//! computed in double precision, with the norm, the window, and the half of the spectrum that follows from the other in
//! them.
//!
//! A complex value that is an output, or goes through a nested block's outputs, has no real form: the pass then reports
//! all such ops. So it does where a transformed axis has no known length, or a matrix would be huge.

mod dft;
mod transform;

use coremill_mil::{Function, OpId, OpKind, Program};
use coremill_tensor::DType;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch, PatchValue};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::lower_complex_dialect_ops",
    summary: "Writes ops on complex numbers as ops on their real and imaginary parts",
    options: &[],
    spec: include_str!("../../specs/common/lower_complex_dialect_ops.mil"),
    make: |_: &Options| Box::new(LowerComplex),
};

/// The ops of the dialect.
const DIALECT: &[OpKind] = &[
    OpKind::Complex,
    OpKind::ComplexReal,
    OpKind::ComplexImag,
    OpKind::ComplexAbs,
    OpKind::ComplexShape,
    OpKind::ComplexFft,
    OpKind::ComplexFftn,
    OpKind::ComplexIfft,
    OpKind::ComplexIfftn,
    OpKind::ComplexRfft,
    OpKind::ComplexRfftn,
    OpKind::ComplexIrfft,
    OpKind::ComplexIrfftn,
    OpKind::ComplexStft,
];

struct LowerComplex;

impl Pass for LowerComplex {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)?;
        if cx.is_exhausted() {
            return Ok(());
        }
        let left: Vec<String> = program.functions.values().flat_map(leftovers).collect();
        if left.is_empty() { Ok(()) } else { Err(PassError::unsupported(left.join("; "))) }
    }
}

impl Rewrite for LowerComplex {
    fn roots(&self) -> &'static [OpKind] {
        DIALECT
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let mut patch = Patch::before(f, op, "real_and_imaginary_parts");
        let out = f.op(op).output();
        let name = f.value(out).name.clone();
        let is_part = |kind| matches!(kind, OpKind::ComplexReal | OpKind::ComplexImag);
        match f.kind(op) {
            OpKind::Complex if f.value(out).uses().is_empty() => patch.erase(op),
            OpKind::Complex => return None,
            kind if is_part(kind) => {
                let (re, im) = parts(f, op, "data")?;
                let part = if kind == OpKind::ComplexReal { re } else { im };
                // The name of the result may be the program's, and the part's too.
                let part = patch.make(NewPatchOp::new(OpKind::Identity, name).input("x", part));
                patch.replace_op(f, op, part);
            }
            OpKind::ComplexShape => {
                let shape = NewPatchOp::new(OpKind::Shape, name).input("x", parts(f, op, "x")?.0);
                let shape = patch.make(shape);
                patch.replace_op(f, op, shape);
            }
            OpKind::ComplexAbs => {
                let (re, im) = parts(f, op, "x")?;
                let abs = absolute(&mut patch, name, re, im);
                patch.replace_op(f, op, abs);
            }
            OpKind::ComplexStft => transform::stft(f, op, &mut patch).ok()?,
            _ => transform::transform(f, op, &mut patch).ok()?,
        }
        Some(patch)
    }
}

/// The real and the imaginary part of an operand that a `complex` makes.
fn parts(f: &Function, op: OpId, name: &str) -> Option<(PatchValue, PatchValue)> {
    let complex = f.producer_of(f.op(op).arg(name)?, OpKind::Complex)?;
    Some((f.op(complex).arg("real_data")?.into(), f.op(complex).arg("imag_data")?.into()))
}

/// The root of the sum of the squares.
fn absolute(patch: &mut Patch, name: String, re: PatchValue, im: PatchValue) -> PatchValue {
    let mut square = |of: &str, x| patch.make(NewPatchOp::new(OpKind::Square, format!("{name}_{of}")).input("x", x));
    let (re, im) = (square("real_squared", re), square("imag_squared", im));
    let sum = NewPatchOp::new(OpKind::Add, format!("{name}_squared")).input("x", re).input("y", im);
    let sum = patch.make(sum);
    patch.make(NewPatchOp::new(OpKind::Sqrt, name).input("x", sum))
}

/// What is left of the dialect in a function, and why.
fn leftovers(f: &Function) -> Vec<String> {
    let is_left = |op: &OpId| DIALECT.contains(&f.kind(*op));
    f.all_ops().into_iter().filter(is_left).filter_map(|op| why_left(f, op)).collect()
}

/// Why an op stays; none for one that only follows from another that stays.
fn why_left(f: &Function, op: OpId) -> Option<String> {
    let (kind, out) = (f.kind(op), f.op(op).output());
    let at = format!("`{kind}` that makes `{}`", f.value(out).name);
    if f.ty(out).dtype() == Some(DType::Complex64) && f.is_block_output(out) {
        let what = "is an output, and Core ML has no complex outputs: give `complex_real` and `complex_imag` of it";
        return Some(format!("{at} {what}"));
    }
    let operand = ["data", "x", "input"].into_iter().find_map(|n| f.op(op).arg(n))?;
    let is_complex = f.ty(operand).dtype() == Some(DType::Complex64);
    match f.producer(operand) {
        Some(maker) if is_complex && f.kind(maker) != OpKind::Complex && DIALECT.contains(&f.kind(maker)) => None,
        Some(maker) if is_complex && f.kind(maker) != OpKind::Complex => {
            Some(format!("{at} reads the complex result of `{}`, which has no real form", f.kind(maker)))
        }
        None if is_complex => Some(format!("{at} reads a complex input: give its parts as two inputs")),
        _ => {
            let mut scratch = Patch::before(f, op, "reason");
            let tried = match kind {
                OpKind::ComplexStft => transform::stft(f, op, &mut scratch),
                OpKind::Complex => return None,
                _ => transform::transform(f, op, &mut scratch),
            };
            Some(format!("{at} stays: {}", tried.err()?))
        }
    }
}
