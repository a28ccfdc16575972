//! Are two programs the same? By structure: the same outputs computed by the same dataflow, whatever the values are
//! called and however independent ops are ordered.
//!
//! Two programs are equal when they have the same functions, and in each
//!
//! * the opset, the inputs (name and type) and the outputs (name, order) are the same,
//! * each output is computed by the same graph: op types, parameters, result types, nested blocks, constants within
//!   a tolerance (2e-3 of the value for `fp16`, 2e-5 for wider floats, nothing for integers),
//! * there are as many ops of each type, `const` apart, so that dead ops count.
//!
//! An attribute and a constant input are the same thing here, since files hold some inputs as attributes; a negative
//! axis is the same as the axis counted from the front. It answers with the first difference as a sentence, not with
//! all of them; [`counts`] shows the rest of the picture.

mod counts;
mod dataflow;
mod literal;
mod values;

use std::collections::BTreeMap;

use indexmap::IndexMap;

pub use counts::{Counts, count_ops, counts};
pub use literal::is_written_as_literal;

use crate::{Function, Program, Type};
use coremill_tensor::Dim;

/// What to look at besides the dataflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// The number of `const` ops.
    pub consts: bool,
    /// The order of the other ops.
    pub order: bool,
    /// The names of values.
    pub names: bool,
    /// Match inputs and outputs by position, whatever they are called.
    pub positional: bool,
}

impl Checks {
    /// The checks of these names: `consts`, `order`, `names`, `positional`.
    ///
    /// # Errors
    /// The first name that is none of them.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Checks, String> {
        let mut checks = Checks::default();
        for name in names {
            match name {
                "consts" => checks.consts = true,
                "order" => checks.order = true,
                "names" => checks.names = true,
                "positional" => checks.positional = true,
                other => return Err(other.to_owned()),
            }
        }
        Ok(checks)
    }
}

/// The first difference between two programs as a sentence; `None` when they are equal.
pub fn compare(a: &Program, b: &Program, checks: Checks) -> Option<String> {
    programs(a, b, checks).err()
}

/// The outcome of a comparison step: nothing, or a sentence that names the difference.
type Same = Result<(), String>;

fn programs(a: &Program, b: &Program, checks: Checks) -> Same {
    let sorted = |p: &Program| {
        let mut names: Vec<String> = p.functions.keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let names = sorted(a);
    if names != sorted(b) {
        return Err(format!("functions {names:?} against {:?}", sorted(b)));
    }
    for name in names {
        if let (Some(a), Some(b)) = (a.functions.get(&name), b.functions.get(&name)) {
            functions(&name, a, b, checks)?;
        }
    }
    Ok(())
}

fn functions(name: &str, a: &Function, b: &Function, checks: Checks) -> Same {
    if a.opset != b.opset {
        return Err(format!("{name}: opset {} against {}", a.opset, b.opset));
    }
    same_inputs(name, a, b, checks.positional)?;
    if !checks.positional && a.output_names() != b.output_names() {
        return Err(format!("{name}: outputs {:?} against {:?}", a.output_names(), b.output_names()));
    }
    let pairs = dataflow::same(name, a, b, checks)?;
    if checks.order {
        same_order(name, a, b, &pairs)?;
    }
    let counts = counts(a, b, checks.consts);
    let differ: Vec<String> =
        counts.iter().filter(|(_, (x, y))| x != y).map(|(op, (x, y))| format!("{op} {x} against {y}")).collect();
    if differ.is_empty() { Ok(()) } else { Err(format!("{name}: numbers of ops differ: {}", differ.join(", "))) }
}

fn same_inputs(name: &str, a: &Function, b: &Function, positional: bool) -> Same {
    let inputs = |f: &Function| -> BTreeMap<String, String> {
        let key = |(i, &v): (usize, &crate::ValueId)| {
            let label = if positional { format!("{i}") } else { f.value(v).name.clone() };
            (label, type_key(f.ty(v)))
        };
        f.inputs().iter().enumerate().map(key).collect()
    };
    let (x, y) = (inputs(a), inputs(b));
    if x == y { Ok(()) } else { Err(format!("{name}: inputs {x:?} against {y:?}")) }
}

/// The type as files can say it: symbols are unknown there.
fn type_key(ty: &Type) -> String {
    fn plain(ty: &Type) -> Type {
        match ty {
            Type::Tensor(t) => {
                let dims = t.shape.iter().map(|d| if d.is_known() { d.clone() } else { Dim::Unknown });
                Type::tensor(t.dtype, dims.collect::<coremill_tensor::Shape>())
            }
            Type::Unranked(_) => ty.clone(),
            // The length is no part of a list's identity.
            Type::List(t, _) => Type::List(Box::new(plain(t)), None),
            Type::Tuple(ts) => Type::Tuple(ts.iter().map(plain).collect()),
            Type::Dict(kv) => Type::Dict(Box::new((plain(&kv.0), plain(&kv.1)))),
            Type::State(t) => Type::State(Box::new(plain(t))),
        }
    }
    plain(ty).to_string()
}

fn same_order(name: &str, a: &Function, b: &Function, pairs: &IndexMap<crate::OpId, crate::OpId>) -> Same {
    let ops = |f: &Function| -> Vec<crate::OpId> {
        f.ops_in(f.body()).filter(|&op| f.op(op).kind != crate::OpKind::Const).collect()
    };
    for (i, (x, y)) in ops(a).into_iter().zip(ops(b)).enumerate() {
        if pairs.get(&x).is_some_and(|p| *p != y) {
            let (x, y) = (a.op(x).type_name(), b.op(y).type_name());
            return Err(format!("{name}: op {i} is {x} against {y}, in another order"));
        }
    }
    Ok(())
}
