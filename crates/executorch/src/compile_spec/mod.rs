//! Compile specs: the `(key, bytes)` pairs by which ExecuTorch hands options to a backend.
//!
//! [`CompileSpecs`] keeps every pair as it came, in order, unknown and repeated keys too, so a `.pte` loses nothing
//! when it is written back. [`CoreMlOptions`] is what the Core ML backend understands of them, read by its rules: the
//! first pair of a key counts, an absent key means its default. Writing gives the bytes that ExecuTorch 1.5.1 writes.

mod options;
mod python_json;
mod shapes;

use std::fmt;

use bytes::Bytes;

pub use options::{ComputePrecision, ComputeUnits, CoreMlOptions, DeploymentTarget, ModelType, WeightSharing};
pub use python_json::to_python_json;
pub use shapes::{EnumeratedShapes, ShapeDim};

/// The keys that ExecuTorch's Core ML backend knows.
pub mod keys {
    /// `all`, `cpu_only`, `cpu_and_gpu` or `cpu_and_ne`.
    pub const COMPUTE_UNITS: &str = "compute_units";
    /// `model` or `compiled_model`.
    pub const MODEL_TYPE: &str = "model_type";
    /// A specification version as decimal text, or nothing.
    pub const MIN_DEPLOYMENT_TARGET: &str = "min_deployment_target";
    /// `float16` or `float32`.
    pub const MODEL_COMPUTE_PRECISION: &str = "model_compute_precision";
    /// A JSON object.
    pub const OP_LINEAR_QUANTIZER_CONFIG: &str = "op_linear_quantizer_config";
    /// A JSON list of pairs: symbolic shape, shapes it may take.
    pub const ENUMERATED_SHAPES: &str = "enumerated_shapes";
    /// A JSON list of pass ids.
    pub const PASS_PIPELINE: &str = "pass_pipeline";
    /// `positional` or `disabled`.
    pub const MULTIMETHOD_WEIGHT_SHARING_STRATEGY: &str = "multimethod_weight_sharing_strategy";

    /// All of them, in the order in which coremill writes them.
    pub const ALL: [&str; 8] = [
        COMPUTE_UNITS,
        MIN_DEPLOYMENT_TARGET,
        MODEL_COMPUTE_PRECISION,
        MODEL_TYPE,
        OP_LINEAR_QUANTIZER_CONFIG,
        PASS_PIPELINE,
        ENUMERATED_SHAPES,
        MULTIMETHOD_WEIGHT_SHARING_STRATEGY,
    ];
}

/// One option of a backend: a key and bytes whose meaning the key decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileSpec {
    /// The option's name; see [`keys`] for those of Core ML.
    pub key: String,
    /// The option's value, uninterpreted.
    pub value: Bytes,
}

impl CompileSpec {
    /// A spec with `key` and `value`.
    pub fn new(key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// Parses `KEY=VALUE`, as a command line gives it. Everything after the first `=` is the value, byte for byte.
    ///
    /// # Errors
    /// When there is no `=` or no key before it.
    pub fn parse(text: &str) -> Result<Self, CompileSpecError> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self::new(key, value.as_bytes().to_vec())),
            _ => Err(CompileSpecError {
                key: text.to_owned(),
                bytes: Bytes::new(),
                problem: "a compile spec is written KEY=VALUE".to_owned(),
            }),
        }
    }

    /// The `pass_pipeline` spec for a list of pass ids.
    pub fn pass_pipeline<S: AsRef<str>>(ids: &[S]) -> Self {
        let ids = ids.iter().map(|id| id.as_ref().into()).collect();
        Self::new(keys::PASS_PIPELINE, to_python_json(&serde_json::Value::Array(ids)))
    }

    /// The value as text where it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.value).ok()
    }
}

/// A compile spec whose bytes do not mean what its key asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("compile spec '{key}': {problem}; its value is {}", quote(.bytes))]
pub struct CompileSpecError {
    /// The key of the spec.
    pub key: String,
    /// The value that could not be understood.
    pub bytes: Bytes,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

/// All compile specs of a list that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CompileSpecErrors(pub Vec<CompileSpecError>);

impl fmt::Display for CompileSpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Bytes as a reader of an error message can use them: escaped, and cut where they are long.
fn quote(bytes: &Bytes) -> String {
    const SHOWN: usize = 96;
    let shown = bytes.slice(..bytes.len().min(SHOWN));
    let rest = bytes.len() - shown.len();
    let tail = if rest > 0 { format!(" (and {rest} more bytes)") } else { String::new() };
    format!("b\"{}\"{tail}", shown.escape_ascii())
}

/// An ordered list of compile specs, as a delegate carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileSpecs(Vec<CompileSpec>);

impl CompileSpecs {
    /// The spec that counts for `key`: the first of that key.
    pub fn get(&self, key: &str) -> Option<&CompileSpec> {
        self.0.iter().find(|spec| spec.key == key)
    }

    /// Makes `spec` the one that counts for its key: it takes the place of the first of that key, or goes to the end.
    /// Later specs of the key, which had no effect before, stay as they are.
    pub fn set(&mut self, spec: CompileSpec) {
        match self.0.iter_mut().find(|old| old.key == spec.key) {
            Some(old) => *old = spec,
            None => self.0.push(spec),
        }
    }

    /// Takes out all specs of `key`; says whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|spec| spec.key != key);
        self.0.len() != before
    }

    /// Adds `spec` at the end, where it has an effect only if its key is new.
    pub fn push(&mut self, spec: CompileSpec) {
        self.0.push(spec);
    }

    /// All specs in order.
    pub fn iter(&self) -> std::slice::Iter<'_, CompileSpec> {
        self.0.iter()
    }

    /// The specs as a slice.
    pub fn as_slice(&self) -> &[CompileSpec] {
        &self.0
    }

    /// How many specs there are, repeated keys counted.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys that the Core ML backend does not know, in order, each once.
    pub fn unknown_keys(&self) -> Vec<&str> {
        let mut unknown: Vec<&str> = Vec::new();
        for spec in &self.0 {
            if !keys::ALL.contains(&spec.key.as_str()) && !unknown.contains(&spec.key.as_str()) {
                unknown.push(&spec.key);
            }
        }
        unknown
    }
}

impl From<Vec<CompileSpec>> for CompileSpecs {
    fn from(specs: Vec<CompileSpec>) -> Self {
        Self(specs)
    }
}

impl FromIterator<CompileSpec> for CompileSpecs {
    fn from_iter<I: IntoIterator<Item = CompileSpec>>(specs: I) -> Self {
        Self(specs.into_iter().collect())
    }
}

impl IntoIterator for CompileSpecs {
    type Item = CompileSpec;
    type IntoIter = std::vec::IntoIter<CompileSpec>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a CompileSpecs {
    type Item = &'a CompileSpec;
    type IntoIter = std::slice::Iter<'a, CompileSpec>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
