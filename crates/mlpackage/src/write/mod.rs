//! MIL as the protobuf's program.
//!
//! Names are wishes in MIL and must be unique in the file: [`names`] makes them so, and keeps the signature. A
//! constant goes to the weight file, when there is one, by Core ML Tools' rule (see [`values`]). Where the format asks
//! for literals or attributes instead of `const` ops, they are written so (see [`ops`]). The program is
//! taken as it is: nothing here verifies it, and what the format can't say is an error with the op's name.

mod names;
mod ops;
mod types;
mod values;

use std::collections::BTreeMap;

use coremill_mil::compare::is_written_as_literal;
use coremill_mil::{Attributes, BlockId, Function, Opset, Program};

use crate::blob::BlobWriter;
use crate::error::{At, Located};
use crate::proto::mil as proto;

pub(crate) use names::Names;

type Write<T> = Result<T, Located>;

/// What a program becomes: the message, and its weight file where it was asked for.
pub(crate) struct Written {
    pub(crate) program: proto::Program,
    pub(crate) weights: Option<BlobWriter>,
}

/// Turns a program into its message. `weights`: may constants go to a weight file?
pub(crate) fn write_program(program: &Program, weights: bool) -> Write<Written> {
    let mut w = Writer { weights: weights.then(BlobWriter::new), opset: Opset::Ios15, inline_bytes: 0 };
    let at = At::root("mlProgram");
    let mut functions = BTreeMap::new();
    for (name, f) in &program.functions {
        functions.insert(name.clone(), w.function(f, &at.key("functions", name))?);
    }
    let message = proto::Program {
        version: program.version,
        functions,
        doc_string: program.doc_string.clone(),
        attributes: w.plain_attributes(&program.attributes, &at)?,
    };
    Ok(Written { program: message, weights: w.weights })
}

struct Writer {
    weights: Option<BlobWriter>,
    opset: Opset,
    /// Bytes of constants that were written inline so far.
    inline_bytes: u64,
}

impl Writer {
    fn function(&mut self, f: &Function, at: &At<'_>) -> Write<proto::Function> {
        self.opset = f.opset;
        let names = Names::new(f).map_err(|what| at.err(crate::ErrorKind::Unwritable(what)))?;
        let opset = f.opset.proto_name().to_owned();
        let mut inputs = Vec::new();
        for (i, &v) in f.inputs().iter().enumerate() {
            inputs.push(types::named(names.of(v), f.ty(v), &at.index("inputs", i))?);
        }
        let body_at = at.key("block_specializations", &opset);
        let mut body = self.block(f, f.body(), &names, &body_at)?;
        body.inputs.clear();
        body.outputs = f.output_names().to_vec();
        for alias in names.aliases() {
            body.operations.push(ops::identity(f, &names, alias, &body_at)?);
        }
        Ok(proto::Function {
            inputs,
            block_specializations: BTreeMap::from([(opset.clone(), body)]),
            opset,
            attributes: self.plain_attributes(&f.attributes, at)?,
        })
    }

    fn block(&mut self, f: &Function, b: BlockId, names: &Names, at: &At<'_>) -> Write<proto::Block> {
        let block = f.block(b);
        let mut out = proto::Block::default();
        for (i, &v) in block.inputs().iter().enumerate() {
            out.inputs.push(types::named(names.of(v), f.ty(v), &at.index("inputs", i))?);
        }
        for op in f.ops_in(b) {
            if !is_written_as_literal(f, op) {
                let label = format!("{} {}", f.op(op).type_name(), names.of_op(op));
                self.op(f, op, names, &mut out.operations, &at.key("operations", &label))?;
            }
        }
        out.outputs = block.outputs().map(|v| names.of(v).to_owned()).collect();
        out.attributes = self.plain_attributes(&block.attributes, at)?;
        Ok(out)
    }

    /// Attributes that stay inline whatever their size.
    fn plain_attributes(&mut self, attributes: &Attributes, at: &At<'_>) -> Write<BTreeMap<String, proto::Value>> {
        attributes.iter().map(|(n, c)| Ok((n.to_owned(), self.inline(c, &at.key("attributes", n))?))).collect()
    }
}
