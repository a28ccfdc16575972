//! `common::select_optimization`: a `select` whose condition is constant becomes something simpler.
//!
//! Where every element of the condition says the same, `select(cond, a, b)` is `a` or `b`, if that has the type of the result.
//! Where one of the two is a constant of infinities, as masks have it, the choice is a sum: with `m` infinite where
//! the condition takes the constant and zero elsewhere, `m + b`. That is the same for every finite `b`; an infinity of the
//! other sign, or a NaN, in a place that is masked gives a NaN. A `select` of two constants is left to constant folding.

use coremill_interp::evaluate;
use coremill_mil::{Arg, Const, Function, OpArgs, OpId, OpKind, Program, Type, ValueId};

use crate::matching::{float_const, same_type};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::select_optimization",
    summary: "Simplifies a select whose condition is constant",
    options: &[],
    spec: include_str!("../../specs/common/select_optimization.mil"),
    make: |_: &Options| Box::new(SelectOptimization),
};

struct SelectOptimization;

impl Pass for SelectOptimization {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for SelectOptimization {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Select]
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let cond = f.const_arg(op, "cond")?;
        let (a, b) = (f.op(op).arg("a")?, f.op(op).arg("b")?);
        if f.const_value(a).is_some() && f.const_value(b).is_some() {
            return None;
        }
        let taken = cond.as_i64s()?;
        let chosen = match (taken.iter().all(|&c| c != 0), taken.iter().all(|&c| c == 0)) {
            (true, false) => Some(a),
            (false, true) => Some(b),
            _ => None,
        };
        let out = f.op(op).output();
        if let Some(v) = chosen.filter(|&v| same_type(f, v, out)) {
            let mut patch = Patch::before(f, op, "select_of_one_side");
            let new = patch.make(NewPatchOp::new(OpKind::Identity, f.value(out).name.clone()).input("x", v));
            patch.replace_op(f, op, new);
            return Some(patch);
        }
        let (mask, other) = match (infinities(f, a), infinities(f, b)) {
            (Some(values), _) => (mask(f, cond, values, true)?, b),
            (None, Some(values)) => (mask(f, cond, values, false)?, a),
            (None, None) => return None,
        };
        let mut patch = Patch::before(f, op, "select_of_infinity");
        let sum = NewPatchOp::new(OpKind::Add, f.value(out).name.clone()).literal("x", mask).input("y", other);
        let sum = patch.make(sum);
        patch.replace_op(f, op, sum);
        Some(patch)
    }
}

/// A float constant without a finite element.
fn infinities(f: &Function, v: ValueId) -> Option<&Const> {
    let value = f.const_value(v)?;
    let data = value.as_data().filter(|d| d.dtype().is_float() && !d.is_empty())?;
    data.to_f64s()?.iter().all(|v| !v.is_finite()).then_some(value)
}

/// The constant where the condition is `at`, and zero elsewhere.
fn mask(f: &Function, cond: &Const, values: &Const, at: bool) -> Option<Const> {
    let zero = float_const(values.as_data()?.dtype(), &[], vec![0.0])?;
    let (a, b) = if at { (values, &zero) } else { (&zero, values) };
    let given = [("cond", cond), ("a", a), ("b", b)];
    let types: Vec<Type> = given.iter().map(|(_, c)| c.ty()).collect();
    let mut args = OpArgs::new(OpKind::Select, f.opset);
    for ((name, value), ty) in given.into_iter().zip(&types) {
        args.inputs.push((name, std::iter::once(Arg::new(ty, Some(value))).collect()));
    }
    evaluate(&args).ok()?.pop()
}
