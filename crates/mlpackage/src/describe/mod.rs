//! The model's description: made from a program, or kept from a file as far as the program still agrees.
//!
//! A description from a file is kept byte for byte while it names the interface that the program has. Where a pass
//! changed an input or output, that feature alone is made anew; everything else (metadata, images, fields that
//! are not known here) stays. Shapes that vary get the ranges that [`Describe`] holds.

mod features;

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use coremill_mil::{Function, Program};
use prost::Message;

use crate::proto::description as proto;
use crate::wire::{self, Field};
use crate::{Error, ErrorKind, Place};
use features::Features;

/// How to make a description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Describe {
    /// Least and greatest value (`None`: no bound) of symbols in the shapes of inputs. Default: 1 and no bound.
    pub ranges: BTreeMap<String, (u64, Option<u64>)>,
    /// The value of a symbol in an input's default shape. Default: its least value.
    pub defaults: BTreeMap<String, u64>,
    /// What people wrote about the model.
    pub metadata: proto::Metadata,
}

/// Field numbers of a list of features in a model's or a function's description.
struct Numbers {
    input: u32,
    output: u32,
    state: u32,
}

const MODEL: Numbers = Numbers { input: 1, output: 10, state: 13 };
const FUNCTION: Numbers = Numbers { input: 2, output: 3, state: 6 };
const FUNCTIONS: u32 = 20;

/// Name of the function that runs when none is chosen: `main`, or the first.
pub fn default_function(program: &Program) -> Option<&str> {
    let main = program.functions.get_key_value("main").or_else(|| program.functions.first());
    main.map(|(name, _)| name.as_str())
}

/// The description of a program.
///
/// # Errors
/// When inputs or outputs have types that Core ML's interface does not have; all such are named.
pub(crate) fn generate(file: &str, program: &Program, how: &Describe) -> Result<Bytes, Error> {
    let mut out = proto::ModelDescription {
        metadata: (how.metadata != proto::Metadata::default()).then(|| how.metadata.clone()),
        ..Default::default()
    };
    let mut problems = Vec::new();
    let many = program.functions.len() > 1;
    for (name, f) in &program.functions {
        let features = Features::of(f, how);
        problems.extend(features.problems(name));
        let (input, output, state) = features.into_messages();
        let (label, probabilities) = classifier(f);
        if many {
            out.functions.push(proto::FunctionDescription {
                name: name.clone(),
                input,
                output,
                state,
                predicted_feature_name: label,
                predicted_probabilities_name: probabilities,
            });
        } else {
            (out.input, out.output, out.state) = (input, output, state);
            (out.predicted_feature_name, out.predicted_probabilities_name) = (label, probabilities);
        }
    }
    if many {
        out.default_function_name = default_function(program).unwrap_or_default().to_owned();
    }
    no_problems(file, problems)?;
    Ok(out.encode_to_vec().into())
}

/// Names of the outputs that hold a classifier's label and probabilities; empty where it is none.
fn classifier(f: &Function) -> (String, String) {
    let (mut label, mut probabilities) = (String::new(), String::new());
    for (name, v) in f.output_names().iter().zip(f.outputs()) {
        match features::classify_output(f, v) {
            Some(0) => label = name.clone(),
            Some(1) => probabilities = name.clone(),
            _ => {}
        }
    }
    (label, probabilities)
}

fn no_problems(file: &str, problems: Vec<String>) -> Result<(), Error> {
    if problems.is_empty() {
        return Ok(());
    }
    let what = format!(
        "Core ML's interface takes fp32, fp16, int32 and int8 arrays, and fp16 states; cast the others \
         (`mil_backend::adjust_io_to_supported_types` does): {}",
        problems.join("; ")
    );
    Err(Error::at(file, Place::Field("description".to_owned()), ErrorKind::Unwritable(what)))
}

/// A description from a file, changed only where the program's interface differs from it.
///
/// # Errors
/// As [`generate`] for new features; also when the description is no protobuf.
pub(crate) fn reconcile(file: &str, raw: &Bytes, program: &Program, how: &Describe) -> Result<Bytes, Error> {
    let fields = walk(file, raw)?;
    let by_function = fields.iter().any(|f| f.number == FUNCTIONS);
    let mut problems = Vec::new();
    let mut sections = BytesMut::new();
    let mut changed = false;
    if by_function {
        let described: Vec<(String, &Bytes)> = fields
            .iter()
            .filter(|f| f.number == FUNCTIONS)
            .filter_map(|f| f.bytes())
            .map(|b| Ok((name_of(file, b)?, b)))
            .collect::<Result<_, Error>>()?;
        changed |= described.len() != program.functions.len();
        for (name, f) in &program.functions {
            let features = Features::of(f, how);
            let old = described.iter().find(|(n, _)| n == name).map(|(_, b)| *b);
            let mut head = BytesMut::new();
            wire::put_bytes(&mut head, 1, name.as_bytes());
            let fresh = Bytes::from(head);
            changed |= old.is_none();
            let section = merge(file, old.unwrap_or(&fresh), &FUNCTION, features, name, &mut problems)?;
            changed |= section.is_some();
            wire::put_bytes(&mut sections, FUNCTIONS, section.as_ref().or(old).unwrap_or(&fresh));
        }
    } else if let [(name, f)] = program.functions.iter().collect::<Vec<_>>()[..] {
        let merged = merge(file, raw, &MODEL, Features::of(f, how), name, &mut problems)?;
        no_problems(file, problems)?;
        return Ok(merged.unwrap_or_else(|| raw.clone()));
    } else {
        // One interface is described and there are several now: only what people wrote can be kept.
        let decoded = decode(file, raw)?;
        let how = Describe { metadata: decoded.metadata.unwrap_or_default(), ..how.clone() };
        return generate(file, program, &how);
    }
    no_problems(file, problems)?;
    if !changed {
        return Ok(raw.clone());
    }
    fields.iter().filter(|f| f.number != FUNCTIONS).for_each(|f| sections.extend_from_slice(&f.raw));
    Ok(sections.freeze())
}

/// The description decoded.
///
/// # Errors
/// When it is no protobuf.
pub(crate) fn decode(file: &str, raw: &Bytes) -> Result<proto::ModelDescription, Error> {
    proto::ModelDescription::decode(raw.clone()).map_err(|e| protobuf(file, &e.to_string()))
}

fn protobuf(file: &str, what: &str) -> Error {
    Error::at(file, Place::Field("description".to_owned()), ErrorKind::Protobuf(what.to_owned()))
}

fn walk(file: &str, raw: &Bytes) -> Result<Vec<Field>, Error> {
    wire::fields(raw).map_err(|e| protobuf(file, &format!("{} (byte {} of the description)", e.what, e.offset)))
}

/// The `name` of a feature or function: field 1 in both.
fn name_of(file: &str, raw: &Bytes) -> Result<String, Error> {
    let fields = walk(file, raw)?;
    let name = fields.iter().rev().find(|f| f.number == 1).and_then(Field::bytes);
    Ok(name.map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default())
}

/// The description of one interface with the features that differ made anew; `None` where none does.
fn merge(
    file: &str,
    raw: &Bytes,
    numbers: &Numbers,
    wanted: Features,
    function: &str,
    problems: &mut Vec<String>,
) -> Result<Option<Bytes>, Error> {
    let fields = walk(file, raw)?;
    let mut out = BytesMut::new();
    let mut changed = false;
    let Features { inputs, outputs, states } = wanted;
    for (number, wanted) in [(numbers.input, inputs), (numbers.output, outputs), (numbers.state, states)] {
        let old: Vec<(&Bytes, proto::FeatureDescription)> = fields
            .iter()
            .filter(|f| f.number == number)
            .filter_map(Field::bytes)
            .map(|b| {
                let decoded = proto::FeatureDescription::decode(b.clone());
                Ok((b, decoded.map_err(|e| protobuf(file, &e.to_string()))?))
            })
            .collect::<Result<_, Error>>()?;
        changed |= old.len() != wanted.len();
        for feature in wanted {
            let found = old.iter().find(|(_, o)| o.name == feature.name);
            match found {
                Some((raw, old)) if feature.fits(old) => wire::put_bytes(&mut out, number, raw),
                _ => {
                    changed = true;
                    problems.extend(feature.problem(function));
                    let message = feature.into_message(found.map(|(_, o)| o));
                    wire::put_bytes(&mut out, number, &message.encode_to_vec());
                }
            }
        }
    }
    if !changed {
        return Ok(None);
    }
    let sections = [numbers.input, numbers.output, numbers.state];
    fields.iter().filter(|f| !sections.contains(&f.number)).for_each(|f| out.extend_from_slice(&f.raw));
    Ok(Some(out.freeze()))
}
