//! The exported program: graph, signature, ranges of symbols, weights; and the reading of it.

use std::path::Path;

use bytes::Bytes;
use indexmap::IndexMap;

use crate::archive::Archive;
use crate::error::{Error, Problem, Result};
use crate::graph::{Argument, Graph, Node};
use crate::weights::{self, Weight};
use crate::{build, schema};

/// A program that `torch.export.save` wrote.
#[derive(Clone, Debug)]
pub struct ExportedProgram {
    /// Its name in the archive, mostly `model`.
    pub name: String,
    /// The graph. Its inputs go with `inputs`, its outputs with `outputs`, one to one.
    pub graph: Graph,
    /// What each graph input is.
    pub inputs: Vec<InputSpec>,
    /// What each graph output is.
    pub outputs: Vec<OutputSpec>,
    /// The modules of the model and what is known of their calls; the first is the root.
    pub module_calls: Vec<ModuleCall>,
    /// The range of each symbol, and of expressions that export has bounded (`2*s0`).
    pub ranges: IndexMap<String, Range>,
    /// Parameters and persistent buffers, by fully qualified name.
    pub weights: IndexMap<String, Weight>,
    /// Buffers that are not persistent, and tensors lifted from the code, by fully qualified name.
    pub constants: IndexMap<String, Weight>,
    /// Version of each operator set.
    pub opset_version: IndexMap<String, i64>,
    /// Version of the file's schema.
    pub schema_version: SchemaVersion,
    /// What the graph was verified as: `TRAINING` (as `torch.export.export` gives it), `ATEN`, `EDGE`.
    pub dialects: Vec<String>,
    /// The torch that wrote it.
    pub torch_version: String,
    /// Python expressions over the inputs that hold where the program may be called.
    pub guards: Vec<String>,
    /// What the module says of itself.
    pub metadata: IndexMap<String, String>,
}

/// A version of the export schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaVersion {
    /// Grows with changes that break readers.
    pub major: i64,
    /// Grows with changes that don't.
    pub minor: i64,
}

/// Least and greatest value of a symbol; `None` where there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: Option<i64>,
    /// The greatest.
    pub max: Option<i64>,
}

/// What a graph input is.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSpec {
    /// The graph's input: mostly a value; a constant where export has specialised on one.
    pub arg: Argument,
    /// Its role.
    pub kind: InputKind,
}

/// The role of a graph input. Names are fully qualified, as in `encoder.layers.0.weight`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Given by the caller, in this order.
    User,
    /// Trained; in `weights`.
    Parameter(String),
    /// State: in `weights` when persistent, else in `constants`.
    Buffer {
        /// Its name.
        name: String,
        /// Is it part of the state dict?
        persistent: bool,
    },
    /// A tensor of the code; in `constants`.
    TensorConstant(String),
    /// A script object, which coremill does not read.
    CustomObj(String),
    /// An effect token.
    Token,
    /// An argument of the caller that export has specialised on; this is its name.
    Constant(String),
}

/// What a graph output is.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSpec {
    /// The graph's output.
    pub arg: Argument,
    /// Its role.
    pub kind: OutputKind,
}

/// The role of a graph output. Names are fully qualified, or those of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Given to the caller, in this order.
    User,
    /// The loss.
    Loss,
    /// The new value of this buffer.
    BufferMutation(String),
    /// The new value of this parameter.
    ParameterMutation(String),
    /// The new value of the input of this name.
    UserInputMutation(String),
    /// The gradient of this parameter.
    GradientToParameter(String),
    /// The gradient of the input of this name.
    GradientToUserInput(String),
    /// An effect token.
    Token,
}

/// A module of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleCall {
    /// Its fully qualified name; empty for the root.
    pub fqn: String,
    /// How it is called, where export has kept that.
    pub signature: Option<ModuleSignature>,
}

/// How a module is called.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleSignature {
    /// What goes in, flattened.
    pub inputs: Vec<Argument>,
    /// What comes out, flattened.
    pub outputs: Vec<Argument>,
    /// How the inputs nest (torch's pytree spec, as it stands in the file).
    pub in_spec: String,
    /// How the outputs nest.
    pub out_spec: String,
    /// Names of the arguments of `forward`.
    pub forward_arg_names: Vec<String>,
}

const KNOWN_MAJOR: i64 = 8;

/// Reads the program in the `.pt2` at `path`. Its weights are slices of the mapped file.
///
/// # Errors
/// When the file can't be mapped, is no whole `.pt2`, or holds what this reader does not know; see [`Problem`].
pub fn read(path: &Path) -> Result<ExportedProgram> {
    let archive = Archive::open(path)?;
    read_archive(&archive, None).map_err(|e| e.in_file(path))
}

/// Reads the program in the `.pt2` that `bytes` are.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(bytes: Bytes) -> Result<ExportedProgram> {
    read_archive(&Archive::from_bytes(bytes)?, None)
}

/// Reads one program of an archive: that of this name, or the only one.
///
/// # Errors
/// As [`read`], and when there is no such program or there are several and no name is given.
pub fn read_archive(archive: &Archive, name: Option<&str>) -> Result<ExportedProgram> {
    check_byte_order(archive)?;
    let name = choose(archive, name)?;
    let entry = format!("models/{name}.json");
    let text = archive.get(&entry)?;
    let schema_version = version(&entry, &text)?;
    let raw: schema::ExportedProgram = parse(&entry, &text)?;
    let mut program = build::program(&entry, name.clone(), schema_version, raw)?;
    let (weights, mut problems) = weights::read(archive, &weights::WEIGHTS, &name)?;
    let (constants, more) = weights::read(archive, &weights::CONSTANTS, &name)?;
    problems.extend(more);
    program.weights = weights;
    program.constants = constants;
    let missing = program.missing_weights(&problems);
    problems.extend(missing);
    Error::check(problems)?;
    Ok(program)
}

fn check_byte_order(archive: &Archive) -> Result<()> {
    if archive.contains("byteorder") && archive.get("byteorder")?.as_ref() != b"little" {
        let what = "is not `little`; save the program on a little-endian machine".to_owned();
        return Err(Problem::Entry { entry: "byteorder".to_owned(), what }.into());
    }
    Ok(())
}

/// The program to read.
fn choose(archive: &Archive, wanted: Option<&str>) -> Result<String> {
    let names: Vec<&str> = archive
        .names()
        .filter_map(|n| n.strip_prefix("models/")?.strip_suffix(".json"))
        .filter(|n| !n.contains('/'))
        .collect();
    let pick = match wanted {
        Some(w) => names.iter().find(|n| **n == w),
        None if names.len() == 1 => names.first(),
        None => names.iter().find(|n| **n == "model"),
    };
    let hint = match (pick, names.as_slice()) {
        (Some(name), _) => return Ok((*name).to_owned()),
        (None, []) if archive.contains("serialized_exported_program.json") => {
            "this file is of a torch before 2.8; load it there and save it again with torch 2.13"
        }
        (None, []) => "this is a zip, and no program that torch.export.save wrote",
        (None, [..]) => &format!("the archive holds the programs {}; name one", names.join(", ")),
    };
    let entry = format!("models/{}.json", wanted.unwrap_or("model"));
    Err(Problem::MissingEntry { entry, hint: hint.to_owned() }.into())
}

fn version(entry: &str, text: &[u8]) -> Result<SchemaVersion> {
    let schema::SchemaVersion { major, minor } = parse::<schema::Versioned>(entry, text)?.schema_version;
    if major == KNOWN_MAJOR {
        return Ok(SchemaVersion { major, minor });
    }
    Err(Problem::SchemaVersion { entry: entry.to_owned(), major, minor, known: "8" }.into())
}

/// JSON of an entry; an error has the path inside it.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(entry: &str, text: &[u8]) -> Result<T> {
    let mut d = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut d).map_err(|e| {
        let path = e.path().to_string();
        Problem::Json { entry: entry.to_owned(), path, what: e.into_inner().to_string() }
    })?;
    d.end().map_err(|e| Problem::Json { entry: entry.to_owned(), path: ".".to_owned(), what: e.to_string() })?;
    Ok(value)
}

impl ExportedProgram {
    /// The data of a graph input: a parameter, buffer or constant. `None` for what the caller gives.
    pub fn data(&self, input: &InputSpec) -> Option<&Weight> {
        match &input.kind {
            InputKind::Parameter(n) => self.weights.get(n),
            InputKind::Buffer { name, persistent: true } => self.weights.get(name).or_else(|| self.constants.get(name)),
            InputKind::Buffer { name, persistent: false } => {
                self.constants.get(name).or_else(|| self.weights.get(name))
            }
            InputKind::TensorConstant(n) => self.constants.get(n),
            InputKind::User | InputKind::CustomObj(_) | InputKind::Token | InputKind::Constant(_) => None,
        }
    }

    /// The inputs that the caller gives, in order, those that export has specialised on among them.
    pub fn user_inputs(&self) -> impl Iterator<Item = &InputSpec> {
        self.inputs.iter().filter(|i| matches!(i.kind, InputKind::User | InputKind::Constant(_)))
    }

    /// The outputs that the caller gets, in order.
    pub fn user_outputs(&self) -> impl Iterator<Item = &OutputSpec> {
        self.outputs.iter().filter(|o| o.kind == OutputKind::User)
    }

    /// Every node, nested graphs included, each before the nodes of its nested graphs, with the graph it is in.
    pub fn nodes(&self) -> Vec<(&Graph, &Node)> {
        fn collect<'a>(graph: &'a Graph, out: &mut Vec<(&'a Graph, &'a Node)>) {
            for node in &graph.nodes {
                out.push((graph, node));
                for input in &node.inputs {
                    if let Argument::Graph(g) = &input.arg {
                        collect(&g.graph, out);
                    }
                }
            }
        }
        let mut out = Vec::new();
        collect(&self.graph, &mut out);
        out
    }

    /// Arguments of a kind that this reader does not know: node, argument and kind.
    pub fn unknown_arguments(&self) -> Vec<(&str, &str, &str)> {
        let mut out = Vec::new();
        for (_, node) in self.nodes() {
            for input in &node.inputs {
                if let Argument::Unknown { kind, .. } = &input.arg {
                    out.push((node.name.as_str(), input.name.as_str(), kind.as_str()));
                }
            }
        }
        out
    }

    /// Those that the program uses and the file does not list; one that is in `known` is said already.
    fn missing_weights(&self, known: &[Problem]) -> Vec<Problem> {
        let missing = |i: &InputSpec| {
            let (section, name) = match &i.kind {
                InputKind::Parameter(n) | InputKind::Buffer { name: n, persistent: true } => ("weight", n),
                InputKind::TensorConstant(n) | InputKind::Buffer { name: n, persistent: false } => ("constant", n),
                InputKind::User | InputKind::CustomObj(_) | InputKind::Token | InputKind::Constant(_) => return None,
            };
            let said = |p: &Problem| matches!(p, Problem::Weight { name: said, .. } if said == name);
            if known.iter().any(said) {
                return None;
            }
            let what = "the program uses it, and the file does not hold it".to_owned();
            self.data(i).is_none().then(|| Problem::Weight { section, name: name.clone(), what })
        };
        self.inputs.iter().filter_map(missing).collect()
    }
}
