//! A pipeline: passes by name, in order, with options.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use crate::options::{OptionError, Options};
use crate::pass::Pass;
use crate::peer_passes::PEER_PASSES;
use crate::registry::Registry;

/// A list of passes to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// Its name, shown in progress and reports.
    pub name: String,
    /// The steps.
    pub steps: Vec<PassSpec>,
}

/// A step: a pass by id, with options.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PassSpec {
    /// The pass's id.
    pub id: String,
    /// Option values as given; checked by [`Pipeline::resolve`].
    pub options: IndexMap<String, Value>,
}

/// A step that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// There is no such pass.
    #[error("step {step}: there is no pass `{id}`{}", did_you_mean(.nearest))]
    UnknownPass {
        /// Number of the step, from 1.
        step: usize,
        /// The id.
        id: String,
        /// Ids that are spelled alike.
        nearest: Vec<String>,
    },
    /// coremltools has the pass; coremill does not yet.
    #[error(
        "step {step}: `{id}` is a pass of coremltools that coremill does not have yet; take it out of the pipeline"
    )]
    NotYet {
        /// Number of the step, from 1.
        step: usize,
        /// The id.
        id: String,
    },
    /// An option cannot be set so.
    #[error("step {step}: {error}")]
    Option {
        /// Number of the step, from 1.
        step: usize,
        /// What is wrong.
        error: OptionError,
    },
}

/// Text that is no pipeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no pipeline: {0}; write a JSON list of pass ids, or an object or TOML with `passes`")]
pub struct PipelineParseError(pub String);

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean `{}`?", nearest.join("` or `")) }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FileStep {
    Id(String),
    Full {
        id: String,
        #[serde(default)]
        options: IndexMap<String, Value>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    passes: Vec<FileStep>,
}

impl Pipeline {
    /// A pipeline of passes without options.
    pub fn from_ids<S: Into<String>>(name: impl Into<String>, ids: impl IntoIterator<Item = S>) -> Pipeline {
        let steps = ids.into_iter().map(|id| PassSpec { id: id.into(), ..PassSpec::default() }).collect();
        Pipeline { name: name.into(), steps }
    }

    /// A pipeline from JSON: a list of ids, or `{"name": ..., "passes": [ID, {"id": ID, "options": {...}}]}`.
    ///
    /// # Errors
    /// When the text is neither; the message says where.
    pub fn from_json(default_name: &str, text: &str) -> Result<Pipeline, PipelineParseError> {
        let value: Value = serde_json::from_str(text).map_err(|e| PipelineParseError(e.to_string()))?;
        let file = match value {
            Value::Array(_) => {
                let passes = serde_json::from_value(value).map_err(|e| PipelineParseError(e.to_string()))?;
                File { name: None, passes }
            }
            _ => serde_json::from_value(value).map_err(|e| PipelineParseError(e.to_string()))?,
        };
        Ok(Pipeline::from_file(default_name, file))
    }

    /// A pipeline from TOML: `passes = [ID, { id = ID, options = { ... } }]`, with an optional `name`.
    ///
    /// # Errors
    /// When the text is no such TOML; the message says where.
    pub fn from_toml(default_name: &str, text: &str) -> Result<Pipeline, PipelineParseError> {
        let file = toml::from_str(text).map_err(|e| PipelineParseError(e.to_string()))?;
        Ok(Pipeline::from_file(default_name, file))
    }

    fn from_file(default_name: &str, file: File) -> Pipeline {
        let steps = file.passes.into_iter().map(|step| match step {
            FileStep::Id(id) => PassSpec { id, ..PassSpec::default() },
            FileStep::Full { id, options } => PassSpec { id, options },
        });
        Pipeline { name: file.name.unwrap_or_else(|| default_name.to_owned()), steps: steps.collect() }
    }

    /// Sets an option on every step of the pass. Returns how many steps that was.
    pub fn set_option(&mut self, id: &str, name: &str, value: &Value) -> usize {
        let steps = self.steps.iter_mut().filter(|s| s.id == id);
        steps.map(|s| s.options.insert(name.to_owned(), value.clone())).count()
    }

    /// Is the pass among the steps?
    pub fn has(&self, id: &str) -> bool {
        self.steps.iter().any(|s| s.id == id)
    }

    /// The ids of the steps.
    pub fn ids(&self) -> Vec<&str> {
        self.steps.iter().map(|s| s.id.as_str()).collect()
    }

    /// Makes the passes, found in `registry`.
    ///
    /// # Errors
    /// Everything that is wrong with any step.
    pub fn resolve(&self, registry: &Registry) -> Result<Vec<Box<dyn Pass>>, Vec<ResolveError>> {
        let mut passes = Vec::with_capacity(self.steps.len());
        let mut errors = Vec::new();
        for (i, spec) in self.steps.iter().enumerate() {
            let step = i + 1;
            let Some(info) = registry.find(&spec.id) else {
                errors.push(unknown(step, &spec.id, registry));
                continue;
            };
            match Options::checked(info.id, info.options, &spec.options) {
                Ok(options) => passes.push((info.make)(&options)),
                Err(wrong) => errors.extend(wrong.into_iter().map(|error| ResolveError::Option { step, error })),
            }
        }
        if errors.is_empty() { Ok(passes) } else { Err(errors) }
    }
}

fn unknown(step: usize, id: &str, registry: &Registry) -> ResolveError {
    if PEER_PASSES.contains(&id) {
        return ResolveError::NotYet { step, id: id.to_owned() };
    }
    // Half the letters right, or the same name under another namespace, is near enough to be meant.
    let name = |s: &str| s.rsplit("::").next().unwrap_or(s).to_owned();
    let ids = registry.all().map(|p| p.id).chain(PEER_PASSES.iter().copied());
    let mut near: Vec<(usize, &str)> =
        ids.map(|known| (strsim::damerau_levenshtein(&name(known), &name(id)), known)).collect();
    near.retain(|(d, known)| *d * 3 <= name(known).len());
    near.sort();
    near.dedup();
    ResolveError::UnknownPass {
        step,
        id: id.to_owned(),
        nearest: near.into_iter().take(3).map(|n| n.1.into()).collect(),
    }
}
