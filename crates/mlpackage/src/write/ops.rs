//! Ops, with the places where the file's form differs from MIL's.
//!
//! * Arguments of `constexpr_*` are attributes in definitions from before ios18, and from then on literals, or names
//!   of other `constexpr_*` results.
//! * `classify` takes its classes, and `reshape_like` its `begins`, `ends` and `end_masks`, as literals.
//! * `coreml_update_state` is no op of the file: it is a `write_state`, and a `read_state` if its result is used.

use std::collections::BTreeMap;

use coremill_mil::{Function, Op, OpId, OpKind, Opset, ValueId, version_of};

use super::values::string;
use super::{Names, Write, Writer, types};
use crate::ErrorKind;
use crate::error::At;
use crate::proto::mil as proto;

/// Is it one of the ops that hold compressed constants?
pub(super) fn is_constexpr(op: &Op) -> bool {
    op.type_name().starts_with("constexpr_")
}

/// How the arguments of an op stand in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Attributes,
    Literals,
    Names,
}

fn form_of(op: &Op, param: &str, opset: Opset) -> Form {
    let literal = match op.kind {
        OpKind::Classify => param == "classes",
        OpKind::ReshapeLike => matches!(param, "begins" | "ends" | "end_masks"),
        _ => is_constexpr(op),
    };
    let attributes = is_constexpr(op) && version_of(op.kind, opset).is_some_and(|v| v.as_attributes);
    match (attributes, literal) {
        (true, _) => Form::Attributes,
        (_, true) => Form::Literals,
        _ => Form::Names,
    }
}

impl Writer {
    pub(super) fn op(
        &mut self,
        f: &Function,
        id: OpId,
        names: &Names,
        out: &mut Vec<proto::Operation>,
        at: &At<'_>,
    ) -> Write<()> {
        let op = f.op(id);
        if op.kind == OpKind::CoremlUpdateState {
            return update_state(f, id, names, out, at);
        }
        let mut p = proto::Operation { r#type: op.type_name().to_owned(), ..proto::Operation::default() };
        p.attributes.insert("name".to_owned(), string(names.of_op(id)));
        for (name, c) in op.attributes.iter() {
            p.attributes.insert(name.to_owned(), self.value(c, &at.key("attributes", name))?);
        }
        for (param, args) in op.inputs() {
            let at = at.key("inputs", param);
            let form = form_of(op, param, f.opset);
            let mut arguments = Vec::new();
            for v in args {
                match (form, f.const_value(v)) {
                    (Form::Attributes, Some(c)) => {
                        p.attributes.insert(param.to_owned(), self.value(c, &at)?);
                    }
                    (Form::Attributes, None) => {
                        let what = format!("must be a constant in {}", f.opset);
                        return Err(at.err(ErrorKind::Unwritable(what)));
                    }
                    (Form::Literals, Some(c)) => {
                        // Only weights of `constexpr_*` may stand in the file as literals.
                        let value = if is_constexpr(op) { self.value(c, &at)? } else { self.inline(c, &at)? };
                        arguments.push(proto::Binding { binding: Some(proto::Bound::Value(value)) });
                    }
                    _ => arguments.push(by_name(names.of(v))),
                }
            }
            if form != Form::Attributes {
                p.inputs.insert(param.to_owned(), proto::Argument { arguments });
            }
        }
        for (i, &b) in op.blocks().iter().enumerate() {
            p.blocks.push(self.block(f, b, names, &at.index("blocks", i))?);
        }
        for (i, &v) in op.outputs().iter().enumerate() {
            p.outputs.push(types::named(names.of(v), f.ty(v), &at.index("outputs", i))?);
        }
        out.push(p);
        Ok(())
    }
}

fn by_name(name: &str) -> proto::Binding {
    proto::Binding { binding: Some(proto::Bound::Name(name.to_owned())) }
}

fn argument(name: &str) -> proto::Argument {
    proto::Argument { arguments: vec![by_name(name)] }
}

fn update_state(f: &Function, id: OpId, names: &Names, out: &mut Vec<proto::Operation>, at: &At<'_>) -> Write<()> {
    let op = f.op(id);
    let arg = |param: &str| {
        let missing = || at.err(ErrorKind::Unwritable(format!("has no `{param}`")));
        op.arg(param).map(|v| argument(names.of(v))).ok_or_else(missing)
    };
    let name = names.of_op(id);
    out.push(proto::Operation {
        r#type: OpKind::WriteState.name().to_owned(),
        inputs: BTreeMap::from([("input".to_owned(), arg("state")?), ("data".to_owned(), arg("value")?)]),
        attributes: BTreeMap::from([("name".to_owned(), string(&format!("{name}_write_state")))]),
        ..proto::Operation::default()
    });
    let Some(&v) = op.outputs().first().filter(|&&v| !f.value(v).uses().is_empty()) else { return Ok(()) };
    out.push(proto::Operation {
        r#type: OpKind::ReadState.name().to_owned(),
        inputs: BTreeMap::from([("input".to_owned(), arg("state")?)]),
        attributes: BTreeMap::from([("name".to_owned(), string(name))]),
        outputs: vec![types::named(names.of(v), f.ty(v), &at.index("outputs", 0))?],
        ..proto::Operation::default()
    });
    Ok(())
}

/// An op that gives a value a second name, for an output that is an input or another output as well.
pub(super) fn identity(
    f: &Function,
    names: &Names,
    (name, v): &(String, ValueId),
    at: &At<'_>,
) -> Write<proto::Operation> {
    let output = proto::NamedValueType { name: name.clone(), r#type: Some(types::value_type(f.ty(*v), at)?) };
    Ok(proto::Operation {
        r#type: OpKind::Identity.name().to_owned(),
        inputs: BTreeMap::from([("x".to_owned(), argument(names.of(*v)))]),
        attributes: BTreeMap::from([("name".to_owned(), string(name))]),
        outputs: vec![output],
        ..proto::Operation::default()
    })
}
