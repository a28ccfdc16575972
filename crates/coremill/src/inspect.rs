//! What a file holds, as data.

use std::collections::BTreeMap;
use std::path::Path;

use coremill_executorch::pte::program::TensorShapeDynamism;
use coremill_executorch::pte::{Method, ValueInfo as PteValue};
use coremill_mil::compare::count_ops;
use coremill_mil::{Function, OpKind, Program};
use coremill_mlpackage::Model;
use serde::Serialize;
use serde_json::Value;

use crate::delegates::{CoreMlDelegate, core_ml_delegates};
use crate::extract::specs_json;
use crate::{Error, Kind, open_model, open_pte};

/// What a file holds.
#[derive(Debug, Serialize)]
pub struct Inspection {
    /// The path as given.
    pub file: String,
    /// Its kind.
    pub kind: Kind,
    /// Bytes of the file, or of all files of a package.
    pub bytes: u64,
    /// The model of a `.mlpackage` or `.mlmodel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
    /// The methods of a `.pte`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodInfo>,
    /// The program of a `.pt2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exported: Option<Value>,
}

/// A Core ML model.
#[derive(Debug, Serialize)]
pub struct ModelInfo {
    /// Version of the format that it asks for.
    pub specification_version: i32,
    /// What people and tools wrote about it.
    pub metadata: BTreeMap<String, String>,
    /// Its functions.
    pub functions: Vec<FunctionInfo>,
    /// Its weights by element type.
    pub weights: BTreeMap<String, WeightTotal>,
    /// Each weight, in program order.
    #[serde(skip)]
    pub each_weight: Vec<WeightInfo>,
    /// The program.
    #[serde(skip)]
    pub program: Program,
}

/// A function of a model.
#[derive(Debug, Serialize)]
pub struct FunctionInfo {
    /// Its name.
    pub name: String,
    /// Its opset.
    pub opset: String,
    /// Its inputs.
    pub inputs: Vec<ValueInfo>,
    /// Its outputs.
    pub outputs: Vec<ValueInfo>,
    /// Ops by type, constants apart.
    pub ops: BTreeMap<String, usize>,
    /// Number of `const` ops.
    pub consts: usize,
}

/// An input or output.
#[derive(Debug, Serialize)]
pub struct ValueInfo {
    /// Its name; of a method, its position.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
}

/// Constants of one element type, from ten elements up.
#[derive(Debug, Default, Serialize)]
pub struct WeightTotal {
    /// How many.
    pub count: usize,
    /// Their bytes in all; those of constants that share data are counted each.
    pub bytes: u64,
}

/// A constant of ten elements or more.
#[derive(Debug, Serialize)]
pub struct WeightInfo {
    /// The function.
    pub function: String,
    /// Name of the value.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its bytes.
    pub bytes: u64,
}

/// A method of a `.pte`.
#[derive(Debug, Serialize)]
pub struct MethodInfo {
    /// Its name.
    pub name: String,
    /// Its inputs.
    pub inputs: Vec<ValueInfo>,
    /// Its outputs.
    pub outputs: Vec<ValueInfo>,
    /// Bytes of each planned buffer.
    pub planned_bytes: Vec<i64>,
    /// Kernels outside delegates.
    pub operators: Vec<String>,
    /// Its delegates.
    pub delegates: Vec<DelegateInfo>,
}

/// A delegate of a method.
#[derive(Debug, Serialize)]
pub struct DelegateInfo {
    /// The backend.
    pub id: String,
    /// Its compile specs as `{"key": ..., "value": ...}`.
    pub compile_specs: Value,
    /// Bytes of its processed blob.
    pub bytes: u64,
    /// `metadata.json`, for a Core ML delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Does it carry debug information?
    pub has_debug_info: bool,
    /// Its model, for a Core ML delegate that is not compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelInfo>,
}

/// Constants of fewer elements are parameters of ops rather than weights; the writer draws the line there too.
const WEIGHT_ELEMENTS: usize = 10;

/// What the file at `path` holds.
///
/// # Errors
/// When it cannot be read.
pub fn inspect(path: &Path) -> Result<Inspection, Error> {
    let kind = Kind::of_input(path)?;
    let bytes = size_of(path)?;
    let mut found =
        Inspection { file: path.display().to_string(), kind, bytes, model: None, methods: Vec::new(), exported: None };
    match kind {
        Kind::MlPackage | Kind::MlModel => found.model = Some(model_info(open_model(path)?)),
        Kind::Pte => found.methods = methods(path)?,
        Kind::Pt2 => found.exported = Some(crate::exported::describe(path)?),
    }
    Ok(found)
}

impl Inspection {
    /// All Core ML models in the file, each with a label.
    pub fn models(&self) -> Vec<(String, &ModelInfo)> {
        let own = self.model.iter().map(|m| (self.file.clone(), m));
        let delegates = self.methods.iter().flat_map(|m| {
            let models = m.delegates.iter().enumerate().filter_map(|(i, d)| Some((i, d.model.as_ref()?)));
            models.map(|(i, model)| (format!("method {}, delegate {i}", m.name), model))
        });
        own.chain(delegates).collect()
    }
}

fn size_of(path: &Path) -> Result<u64, Error> {
    let meta = path.metadata().map_err(|e| Error::io(path, e))?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    Ok(coremill_mlpackage::read_folder(path)?.values().map(coremill_mlpackage::Content::len).sum())
}

fn model_info(model: Model) -> ModelInfo {
    let metadata = model.described("model").ok().and_then(|d| d.metadata).map(|m| {
        let fields = [
            ("description", m.short_description),
            ("version", m.version_string),
            ("author", m.author),
            ("license", m.license),
        ];
        let fields = fields.into_iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| (k.to_owned(), v));
        fields.chain(m.user_defined).collect()
    });
    let functions = model.program.functions.iter().map(|(name, f)| function_info(name, f)).collect();
    let each_weight = weights(&model.program);
    let mut totals: BTreeMap<String, WeightTotal> = BTreeMap::new();
    for (dtype, w) in &each_weight {
        let total = totals.entry(dtype.clone()).or_default();
        total.count += 1;
        total.bytes += w.bytes;
    }
    ModelInfo {
        specification_version: model.specification_version,
        metadata: metadata.unwrap_or_default(),
        functions,
        weights: totals,
        each_weight: each_weight.into_iter().map(|(_, w)| w).collect(),
        program: model.program,
    }
}

fn function_info(name: &str, f: &Function) -> FunctionInfo {
    let value = |name: &str, v| ValueInfo { name: name.to_owned(), ty: f.ty(v).to_string() };
    FunctionInfo {
        name: name.to_owned(),
        opset: f.opset.to_string(),
        inputs: f.inputs().iter().map(|&v| value(&f.value(v).name, v)).collect(),
        outputs: f.output_names().iter().zip(f.outputs()).map(|(n, v)| value(n, v)).collect(),
        ops: count_ops(f, false),
        consts: f.all_ops().into_iter().filter(|&op| f.op(op).kind == OpKind::Const).count(),
    }
}

fn weights(program: &Program) -> Vec<(String, WeightInfo)> {
    let mut found = Vec::new();
    for (function, f) in &program.functions {
        for id in f.all_ops() {
            let op = f.op(id);
            let Some(&value) = op.outputs().first() else { continue };
            for (key, c) in op.attributes.iter() {
                let Some(data) = c.as_data().filter(|d| d.len() >= WEIGHT_ELEMENTS) else { continue };
                let name = &f.value(value).name;
                let name = if key == "val" { name.clone() } else { format!("{name}.{key}") };
                let bytes = data.byte_len() as u64;
                let info = WeightInfo { function: function.clone(), name, ty: c.ty().to_string(), bytes };
                found.push((data.dtype().to_string(), info));
            }
        }
    }
    found
}

fn methods(path: &Path) -> Result<Vec<MethodInfo>, Error> {
    let pte = open_pte(path)?;
    let core_ml = core_ml_delegates(path, &pte)?;
    let mut methods: Vec<MethodInfo> = pte.methods().iter().map(method_info).collect();
    for delegate in pte.delegates() {
        let found = core_ml.iter().find(|d| d.delegate.method == delegate.method && d.delegate.index == delegate.index);
        let info = DelegateInfo {
            id: delegate.id.to_owned(),
            compile_specs: specs_json(delegate.compile_specs),
            bytes: found.map_or(delegate.processed.len(), |d| d.bytes.len()) as u64,
            metadata: found.map(|d| metadata(d, path)).transpose()?,
            has_debug_info: found.is_some_and(|d| d.blob.debug_info().is_some()),
            model: found.filter(|d| !d.blob.is_compiled()).map(|d| d.model(path)).transpose()?.map(model_info),
        };
        if let Some(method) = methods.iter_mut().find(|m| m.name == delegate.method) {
            method.delegates.push(info);
        }
    }
    Ok(methods)
}

fn metadata(delegate: &CoreMlDelegate<'_>, path: &Path) -> Result<Value, Error> {
    let text = delegate.metadata(path)?.to_json();
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
}

fn method_info(method: &Method<'_>) -> MethodInfo {
    let value = |(i, v): (usize, &PteValue<'_>)| {
        let ty = match v {
            PteValue::Tensor(t) => {
                let sizes: Vec<String> = t.sizes.iter().map(i32::to_string).collect();
                let bound = if t.dynamism == TensorShapeDynamism::Static { "" } else { " (upper bound)" };
                format!("{} [{}]{bound}", t.scalar_type.torch_name(), sizes.join(", "))
            }
            PteValue::Other(value) => format!("{value:?}"),
        };
        ValueInfo { name: i.to_string(), ty }
    };
    MethodInfo {
        name: method.name.to_owned(),
        inputs: method.inputs.iter().enumerate().map(value).collect(),
        outputs: method.outputs.iter().enumerate().map(value).collect(),
        planned_bytes: method.memory_planned_buffer_sizes.clone(),
        operators: method.operators.clone(),
        delegates: Vec::new(),
    }
}
