//! The protobuf's program as MIL.
//!
//! Everything a program holds survives: ops the table does not know, attributes wherever they stand, literal
//! arguments (as `const` ops that [`crate::write`] makes literals again where the format asks for them). Names are
//! looked up block by block, inner before outer, and what is defined last wins, as Core ML does.
//!
//! What it does not do: check ops against the op table (the verifier does), or read a function that has bodies for
//! several opsets (no tool writes such).

mod types;
mod values;

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use coremill_mil::{
    Attributes, BlockId, Const, Function, NewOp, OpId, OpKind, Opset, Place, Program, Type, ValueId, version_of,
};
use indexmap::IndexMap;
use prost::Message;
use smallvec::SmallVec;

use crate::blob::BlobFile;
use crate::error::{At, Located};
use crate::proto::mil as proto;
use crate::{Error, ErrorKind};

type Read<T> = Result<T, Located>;

/// Where weight files come from: path relative to the model's folder, to bytes.
pub(crate) type WeightSource<'a> = dyn Fn(&str) -> Result<Bytes, Error> + 'a;

/// What was read besides the program.
pub(crate) struct Outcome {
    pub(crate) program: Program,
    /// Paths of the weight files that were referred to, relative to the model's folder, sorted.
    pub(crate) weight_files: Vec<String>,
}

/// Reads an encoded program. `file` is for errors.
pub(crate) fn read_program(file: &str, bytes: &Bytes, weights: &WeightSource<'_>) -> Result<Outcome, Error> {
    let message =
        proto::Program::decode(bytes.clone()).map_err(|e| Error::new(file, ErrorKind::Protobuf(e.to_string())))?;
    let mut reader = Reader { weights, blobs: HashMap::new(), opset: Opset::Ios15 };
    let program = reader.program(message).map_err(|e| e.in_file(file))?;
    let mut weight_files: Vec<String> = reader.blobs.into_keys().collect();
    weight_files.sort_unstable();
    Ok(Outcome { program, weight_files })
}

struct Reader<'a> {
    weights: &'a WeightSource<'a>,
    blobs: HashMap<String, BlobFile>,
    opset: Opset,
}

/// Values by name, a map per block from the function's body in.
#[derive(Default)]
struct Scopes(Vec<HashMap<String, ValueId>>);

impl Scopes {
    fn find(&self, name: &str) -> Option<ValueId> {
        self.0.iter().rev().find_map(|s| s.get(name)).copied()
    }

    fn define(&mut self, name: String, v: ValueId) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert(name, v);
        }
    }
}

impl Reader<'_> {
    fn program(&mut self, p: proto::Program) -> Read<Program> {
        let at = At::root("mlProgram");
        let attributes = self.attributes(p.attributes, &at)?;
        let mut functions = IndexMap::new();
        for (name, f) in p.functions {
            let function = self.function(f, &at.key("functions", &name))?;
            functions.insert(name, function);
        }
        Ok(Program { functions, attributes, version: p.version, doc_string: p.doc_string })
    }

    fn function(&mut self, mut p: proto::Function, at: &At<'_>) -> Read<Function> {
        let opset = Opset::from_proto_name(&p.opset)
            .ok_or_else(|| at.field("opset").err(ErrorKind::UnknownOpset(p.opset.clone())))?;
        self.opset = opset;
        let mut f = Function::new(opset);
        f.attributes = self.attributes(p.attributes, at)?;
        let Some(block) = p.block_specializations.remove(&p.opset) else {
            return Err(at.malformed(format!("has no body for its opset {}", p.opset)));
        };
        if let Some(other) = p.block_specializations.keys().next() {
            return Err(at.malformed(format!("has a second body, for {other}; only one can be read")));
        }
        let at = at.key("block_specializations", &p.opset);
        let body = f.body();
        let mut scopes = Scopes(vec![HashMap::new()]);
        for (i, input) in p.inputs.into_iter().enumerate() {
            let ty = self.named_type(&input, &at.index("inputs", i))?;
            let v = f.add_input(body, input.name.clone(), ty);
            if scopes.0.iter_mut().any(|s| s.insert(input.name.clone(), v).is_some()) {
                let what = format!("a second input is called `{}`", input.name);
                return Err(at.index("inputs", i).malformed(what));
            }
        }
        if !block.inputs.is_empty() {
            return Err(at.field("inputs").malformed("a function's body has inputs of its own"));
        }
        let names = block.outputs.clone();
        let outputs = self.block(&mut f, body, block, &mut scopes, &at)?;
        f.set_outputs(names.into_iter().zip(outputs).collect());
        Ok(f)
    }

    /// Reads the ops of a block whose inputs are in scope, and returns its outputs.
    fn block(
        &mut self,
        f: &mut Function,
        id: BlockId,
        p: proto::Block,
        scopes: &mut Scopes,
        at: &At<'_>,
    ) -> Read<Vec<ValueId>> {
        let attributes = self.attributes(p.attributes, at)?;
        if !attributes.is_empty() {
            *f.block_attributes_mut(id) = attributes;
        }
        for (i, op) in p.operations.into_iter().enumerate() {
            self.op(f, id, op, scopes, &at.index("operations", i))?;
        }
        let mut outputs = Vec::new();
        for (i, name) in p.outputs.into_iter().enumerate() {
            match scopes.find(&name) {
                Some(v) => outputs.push(v),
                None => return Err(at.index("outputs", i).err(ErrorKind::UndefinedValue(name))),
            }
        }
        Ok(outputs)
    }

    fn op(
        &mut self,
        f: &mut Function,
        block: BlockId,
        mut p: proto::Operation,
        scopes: &mut Scopes,
        at: &At<'_>,
    ) -> Read<()> {
        let kind = OpKind::from_name(&p.r#type).unwrap_or(OpKind::Unknown);
        let mut new = NewOp::new(kind);
        if kind == OpKind::Unknown {
            new.unknown_type = Some(p.r#type);
        }
        new.attributes = self.attributes(p.attributes, at)?;
        if let Some(name) = new.attributes.get("name").and_then(scalar_string) {
            new.name = Some(name.to_owned());
            new.attributes.remove("name");
        }
        if kind == OpKind::Const && (!new.attributes.contains_key("val") || p.outputs.len() != 1) {
            return Err(at.malformed("a `const` needs a `val` attribute and one output"));
        }
        let label = new.name.clone().or_else(|| p.outputs.first().map(|o| o.name.clone())).unwrap_or_default();
        for (param, argument) in std::mem::take(&mut p.inputs) {
            let at = at.key("inputs", &param);
            let mut args = SmallVec::new();
            for (i, binding) in argument.arguments.into_iter().enumerate() {
                let at = at.index("arguments", i);
                args.push(match binding.binding {
                    Some(proto::Bound::Name(name)) => {
                        scopes.find(&name).ok_or_else(|| at.err(ErrorKind::UndefinedValue(name)))?
                    }
                    Some(proto::Bound::Value(v)) => {
                        let value = self.value(v, &at.field("value"))?;
                        f.insert_const(Place::End(block), format!("{label}_{param}_{i}"), value)
                    }
                    None => return Err(at.malformed("is bound to nothing")),
                });
            }
            new.inputs.push((param_name(kind, self.opset, param.clone()), args));
        }
        let types = p
            .outputs
            .iter()
            .enumerate()
            .map(|(i, o)| self.named_type(o, &at.index("outputs", i)))
            .collect::<Read<Vec<Type>>>()?;
        new.outputs = p.outputs.iter().map(|o| o.name.clone()).zip(types).collect();
        let op = f.insert(Place::End(block), new);
        self.nested(f, op, p.blocks, scopes, at)?;
        for (output, &v) in p.outputs.into_iter().zip(f.op(op).outputs()) {
            scopes.define(output.name, v);
        }
        Ok(())
    }

    fn nested(
        &mut self,
        f: &mut Function,
        op: OpId,
        blocks: Vec<proto::Block>,
        scopes: &mut Scopes,
        at: &At<'_>,
    ) -> Read<()> {
        for (i, mut p) in blocks.into_iter().enumerate() {
            let at = at.index("blocks", i);
            let block = f.add_block(op);
            scopes.0.push(HashMap::new());
            for (i, input) in std::mem::take(&mut p.inputs).into_iter().enumerate() {
                let ty = self.named_type(&input, &at.index("inputs", i))?;
                let v = f.add_input(block, input.name.clone(), ty);
                scopes.define(input.name, v);
            }
            let outputs = self.block(f, block, p, scopes, &at)?;
            f.set_outputs_of(block, &outputs);
            scopes.0.pop();
        }
        Ok(())
    }

    fn attributes(&mut self, map: std::collections::BTreeMap<String, proto::Value>, at: &At<'_>) -> Read<Attributes> {
        let mut out = Vec::with_capacity(map.len());
        for (name, value) in map {
            let value = self.value(value, &at.key("attributes", &name))?;
            out.push((name, value));
        }
        Ok(out.into_iter().collect())
    }
}

/// The text of a scalar string, and of nothing else.
fn scalar_string(c: &Const) -> Option<&str> {
    match c {
        Const::Strings(shape, v) if shape.is_empty() => v.first().map(String::as_str),
        _ => None,
    }
}

/// A parameter's name, borrowed from the op table where it is there.
fn param_name(kind: OpKind, opset: Opset, name: String) -> Cow<'static, str> {
    match version_of(kind, opset).and_then(|v| v.input(&name)) {
        Some(spec) => Cow::Borrowed(spec.name),
        None => Cow::Owned(name),
    }
}
