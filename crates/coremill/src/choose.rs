//! The user's pipeline: from a preset's name, a file, a JSON list or a compile spec.

use std::path::Path;

use coremill_executorch::compile_spec::{ComputePrecision, CoreMlOptions};
use coremill_passes::{PRESETS, Pipeline, preset};
use serde_json::Value;

use crate::{Error, Note};

/// Name of a pipeline that came as a list, as ExecuTorch's backend calls it.
pub const USER_PIPELINE: &str = "executorch_user_pipeline";

/// The pass that makes a program compute in half precision.
const FP16_CAST: &str = "common::add_fp16_cast";

/// A value for an option of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassOption {
    /// The pass's id.
    pub pass: String,
    /// The option's name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

impl PassOption {
    /// Parses `ID:NAME=VALUE`. The value is JSON where it reads as JSON, and text otherwise.
    ///
    /// # Errors
    /// When a part is missing, as a sentence.
    pub fn parse(text: &str) -> Result<PassOption, String> {
        let wrong = || {
            format!(
                "`{text}` is no pass option; write ID:NAME=VALUE, such as common::const_elimination:skip_const_by_size=1e6"
            )
        };
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let (pass, name) = key.rsplit_once(':').ok_or_else(wrong)?;
        if name.is_empty() || pass.is_empty() || pass.ends_with(':') {
            return Err(wrong());
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(PassOption { pass: pass.to_owned(), name: name.to_owned(), value })
    }
}

/// Reads a pipeline as the command line gives it: a preset's name, a `.json` or `.toml` file, or a JSON list of ids.
///
/// # Errors
/// When the file cannot be read, the text is no pipeline, or the name is no preset's.
pub fn pipeline_from_argument(text: &str) -> Result<Pipeline, Error> {
    let trimmed = text.trim();
    if trimmed.starts_with('[') || trimmed.starts_with('{') {
        let parsed = Pipeline::from_json(USER_PIPELINE, trimmed);
        return parsed.map_err(|error| Error::PipelineText { origin: "the pass pipeline".to_owned(), error });
    }
    let path = Path::new(text);
    let extension = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let parse = match extension.as_deref() {
        Some("json") => Pipeline::from_json,
        Some("toml") => Pipeline::from_toml,
        _ => {
            let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
            let what = format!(
                "is no pipeline: give one of the names {}, a .json or .toml file, or a JSON list of pass ids",
                names.join(", ")
            );
            return preset(text).ok_or_else(|| Error::unusable(text, what));
        }
    };
    let content = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    parse(USER_PIPELINE, &content).map_err(|error| Error::PipelineText { origin: path.display().to_string(), error })
}

/// Sets options on the steps they are for.
///
/// # Errors
/// When an option is for a pass that is no step of the pipeline.
pub fn set_options(pipeline: &mut Pipeline, options: &[PassOption]) -> Result<(), Error> {
    for option in options {
        if pipeline.set_option(&option.pass, &option.name, &option.value) == 0 {
            return Err(Error::NoSuchStep {
                pipeline: pipeline.name.clone(),
                pass: option.pass.clone(),
                option: option.name.clone(),
                has: pipeline.ids().into_iter().map(str::to_owned).collect(),
            });
        }
    }
    Ok(())
}

/// The user's pipeline that compile specs ask for, fitted to the precision as coremltools does; with what is to be
/// said about that.
pub(crate) fn fit_precision(pipeline: &mut Pipeline, options: &CoreMlOptions) -> Option<Note> {
    let name = pipeline.name.clone();
    match options.model_compute_precision {
        ComputePrecision::Float16 if !pipeline.has(FP16_CAST) => Some(Note::StaysFloat32 { pipeline: name }),
        ComputePrecision::Float32 if pipeline.has(FP16_CAST) => {
            pipeline.steps.retain(|s| s.id != FP16_CAST);
            Some(Note::Fp16CastLeftOut { pipeline: name })
        }
        _ => None,
    }
}

/// The pipeline of the options: the ids they carry, or the default pipeline.
pub(crate) fn pipeline_of(options: &CoreMlOptions) -> Pipeline {
    match &options.pass_pipeline {
        Some(ids) => Pipeline::from_ids(USER_PIPELINE, ids.iter().cloned()),
        None => preset("default").unwrap_or(Pipeline { name: "default".to_owned(), steps: Vec::new() }),
    }
}
