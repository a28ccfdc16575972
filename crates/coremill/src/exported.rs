//! `.pt2` files: the one place of the library that knows their reader and the lowering.

use std::collections::BTreeMap;
use std::path::Path;

use coremill_executorch::pte::program::{ContainerMetadata, EValue, ScalarType};
use coremill_executorch::pte::{InputSpec, TensorSpec};
use coremill_mil::{Opset, Program};
use coremill_mlpackage::{Describe, Source as MadeFrom};
use coremill_torch_export::lower::{LowerError, LowerOptions, lower as lower_aten};
use coremill_torch_export::{Argument, ExportedProgram, InputKind, SymInt, TensorMeta, read};
use serde_json::{Value, json};

use crate::Error;
use crate::method::Signature;

/// A lowered `.pt2`, before any pipeline.
pub(crate) struct Source {
    pub(crate) program: Program,
    /// How callers see it; why a `.pte` cannot be written, where it cannot.
    pub(crate) method: Result<Signature, String>,
    /// What the model will say it was made from.
    pub(crate) source: MadeFrom,
    /// Ranges of its symbols.
    pub(crate) describe: Describe,
    /// The opset it is for.
    pub(crate) opset: Opset,
}

/// The program of a `.pt2` as MIL, for this opset or the oldest that will do.
pub(crate) fn lower(path: &Path, opset: Option<Opset>) -> Result<Source, Error> {
    let exported = read(path).map_err(|e| Error::Pt2(e.to_string()))?;
    let failed = |e: LowerError| Error::unusable(path.display(), e.to_string());
    let (program, opset) = match opset {
        Some(opset) => (lower_aten(&exported, LowerOptions { opset }).map_err(failed)?, opset),
        None => oldest(&exported).map_err(failed)?,
    };
    Ok(Source {
        program,
        method: signature(&exported),
        source: MadeFrom {
            framework: Some(format!("torch=={}", exported.torch_version)),
            dialect: exported.dialects.first().map(|d| format!("TorchExport::{d}")),
        },
        describe: Describe { ranges: ranges(&exported), ..Describe::default() },
        opset,
    })
}

/// The program for the oldest opset that has all its ops.
fn oldest(exported: &ExportedProgram) -> Result<(Program, Opset), LowerError> {
    let mut last = None;
    for opset in Opset::ALL {
        match lower_aten(exported, LowerOptions { opset }) {
            Ok(program) => return Ok((program, opset)),
            // A node may need an op, or a form of one, that came later.
            Err(e @ LowerError::Nodes(_)) => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or(LowerError::Nodes(Vec::new())))
}

fn ranges(exported: &ExportedProgram) -> BTreeMap<String, (u64, Option<u64>)> {
    let size = |n: i64| u64::try_from(n).ok();
    let range = |(name, r): (&String, &coremill_torch_export::Range)| {
        (name.clone(), (r.min.and_then(size).unwrap_or(1), r.max.and_then(size)))
    };
    exported.ranges.iter().map(range).collect()
}

/// How callers see the program; the error is a sentence, and says why a `.pte` cannot be written.
fn signature(exported: &ExportedProgram) -> Result<Signature, String> {
    let mut inputs = Vec::new();
    let mut model_inputs = Vec::new();
    for (i, input) in exported.user_inputs().enumerate() {
        inputs.push(match (&input.arg, &input.kind) {
            (Argument::Tensor(v), _) => {
                model_inputs.push(i);
                let meta = exported.graph.tensor(*v).ok_or_else(|| format!("input {i} is no tensor"))?;
                InputSpec::Tensor(tensor(exported, exported.graph.name(*v), meta)?)
            }
            (Argument::Int(n), InputKind::Constant(_)) => InputSpec::Constant(EValue::Int(*n)),
            (Argument::Float(n), InputKind::Constant(_)) => InputSpec::Constant(EValue::Double(*n)),
            (Argument::Bool(b), InputKind::Constant(_)) => InputSpec::Constant(EValue::Bool(*b)),
            (Argument::String(s), InputKind::Constant(_)) => InputSpec::Constant(EValue::String(s.clone())),
            (Argument::None, _) => InputSpec::Constant(EValue::Null),
            (other, _) => return Err(format!("input {i} is {other:?}, which a .pte for Core ML does not take")),
        });
    }
    let mut model_outputs = Vec::new();
    for (i, output) in exported.user_outputs().enumerate() {
        let Argument::Tensor(v) = output.arg else {
            return Err(format!("output {i} is no tensor, and a .pte for Core ML gives nothing else"));
        };
        let meta = exported.graph.tensor(v).ok_or_else(|| format!("output {i} is no tensor"))?;
        model_outputs.push(tensor(exported, exported.graph.name(v), meta)?);
    }
    let root = exported.module_calls.first().and_then(|m| m.signature.as_ref());
    let container =
        root.map(|s| ContainerMetadata { encoded_inp_str: s.in_spec.clone(), encoded_out_str: s.out_spec.clone() });
    Ok(Signature {
        inputs: Some(inputs),
        model_inputs: Some(model_inputs),
        model_outputs: Some(model_outputs),
        outputs: None,
        container,
    })
}

fn tensor(exported: &ExportedProgram, name: &str, meta: &TensorMeta) -> Result<TensorSpec, String> {
    let torch = meta.dtype.to_string();
    let scalar = (0..=i8::MAX).filter_map(ScalarType::from_number).find(|s| s.torch_name() == torch);
    let scalar = scalar.ok_or_else(|| format!("`{name}` is {torch}, which a .pte does not have"))?;
    let mut sizes = Vec::with_capacity(meta.rank());
    let mut dynamic = false;
    for size in &meta.sizes {
        dynamic |= size.known().is_none();
        let most = greatest(exported, size).and_then(|n| i32::try_from(n).ok());
        sizes.push(most.ok_or_else(|| {
            format!("the size {} of `{name}` has no upper bound, which a .pte needs; export with one", size.dim())
        })?);
    }
    Ok(if dynamic { TensorSpec::upper_bound(scalar, sizes) } else { TensorSpec::new(scalar, sizes) })
}

/// The greatest value of a size. Sizes grow with the symbols in them.
fn greatest(exported: &ExportedProgram, size: &SymInt) -> Option<i64> {
    size.known().or_else(|| size.expr()?.eval(&|symbol| exported.ranges.get(symbol)?.max))
}

/// What a `.pt2` holds, as data.
pub(crate) fn describe(path: &Path) -> Result<Value, Error> {
    let exported = read(path).map_err(|e| Error::Pt2(e.to_string()))?;
    let value = |arg: &Argument| {
        let Argument::Tensor(v) = arg else { return json!(format!("{arg:?}")) };
        let shape = exported.graph.tensor(*v).map(|t| format!("{} {}", t.dtype, t.shape()));
        json!(format!("{}: {}", exported.graph.name(*v), shape.unwrap_or_default()))
    };
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, node) in exported.nodes() {
        *ops.entry(node.short_target()).or_default() += 1;
    }
    let mut weights: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for w in exported.weights.values().chain(exported.constants.values()) {
        let total = weights.entry(w.dtype.to_string()).or_default();
        total.0 += 1;
        let bytes = w.dtype.dtype().and_then(|d| d.byte_len(w.len()?));
        total.1 += bytes.unwrap_or(0) as u64;
    }
    let range = |(s, r): (&String, &coremill_torch_export::Range)| (s.clone(), json!([r.min, r.max]));
    let version = exported.schema_version;
    Ok(json!({
        "torch": exported.torch_version,
        "schema": format!("{}.{}", version.major, version.minor),
        "dialects": exported.dialects,
        "inputs": exported.user_inputs().map(|i| value(&i.arg)).collect::<Vec<_>>(),
        "outputs": exported.user_outputs().map(|o| value(&o.arg)).collect::<Vec<_>>(),
        "symbols": exported.ranges.iter().map(range).collect::<serde_json::Map<_, _>>(),
        "weights": weights.into_iter().map(|(d, (n, b))| (d, json!(format!("{n}, {b} bytes")))).collect::<serde_json::Map<_, _>>(),
        "ops": ops,
    }))
}
