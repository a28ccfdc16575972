//! `common::materialize_symbolic_shape_program`: functions with symbolic extents get copies with fixed ones.
//!
//! `function_name_to_materialization_map` names new functions and, for each, shapes of inputs of the source function:
//! `{"small": {"x": [1, 64]}}`. A name that exists is replaced. Every extent that follows from the inputs is inferred
//! anew; constants are shared with the source. Without the map nothing changes.

use coremill_mil::{Function, Program, Type, ValueId, infer_op};
use coremill_tensor::Dim;
use serde_json::Value;

use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::materialize_symbolic_shape_program",
    summary: "Makes functions with fixed extents of one with symbolic extents",
    options: &[
        OptionSpec {
            name: "function_name_to_materialization_map",
            kind: OptionKind::Object,
            summary: "For each new function the shapes of inputs: `{\"small\": {\"x\": [1, 64]}}`",
        },
        OptionSpec {
            name: "source_function_name",
            kind: OptionKind::Text,
            summary: "The function with symbolic extents; without it, `main`",
        },
    ],
    spec: include_str!("../../specs/common/materialize_symbolic_shape_program.mil"),
    make: |options: &Options| {
        Box::new(Materialize {
            map: options.get("function_name_to_materialization_map").cloned(),
            source: options.text("source_function_name").unwrap_or("main").to_owned(),
        })
    },
};

struct Materialize {
    map: Option<Value>,
    source: String,
}

impl Pass for Materialize {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        let Some(map) = self.map.as_ref().and_then(Value::as_object) else { return Ok(()) };
        let Some(source) = program.functions.get(&self.source).cloned() else {
            let has: Vec<&str> = program.functions.keys().map(String::as_str).collect();
            let what = format!("there is no function `{}`; there are `{}`", self.source, has.join("`, `"));
            return Err(PassError::unsupported(what));
        };
        for (name, shapes) in map {
            cx.visited += 1;
            if cx.is_exhausted() {
                return Ok(());
            }
            let mut f = source.clone();
            let changed = set_inputs(&mut f, name, shapes)?;
            if changed == 0 && *name == self.source {
                continue;
            }
            infer_again(&mut f, name)?;
            cx.rewrites += 1;
            program.functions.insert(name.clone(), f);
        }
        Ok(())
    }
}

/// Gives inputs the shapes asked for. Returns how many extents became fixed.
fn set_inputs(f: &mut Function, name: &str, shapes: &Value) -> Result<usize, PassError> {
    let wrong = |what: String| PassError::unsupported(format!("function `{name}`: {what}"));
    let Some(shapes) = shapes.as_object() else {
        return Err(wrong("its shapes are no object; write {\"INPUT\": [EXTENT, ...]}".to_owned()));
    };
    // What each symbol stands for, so that one symbol is one number everywhere.
    let mut symbols: Vec<(Dim, u64)> = Vec::new();
    let mut given: Vec<(ValueId, Vec<u64>)> = Vec::new();
    for (input, shape) in shapes {
        let Some(v) = f.inputs().iter().copied().find(|&v| f.value(v).name == *input) else {
            return Err(wrong(format!("there is no input `{input}`")));
        };
        let extents: Option<Vec<u64>> = shape.as_array().and_then(|s| s.iter().map(Value::as_u64).collect());
        let old = f.ty(v).shape().cloned();
        let (Some(extents), Some(old)) = (extents, old) else {
            return Err(wrong(format!("the shape of `{input}` is no list of numbers")));
        };
        if extents.len() != old.rank() {
            return Err(wrong(format!("`{input}` is of rank {}, and {} extents are given", old.rank(), extents.len())));
        }
        given.push((v, extents.clone()));
        for (dim, n) in old.iter().zip(extents) {
            let known = dim.known().or_else(|| symbols.iter().find(|(d, _)| d.same(dim) == Some(true)).map(|s| s.1));
            match known {
                Some(is) if is != n => {
                    return Err(wrong(format!("an extent of `{input}` is {is}, and {n} is asked for")));
                }
                Some(_) => {}
                None => symbols.push((dim.clone(), n)),
            }
        }
    }
    let fix = |d: &Dim| symbols.iter().find(|(s, _)| s.same(d) == Some(true)).map_or(d.clone(), |s| Dim::from(s.1));
    let mut changed = 0;
    for v in f.inputs().to_vec() {
        // An extent without a symbol stands for itself alone.
        let own = given.iter().find(|(g, _)| *g == v).map(|(_, extents)| extents.as_slice());
        changed += fix_type(f, v, own, &fix);
    }
    Ok(changed)
}

fn fix_type(f: &mut Function, v: ValueId, own: Option<&[u64]>, fix: &impl Fn(&Dim) -> Dim) -> usize {
    let mut ty = f.ty(v).clone();
    let Type::Tensor(tensor) = &mut ty else { return 0 };
    let mut changed = 0;
    for (i, d) in tensor.shape.dims_mut().iter_mut().enumerate() {
        let new = own.and_then(|o| o.get(i)).map_or_else(|| fix(d), |&n| Dim::from(n));
        changed += usize::from(new.known() != d.known());
        *d = new;
    }
    f.set_type(v, ty);
    changed
}

/// Infers the types of all results from the inputs on.
fn infer_again(f: &mut Function, name: &str) -> Result<(), PassError> {
    for op in f.all_ops() {
        if !f.op(op).blocks().is_empty() {
            let what = format!("function `{name}`: `{}` holds blocks, whose types are not inferred anew", f.kind(op));
            return Err(PassError::Unsupported { what, op: Some(op) });
        }
        if f.op(op).const_value().is_some() {
            continue;
        }
        let types = infer_op(f, op);
        let types = types.map_err(|error| PassError::Infer { rule: "materialize", kind: f.kind(op), error })?;
        for (v, ty) in f.op(op).outputs().to_vec().into_iter().zip(types) {
            f.set_type(v, ty);
        }
    }
    Ok(())
}
