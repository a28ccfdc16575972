//! What the Core ML backend reads out of compile specs, as typed values.
//!
//! Decoding follows ExecuTorch: the first spec of a key counts and an absent one means the default. It reports every
//! bad value at once. Encoding gives ExecuTorch's bytes and order. Nothing here judges whether options fit together.

use bytes::Bytes;
use serde_json::Value;

use super::to_python_json;
use super::{CompileSpec, CompileSpecError, CompileSpecErrors, CompileSpecs, EnumeratedShapes, keys, shapes};

/// The processors a model may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputeUnits {
    /// Whatever the system thinks best.
    #[default]
    All,
    /// CPU only.
    CpuOnly,
    /// CPU and GPU.
    CpuAndGpu,
    /// CPU and Neural Engine.
    CpuAndNe,
}

/// The type of floating-point computation that lowering aims at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComputePrecision {
    /// Half precision, where the pass pipeline has `common::add_fp16_cast`.
    #[default]
    Float16,
    /// Single precision.
    Float32,
}

/// The form of the model inside the processed blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelType {
    /// `model.mlpackage`.
    #[default]
    Model,
    /// `model.mlmodelc`, which only Apple's compiler makes.
    CompiledModel,
}

/// How methods of one program share weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightSharing {
    /// The i-th partitions of all methods go into one multifunction model.
    #[default]
    Positional,
    /// Each method has its own model.
    Disabled,
}

/// The oldest system a model is to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DeploymentTarget {
    Ios13,
    Ios14,
    Ios15,
    Ios16,
    Ios17,
    Ios18,
    Ios26,
}

/// Pairs of a value and its spelling; the first spelling of a value is the one written.
macro_rules! spellings {
    ($type:ident: $($value:ident = $text:literal),+ $(,)?) => {
        impl $type {
            const SPELLINGS: &[($type, &str)] = &[$(($type::$value, $text)),+];

            /// The spelling in a compile spec.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($type::$value => $text),+
                }
            }

            fn from_spelling(text: &str) -> Option<Self> {
                Self::SPELLINGS.iter().find(|(_, known)| *known == text).map(|(value, _)| *value)
            }

            fn wanted() -> String {
                let known: Vec<&str> = Self::SPELLINGS.iter().map(|(_, known)| *known).collect();
                format!("one of {} is wanted", known.join(", "))
            }
        }
    };
}

spellings!(ComputeUnits: All = "all", CpuOnly = "cpu_only", CpuAndGpu = "cpu_and_gpu", CpuAndNe = "cpu_and_ne");
spellings!(ComputePrecision: Float16 = "float16", Float32 = "float32");
spellings!(ModelType: Model = "model", CompiledModel = "compiled_model");
spellings!(WeightSharing: Positional = "positional", Disabled = "disabled");

impl DeploymentTarget {
    const ALL: [Self; 7] = [Self::Ios13, Self::Ios14, Self::Ios15, Self::Ios16, Self::Ios17, Self::Ios18, Self::Ios26];

    /// `Model.specificationVersion` of a model for this target: 4 for iOS13 up to 10 for iOS26.
    pub fn specification_version(self) -> i32 {
        match self {
            Self::Ios13 => 4,
            Self::Ios14 => 5,
            Self::Ios15 => 6,
            Self::Ios16 => 7,
            Self::Ios17 => 8,
            Self::Ios18 => 9,
            Self::Ios26 => 10,
        }
    }

    /// The target with this specification version.
    pub fn from_specification_version(version: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.specification_version() == version)
    }

    /// The target's name in lower case, such as `ios17`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ios13 => "ios13",
            Self::Ios14 => "ios14",
            Self::Ios15 => "ios15",
            Self::Ios16 => "ios16",
            Self::Ios17 => "ios17",
            Self::Ios18 => "ios18",
            Self::Ios26 => "ios26",
        }
    }
}

/// The Core ML backend's options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreMlOptions {
    /// Processors; `all` by default.
    pub compute_units: ComputeUnits,
    /// Oldest system; chosen by the converter when `None`.
    pub min_deployment_target: Option<DeploymentTarget>,
    /// Floating-point type; `float16` by default.
    pub model_compute_precision: ComputePrecision,
    /// Form of the model; `model` by default.
    pub model_type: ModelType,
    /// Arguments of coremltools' `OpLinearQuantizerConfig`, a JSON object, as they stand.
    pub op_linear_quantizer_config: Option<Value>,
    /// Shapes that dynamic inputs may take.
    pub enumerated_shapes: Option<Vec<EnumeratedShapes>>,
    /// Pass ids; the default pipeline when `None`. An empty list is a pipeline without passes.
    pub pass_pipeline: Option<Vec<String>>,
    /// Sharing between methods; `positional` by default.
    pub multimethod_weight_sharing_strategy: WeightSharing,
}

impl CoreMlOptions {
    /// Reads the options out of `specs`. Keys that Core ML does not know are left alone.
    ///
    /// # Errors
    /// Every value that cannot be understood, with its key and bytes.
    pub fn decode(specs: &CompileSpecs) -> Result<Self, CompileSpecErrors> {
        let mut reader = Reader { specs, errors: Vec::new() };
        let options = Self {
            compute_units: reader.read(keys::COMPUTE_UNITS, compute_units).unwrap_or_default(),
            min_deployment_target: reader.read(keys::MIN_DEPLOYMENT_TARGET, deployment_target).flatten(),
            model_compute_precision: reader.read(keys::MODEL_COMPUTE_PRECISION, precision).unwrap_or_default(),
            model_type: reader.read(keys::MODEL_TYPE, model_type).unwrap_or_default(),
            op_linear_quantizer_config: reader.read(keys::OP_LINEAR_QUANTIZER_CONFIG, json_object),
            enumerated_shapes: reader.read(keys::ENUMERATED_SHAPES, |text| shapes::from_json(&json(text)?)),
            pass_pipeline: reader.read(keys::PASS_PIPELINE, pass_ids),
            multimethod_weight_sharing_strategy: reader
                .read(keys::MULTIMETHOD_WEIGHT_SHARING_STRATEGY, weight_sharing)
                .unwrap_or_default(),
        };
        if reader.errors.is_empty() { Ok(options) } else { Err(CompileSpecErrors(reader.errors)) }
    }

    /// The specs that ExecuTorch writes for these options: the first four always, the JSON ones when present, the
    /// weight sharing strategy when it is not the default.
    pub fn encode(&self) -> CompileSpecs {
        let target = self.min_deployment_target.map(|target| target.specification_version().to_string());
        let mut specs = vec![
            CompileSpec::new(keys::COMPUTE_UNITS, self.compute_units.as_str()),
            CompileSpec::new(keys::MIN_DEPLOYMENT_TARGET, target.unwrap_or_default()),
            CompileSpec::new(keys::MODEL_COMPUTE_PRECISION, self.model_compute_precision.as_str()),
            CompileSpec::new(keys::MODEL_TYPE, self.model_type.as_str()),
        ];
        if let Some(config) = &self.op_linear_quantizer_config {
            specs.push(CompileSpec::new(keys::OP_LINEAR_QUANTIZER_CONFIG, to_python_json(config)));
        }
        if let Some(ids) = &self.pass_pipeline {
            specs.push(CompileSpec::pass_pipeline(ids));
        }
        if let Some(entries) = &self.enumerated_shapes {
            specs.push(CompileSpec::new(keys::ENUMERATED_SHAPES, to_python_json(&shapes::to_json(entries))));
        }
        if self.multimethod_weight_sharing_strategy != WeightSharing::default() {
            let strategy = self.multimethod_weight_sharing_strategy.as_str();
            specs.push(CompileSpec::new(keys::MULTIMETHOD_WEIGHT_SHARING_STRATEGY, strategy));
        }
        specs.into()
    }
}

/// Reads one key after the other and collects what goes wrong.
struct Reader<'a> {
    specs: &'a CompileSpecs,
    errors: Vec<CompileSpecError>,
}

impl Reader<'_> {
    fn read<T>(&mut self, key: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let spec = self.specs.get(key)?;
        let parsed = match spec.text() {
            Some(text) => parse(text),
            None => Err("it is not UTF-8".to_owned()),
        };
        parsed.map_err(|problem| self.report(key, &spec.value, problem)).ok()
    }

    fn report(&mut self, key: &str, bytes: &Bytes, problem: String) {
        self.errors.push(CompileSpecError { key: key.to_owned(), bytes: bytes.clone(), problem });
    }
}

/// The peer looks the name up in upper case, so any case will do.
fn compute_units(text: &str) -> Result<ComputeUnits, String> {
    ComputeUnits::from_spelling(&text.to_ascii_lowercase()).ok_or_else(ComputeUnits::wanted)
}

fn precision(text: &str) -> Result<ComputePrecision, String> {
    ComputePrecision::from_spelling(text).ok_or_else(ComputePrecision::wanted)
}

fn model_type(text: &str) -> Result<ModelType, String> {
    ModelType::from_spelling(text).ok_or_else(ModelType::wanted)
}

fn weight_sharing(text: &str) -> Result<WeightSharing, String> {
    WeightSharing::from_spelling(text).ok_or_else(WeightSharing::wanted)
}

fn deployment_target(text: &str) -> Result<Option<DeploymentTarget>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let version = text.trim().parse().ok();
    match version.and_then(DeploymentTarget::from_specification_version) {
        Some(target) => Ok(Some(target)),
        None => Err("a specification version from 4 (iOS13) to 10 (iOS26), or nothing, is wanted".to_owned()),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
}

fn json_object(text: &str) -> Result<Value, String> {
    Some(json(text)?).filter(Value::is_object).ok_or_else(|| "a JSON object is wanted".to_owned())
}

fn pass_ids(text: &str) -> Result<Vec<String>, String> {
    let ids = match json(text)? {
        Value::Array(ids) => ids.into_iter().map(|id| id.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    ids.ok_or_else(|| "a JSON list of pass ids, each a string, is wanted".to_owned())
}
