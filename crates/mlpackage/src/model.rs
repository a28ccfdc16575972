//! A model: program, description and whatever else its file or package holds.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use coremill_mil::{Const, Program, Type};
use coremill_tensor::DType;
use prost::Message;

use crate::describe::{self, Describe};
use crate::disk;
use crate::envelope::Envelope;
use crate::manifest::{Item, MANIFEST, MODEL_PATH, Manifest, WEIGHTS_PATH};
use crate::proto::description::ModelDescription;
use crate::read::{self, WeightSource};
use crate::write;
use crate::{Content, Error, ErrorKind, Files};

/// A Core ML model that is an ML Program.
#[derive(Clone, Debug)]
pub struct Model {
    /// Version of the format that the model asks for; writing raises it to what the program's opset needs.
    pub specification_version: i32,
    /// May the model be trained further on a device?
    pub is_updatable: bool,
    /// The program.
    pub program: Program,
    /// The description of its interface.
    pub description: Description,
    /// The other files of its package, by path in the package: neither manifest, model nor weights.
    pub files: Files,
    /// The other items of its package's manifest.
    pub items: BTreeMap<String, Item>,
    /// Fields of the model file that are none of the above, as they stand.
    pub other_fields: Bytes,
}

/// Where the description of a model's interface comes from.
#[derive(Clone, Debug)]
pub enum Description {
    /// There is none; an `.mlmodel` is written without one, a package with one made from the program.
    Absent,
    /// From a file; written back byte for byte unless the program's interface changed.
    Kept(Bytes),
    /// To be made from the program.
    Made(Describe),
}

/// What a new model was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The framework with its version, `torch==2.13.0`.
    pub framework: Option<String>,
    /// The dialect of the source program, `TorchExport::EDGE`.
    pub dialect: Option<String>,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Model {
    /// A new model of a program; `buildInfo` and the metadata will say what it was made from, and with which
    /// version of coremill.
    pub fn new(mut program: Program, source: &Source, mut how: Describe) -> Model {
        let mut info = vec![("coremill-version".to_owned(), VERSION.to_owned())];
        how.metadata.user_defined.insert("coremill.version".to_owned(), VERSION.to_owned());
        if let Some(framework) = &source.framework {
            how.metadata.user_defined.insert("coremill.source".to_owned(), framework.clone());
            if let Some((name, version)) = framework.split_once("==") {
                info.push((format!("coremill-component-{name}"), version.to_owned()));
            }
        }
        if let Some(dialect) = &source.dialect {
            how.metadata.user_defined.insert("coremill.source_dialect".to_owned(), dialect.clone());
            info.push(("coremill-source-dialect".to_owned(), dialect.clone()));
        }
        let text = Type::scalar(DType::String);
        let entries = info.into_iter().map(|(k, v)| (Const::string(k), Const::string(v))).collect();
        let info = Const::Dict(Type::Dict(Box::new((text.clone(), text))), entries);
        program.attributes.insert("buildInfo".to_owned(), info);
        program.version = program.version.max(1);
        Model {
            specification_version: program.opset().map_or(0, |o| o.specification_version()),
            is_updatable: false,
            program,
            description: Description::Made(how),
            files: Files::new(),
            items: BTreeMap::new(),
            other_fields: Bytes::new(),
        }
    }

    /// Opens an `.mlpackage` folder or an `.mlmodel` file. Weights are mapped, not read.
    ///
    /// # Errors
    /// When it is neither, is damaged, is no ML Program, or points out of its folder; see [`ErrorKind`].
    pub fn open(path: &Path) -> Result<Model, Error> {
        let label = path.display().to_string();
        let meta = path.metadata().map_err(|e| Error::io(path, e))?;
        if meta.is_dir() {
            if !path.join(MANIFEST).is_file() {
                return Err(Error::new(label, ErrorKind::NotAModel));
            }
            return Model::from_package(&label, &disk::read_folder(path)?);
        }
        let bytes = coremill_tensor::map_file(path).map_err(|e| Error::io(path, e))?;
        let dir = match path.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        Model::decode(&label, &bytes, &|weights| disk::read_below(dir, weights)).map(|(model, _)| model)
    }

    /// Reads a package from its files. `label` is what errors call it.
    ///
    /// # Errors
    /// As [`Model::open`].
    pub fn from_package(label: &str, files: &Files) -> Result<Model, Error> {
        let manifest = Manifest::read(label, files)?;
        let missing = |path: &str| Error::new(label, ErrorKind::MissingFile(path.to_owned()));
        let path = manifest.model_path().ok_or_else(|| missing(MODEL_PATH))?;
        let bytes = files.get(&path).ok_or_else(|| missing(&path))?.to_bytes();
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let weights = |name: &str| {
            let name = format!("{dir}/{name}");
            files.get(&name).map(Content::to_bytes).ok_or_else(|| missing(&name))
        };
        let (mut model, weight_files) = Model::decode(&format!("{label}/{path}"), &bytes, &weights)?;
        model.items = manifest.other_items();
        model.files = files.clone();
        for gone in [MANIFEST, &path, MODEL_PATH, WEIGHTS_PATH] {
            model.files.remove(gone);
        }
        for gone in weight_files {
            model.files.remove(&format!("{dir}/{gone}"));
        }
        Ok(model)
    }

    /// Reads an `.mlmodel` file that stands alone. `label` is what errors call it.
    ///
    /// # Errors
    /// As [`Model::open`]; also when the program refers to a weight file.
    pub fn from_mlmodel(label: &str, bytes: &Bytes) -> Result<Model, Error> {
        let no_weights = |name: &str| Err(Error::new(label, ErrorKind::MissingFile(name.to_owned())));
        Model::decode(label, bytes, &no_weights).map(|(model, _)| model)
    }

    fn decode(label: &str, bytes: &Bytes, weights: &WeightSource<'_>) -> Result<(Model, Vec<String>), Error> {
        let envelope = Envelope::read(label, bytes)?;
        let read::Outcome { program, weight_files } = read::read_program(label, &envelope.program, weights)?;
        let model = Model {
            specification_version: envelope.specification_version,
            is_updatable: envelope.is_updatable,
            program,
            description: envelope.description.map_or(Description::Absent, Description::Kept),
            files: Files::new(),
            items: BTreeMap::new(),
            other_fields: envelope.others,
        };
        Ok((model, weight_files))
    }

    /// The model as an `.mlmodel` file, every constant inline.
    ///
    /// # Errors
    /// When the program or its interface has something that the format can't say.
    pub fn to_mlmodel(&self, label: &str) -> Result<Content, Error> {
        let written = write::write_program(&self.program, false).map_err(|e| e.in_file(label))?;
        let description = match self.description {
            Description::Absent => None,
            _ => Some(self.description_bytes(label)?),
        };
        Ok(self.envelope(description, written.program.encode_to_vec().into()))
    }

    /// The files of the model as an `.mlpackage`. Weights are shared with the program, not copied.
    ///
    /// # Errors
    /// As [`Model::to_mlmodel`].
    pub fn to_package(&self, label: &str) -> Result<Files, Error> {
        let written = write::write_program(&self.program, true).map_err(|e| e.in_file(label))?;
        let description = self.description_bytes(label)?;
        let model = self.envelope(Some(description), written.program.encode_to_vec().into());
        let weights = written.weights.filter(|w| !w.is_empty()).map(|w| w.finish());
        let manifest = Manifest::new(&model, weights.as_ref(), self.items.clone());
        let mut files = self.files.clone();
        files.insert(MANIFEST.to_owned(), manifest.to_text());
        files.insert(MODEL_PATH.to_owned(), model);
        if let Some(weights) = weights {
            files.insert(WEIGHTS_PATH.to_owned(), weights);
        }
        Ok(files)
    }

    /// Writes the model to `path`, an `.mlpackage` or `.mlmodel` by its extension. It appears whole or not at all,
    /// and may replace the very file the model was opened from.
    ///
    /// # Errors
    /// As [`Model::to_mlmodel`]; also for another extension, and what the file system reports.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let label = path.display().to_string();
        match path.extension().and_then(|e| e.to_str()) {
            Some("mlpackage") => {
                let is_package = |p: &Path| p.join(MANIFEST).is_file();
                disk::write_folder(path, &self.to_package(&label)?, is_package)
            }
            Some("mlmodel") => disk::write_file(path, &self.to_mlmodel(&label)?),
            _ => {
                let what = "a model is written as .mlpackage or .mlmodel; end the path in one of them".to_owned();
                Err(Error::new(label, ErrorKind::Unwritable(what)))
            }
        }
    }

    /// The description that would be written, decoded.
    ///
    /// # Errors
    /// When the file's is damaged, or none can be made.
    pub fn described(&self, label: &str) -> Result<ModelDescription, Error> {
        describe::decode(label, &self.description_bytes(label)?)
    }

    fn description_bytes(&self, label: &str) -> Result<Bytes, Error> {
        match &self.description {
            Description::Kept(raw) => describe::reconcile(label, raw, &self.program, &Describe::default()),
            Description::Made(how) => describe::generate(label, &self.program, how),
            Description::Absent => describe::generate(label, &self.program, &Describe::default()),
        }
    }

    fn envelope(&self, description: Option<Bytes>, program: Bytes) -> Content {
        let needed = self.program.opset().map_or(0, |o| o.specification_version());
        Envelope {
            specification_version: self.specification_version.max(needed),
            is_updatable: self.is_updatable,
            description,
            program,
            others: self.other_fields.clone(),
        }
        .write()
    }
}
