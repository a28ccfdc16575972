//! `common::update_output_dtypes`: outputs get the element types that the user asks for.
//!
//! `output_types` names one for each output, in their order; `keep` leaves one as it is. An output of another type is cast
//! at the end of the function. An output that is an input too stays, since a program cannot change what it is given,
//! and so does one that is no tensor. Names stay. Without the option nothing changes.

use std::str::FromStr;

use coremill_mil::{Builder, Const, Function, OpKind, Place, Program, Type, Use};
use coremill_tensor::DType;

use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::update_output_dtypes",
    summary: "Casts outputs to the element types that are asked for",
    options: &[OptionSpec {
        name: "output_types",
        kind: OptionKind::Texts,
        summary: "An element type (`fp16`, `fp32`, `int32`, ...) or `keep` for each output, in order; without it, all stay",
    }],
    spec: include_str!("../../specs/common/update_output_dtypes.mil"),
    make: |options: &Options| Box::new(UpdateOutputDtypes { types: options.texts("output_types") }),
};

struct UpdateOutputDtypes {
    types: Vec<String>,
}

impl Pass for UpdateOutputDtypes {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        if self.types.is_empty() {
            return Ok(());
        }
        let mut wanted = Vec::new();
        for text in &self.types {
            wanted.push(match text.as_str() {
                "keep" => None,
                text => Some(DType::from_str(text).map_err(|_| {
                    PassError::unsupported(format!(
                        "`output_types` has `{text}`, which is no element type; write `fp16` or `keep`"
                    ))
                })?),
            });
        }
        for (name, f) in &mut program.functions {
            let outputs = f.outputs().count();
            if outputs != wanted.len() {
                let what =
                    format!("function `{name}` has {outputs} outputs, and `output_types` names {}", wanted.len());
                return Err(PassError::unsupported(what));
            }
            cast_outputs(f, &wanted, cx)?;
        }
        Ok(())
    }
}

fn cast_outputs(f: &mut Function, wanted: &[Option<DType>], cx: &mut PassContext) -> Result<(), PassError> {
    for (index, want) in wanted.iter().enumerate() {
        let Some(v) = f.outputs().nth(index) else { continue };
        cx.visited += 1;
        let (Some(want), Type::Tensor(ty)) = (want, f.ty(v)) else { continue };
        if ty.dtype == *want || cx.is_exhausted() {
            continue;
        }
        let (name, old) = (f.value(v).name.clone(), ty.dtype.name());
        let body = f.body();
        let Some(maker) = f.producer(v) else {
            cx.notes.push(format!("output `{}` is an input too, so it stays {old}", f.output_names()[index]));
            continue;
        };
        let mut origin = f.op(maker).origin.clone();
        origin.touch(&cx.id);
        let mut b = Builder::new(f, Place::End(body)).with_origin(origin);
        let cast = b.op(OpKind::Cast).input("x", v).literal("dtype", Const::string(want.name())).name(name.clone());
        let new = cast.one().map_err(|error| PassError::Infer { rule: "cast", kind: OpKind::Cast, error })?;
        f.set_use_at(Use::Output { block: body, index: index as u32 }, new);
        f.set_name(v, format!("{name}_type_{old}"));
        cx.rewrites += 1;
    }
    Ok(())
}
