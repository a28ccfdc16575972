//! `common::expand_dynamic_linear`: a `linear` whose weight or bias is computed becomes a `matmul` and an `add`.
//!
//! `linear` takes constants and compressed weights only. A front end uses it too where constant folding may still make a
//! constant; what has not become one by the time this pass runs is computed. With a constant weight the `linear` stays and the
//! bias is added behind it. A bias that is all zeros is left out.

use coremill_mil::{Const, Function, OpId, OpKind, Program, ValueId};

use crate::matching::{float_const, is_compressed};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::{NewPatchOp, Patch};
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::expand_dynamic_linear",
    summary: "Replaces a linear whose weight or bias is computed by matmul and add",
    options: &[],
    spec: include_str!("../../specs/common/expand_dynamic_linear.mil"),
    make: |_: &Options| Box::new(ExpandDynamicLinear),
};

struct ExpandDynamicLinear;

impl Pass for ExpandDynamicLinear {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

fn is_static(f: &Function, v: ValueId) -> bool {
    f.const_value(v).is_some() || is_compressed(f, v)
}

/// Is it zero whatever the runtime makes of it? A compressed one is, when all that is stored is the zero point.
fn is_zero(f: &Function, v: ValueId) -> bool {
    let all = |c: &Const, n: f64| c.as_data().and_then(|d| d.to_f64s()).is_some_and(|v| v.iter().all(|&v| v == n));
    if let Some(c) = f.const_value(v) {
        return all(c, 0.0);
    }
    let Some(op) = f.producer_of(v, OpKind::ConstexprAffineDequantize) else { return false };
    let parameter = |name| f.const_arg(op, name).or_else(|| f.op(op).attributes.get(name));
    let zero = parameter("zero_point").and_then(Const::as_f64);
    parameter("quantized_data").zip(zero).is_some_and(|(data, zero)| all(data, zero))
}

impl Rewrite for ExpandDynamicLinear {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Linear]
    }

    fn find(&self, f: &Function, linear: OpId) -> Option<Patch> {
        let (x, weight) = (f.op(linear).arg("x")?, f.op(linear).arg("weight")?);
        let bias = f.op(linear).arg("bias");
        let added = bias.filter(|&b| !is_static(f, b) || (!is_static(f, weight) && !is_zero(f, b)));
        if is_static(f, weight) && added.is_none() {
            return None;
        }
        let out = f.op(linear).output();
        let name = f.value(out).name.clone();
        let inner = if added.is_some() { format!("{name}_product") } else { name.clone() };
        let mut patch = Patch::before(f, linear, "computed_operand");
        let new = if is_static(f, weight) {
            let ty = f.ty(weight).as_tensor()?;
            let outputs = ty.shape.first()?.known()? as usize;
            let zeros = float_const(ty.dtype, &[outputs], vec![0.0; outputs])?;
            NewPatchOp::new(OpKind::Linear, inner).input("x", x).input("weight", weight).literal("bias", zeros)
        } else {
            let new = NewPatchOp::new(OpKind::Matmul, inner).input("x", x).input("y", weight);
            new.literal("transpose_x", Const::bool(false)).literal("transpose_y", Const::bool(true))
        };
        let mut result = patch.make(new);
        if let Some(bias) = added {
            result = patch.make(NewPatchOp::new(OpKind::Add, name).input("x", result).input("y", bias));
        }
        patch.replace_op(f, linear, result);
        Some(patch)
    }
}
