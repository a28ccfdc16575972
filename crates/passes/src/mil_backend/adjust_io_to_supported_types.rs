//! `mil_backend::adjust_io_to_supported_types`: inputs and outputs of the dtypes that Core ML passes in and out.
//!
//! Of `main`: an input or output that is not `fp32`, `int32` or, from ios16, `fp16` becomes `int32` where it is an
//! integer and `fp32` otherwise, with a `cast` from or to what the program works with, where the runtime has that
//! dtype at all; what it does not have (`int64`, `fp64`) is retyped without a cast. The result of `classify` keeps
//! its `int64` labels. Of other functions: an input of a dtype that the runtime does not have is retyped.

use coremill_mil::{Const, Function, NewOp, OpKind, Opset, Place, Program, TensorType, Type, Use, ValueId};
use coremill_tensor::DType;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "mil_backend::adjust_io_to_supported_types",
    summary: "Gives inputs and outputs dtypes that Core ML passes in and out",
    options: &[],
    spec: include_str!("../../specs/mil_backend/adjust_io_to_supported_types.mil"),
    make: |_: &Options| Box::new(AdjustIoToSupportedTypes),
};

struct AdjustIoToSupportedTypes;

impl Pass for AdjustIoToSupportedTypes {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for (name, f) in &mut program.functions {
            if name == "main" {
                inputs_of_main(f, cx);
                outputs_of_main(f, cx);
            } else {
                inputs_of_other(f, cx);
            }
        }
        Ok(())
    }
}

fn passes_in_and_out(d: DType, opset: Opset) -> bool {
    matches!(d, DType::Fp32 | DType::Int32) || (d == DType::Fp16 && opset >= Opset::Ios16)
}

fn runs(d: DType, opset: Opset) -> bool {
    use DType::*;
    matches!(d, Fp16 | Fp32 | Int32 | String | Bool)
        || (opset >= Opset::Ios17 && matches!(d, Int8 | UInt8 | Int16 | UInt16))
}

/// What takes the place of a dtype that is not passed in and out.
fn substitute(d: DType) -> DType {
    if d.is_int() { DType::Int32 } else { DType::Fp32 }
}

fn retyped(ty: &Type, dtype: DType) -> Type {
    match ty {
        Type::Tensor(t) => Type::Tensor(TensorType { dtype, shape: t.shape.clone() }),
        Type::Unranked(_) => Type::Unranked(dtype),
        other => other.clone(),
    }
}

/// Inserts `cast(x)` and returns its result.
fn cast(f: &mut Function, place: Place, x: ValueId, to: DType, name: String) -> ValueId {
    let ty = retyped(f.ty(x), to);
    let dtype = f.insert_const(place, format!("{name}_dtype_0"), Const::string(to.name()));
    let place = match place {
        Place::Start(_) => Place::After(f.producer(dtype).expect("invariant: a const op was just made")),
        other => other,
    };
    let op = f.insert(place, NewOp::new(OpKind::Cast).input("dtype", dtype).input("x", x).output(name, ty));
    f.op(op).output()
}

fn inputs_of_main(f: &mut Function, cx: &mut PassContext) {
    for v in f.inputs().to_vec() {
        let Some(old) = f.ty(v).dtype() else { continue };
        if passes_in_and_out(old, f.opset) {
            continue;
        }
        let new = substitute(old);
        let name = f.value(v).name.clone();
        f.set_type(v, retyped(f.ty(v), new));
        cx.rewrites += 1;
        cx.notes.push(format!("input `{name}` was {old}, which Core ML does not pass in; it is {new} now"));
        if runs(old, f.opset) {
            let place = Place::Start(f.body());
            let inner = cast(f, place, v, old, format!("{name}_to_{old}"));
            let maker = f.producer(inner);
            f.replace_uses_if(v, inner, |u| !matches!(u, Use::Op { op, .. } if Some(*op) == maker));
        }
    }
}

fn outputs_of_main(f: &mut Function, cx: &mut PassContext) {
    let names = f.output_names().to_vec();
    let mut outputs: Vec<(String, ValueId)> = names.into_iter().zip(f.outputs()).collect();
    let before = cx.rewrites;
    for (name, v) in &mut outputs {
        let Some(old) = f.ty(*v).dtype() else { continue };
        let is_label = f.producer_of(*v, OpKind::Classify).is_some();
        if passes_in_and_out(old, f.opset) || is_label {
            continue;
        }
        let new = substitute(old);
        f.set_name(*v, format!("{name}__pre__output__{new}__cast"));
        *v = cast(f, Place::End(f.body()), *v, new, name.clone());
        cx.rewrites += 1;
        cx.notes.push(format!("output `{name}` is {old}, which Core ML does not pass out; it is cast to {new}"));
    }
    if cx.rewrites != before {
        f.set_outputs(outputs);
    }
}

fn inputs_of_other(f: &mut Function, cx: &mut PassContext) {
    for v in f.inputs().to_vec() {
        if let Some(old) = f.ty(v).dtype().filter(|&d| !runs(d, f.opset)) {
            f.set_type(v, retyped(f.ty(v), substitute(old)));
            cx.rewrites += 1;
        }
    }
}
