//! One op held to the op table.

use super::{Problem, Stage};
use crate::schema::{self, Flags};
use crate::{Function, InferError, OpArgs, OpId, OpKind, OpVersion, infer};

/// Adds what is wrong with an op's kind, inputs and result types. `constant` tells by value what is known at
/// compile time.
pub(super) fn check(f: &Function, id: OpId, stage: Stage, constant: &[bool], out: &mut Vec<Problem>) {
    let op = f.op(id);
    let Some(schema) = crate::schema_of(op.kind) else {
        out.push(Problem::UnknownOp(op.type_name().to_owned()));
        return;
    };
    // A state's update is written as the two ops it stands for.
    if stage == Stage::Written && schema.flags.has(Flags::DIALECT) && op.kind != OpKind::CoremlUpdateState {
        out.push(Problem::Dialect);
    }
    let Some(version) = schema.version(f.opset) else {
        out.push(Problem::NotInOpset { since: schema.since(), opset: f.opset });
        return;
    };
    let args = OpArgs::of(f, id);
    let before = out.len();
    inputs(f, id, version, &args, constant, out);
    // Where inputs are wrong, the types that follow from them are wrong too: say it once.
    if out.len() == before {
        results(f, id, &args, constant, out);
    }
}

fn inputs(f: &Function, id: OpId, version: &OpVersion, args: &OpArgs<'_>, constant: &[bool], out: &mut Vec<Problem>) {
    let op = f.op(id);
    for (name, given) in op.inputs() {
        let Some(spec) = version.input(name) else {
            out.push(Problem::UnknownInput { input: name.to_owned(), opset: f.opset });
            continue;
        };
        if given.len() > 1 && !spec.variadic {
            out.push(Problem::TooManyArguments { input: spec.name, given: given.len() });
        }
        if spec.constant && given.into_iter().any(|v| !constant[v.index()]) {
            out.push(Problem::NotConstant(spec.name));
        }
    }
    for e in schema::check_inputs(args).err().unwrap_or_default() {
        match e {
            InferError::Missing(input) => out.push(Problem::MissingInput(input)),
            InferError::Bad { input, what } => out.push(Problem::InputType { input, what }),
            // An input that there is not, which was told above.
            _ => {}
        }
    }
}

fn results(f: &Function, id: OpId, args: &OpArgs<'_>, constant: &[bool], out: &mut Vec<Problem>) {
    let op = f.op(id);
    let types = match infer(args) {
        Ok(types) => types,
        // Known at compile time, but not yet computed: there is nothing to hold the declared types to.
        Err(InferError::NotConstant(input)) if op.args(input).all(|v| constant[v.index()]) => return,
        // Without a value it is what it is declared to be.
        Err(_) if op.kind == OpKind::ConstSymbolic => return,
        Err(e) => {
            out.push(Problem::NoTypes(e));
            return;
        }
    };
    if types.len() != op.outputs().len() {
        out.push(Problem::ResultCount { declared: op.outputs().len(), inferred: types.len() });
        return;
    }
    for (index, (inferred, &v)) in types.into_iter().zip(op.outputs()).enumerate() {
        let declared = f.ty(v);
        if !inferred.compatible(declared) {
            out.push(Problem::ResultType { index, declared: declared.clone(), inferred });
        }
    }
}

/// Are the op's results known at compile time? A constant's, a compressed weight's, those of an op all of whose
/// arguments are (as the peer has it), and the extents of a tensor of known shape.
pub(super) fn is_constant(f: &Function, id: OpId, constant: &[bool]) -> bool {
    let op = f.op(id);
    let Some(schema) = crate::schema_of(op.kind) else { return false };
    if op.kind == OpKind::Shape
        && op.arg("x").and_then(|x| f.ty(x).shape()).is_some_and(coremill_tensor::Shape::is_known)
    {
        return true;
    }
    schema.flags.has(Flags::PURE)
        && !schema.flags.has(Flags::CONTROL_FLOW)
        && op.operands().all(|v| constant[v.index()])
}
