//! `nn_backend::handle_unused_inputs`: an input that nothing uses is used by an `identity`.
//!
//! The runtime wants every input of a model consumed. The `identity` is dead code, so this runs after the last
//! dead-code elimination. An input that is itself an output is used.

use coremill_mil::{Function, NewOp, OpKind, Place, Program, Use};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "nn_backend::handle_unused_inputs",
    summary: "Gives every unused input an identity op that uses it",
    options: &[],
    spec: include_str!("../../specs/nn_backend/handle_unused_inputs.mil"),
    make: |_: &Options| Box::new(HandleUnusedInputs),
};

struct HandleUnusedInputs;

impl Pass for HandleUnusedInputs {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        program.functions.values_mut().for_each(|f| use_inputs(f, cx));
        Ok(())
    }
}

fn use_inputs(f: &mut Function, cx: &mut PassContext) {
    for v in f.inputs().to_vec() {
        cx.visited += 1;
        let by_op = |u: &Use| matches!(u, Use::Op { .. });
        // A state is no tensor: nothing but reads and writes of state may take it.
        if f.value(v).uses().iter().any(by_op) || f.ty(v).dtype().is_none() || cx.is_exhausted() {
            continue;
        }
        let (name, ty) = (format!("{}_tmp", f.value(v).name), f.ty(v).clone());
        f.insert(Place::End(f.body()), NewOp::new(OpKind::Identity).input("x", v).output(name, ty));
        cx.rewrites += 1;
    }
}
