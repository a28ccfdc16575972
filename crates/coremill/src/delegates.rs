//! The Core ML models inside a `.pte`.

use std::path::Path;

use coremill_executorch::blob::{CoreMlBlob, Metadata};
use coremill_executorch::inmemory_fs::Directory;
use coremill_executorch::pte::{Delegate, ModelReference, PteFile};
use coremill_mlpackage::{Files, Model};
use coremill_tensor::Bytes;

use crate::Error;
use crate::spool::spool;

/// A Core ML delegate with its model.
pub(crate) struct CoreMlDelegate<'a> {
    pub(crate) delegate: Delegate<'a>,
    /// The blob that holds the model.
    pub(crate) blob: CoreMlBlob,
    /// The blob's bytes.
    pub(crate) bytes: Bytes,
    /// Where the model is shared with other methods: how the delegate refers to it.
    pub(crate) reference: Option<ModelReference>,
}

/// All Core ML delegates of a program, in order.
pub(crate) fn core_ml_delegates<'a>(file: &Path, pte: &'a PteFile) -> Result<Vec<CoreMlDelegate<'a>>, Error> {
    let mut found = Vec::new();
    for delegate in pte.delegates().into_iter().filter(Delegate::is_core_ml) {
        let (bytes, reference) = pte.model_blob(&delegate).map_err(|e| Error::pte(file.display(), e))?;
        let blob = CoreMlBlob::read(&bytes).map_err(|error| Error::Blob {
            file: file.display().to_string(),
            method: delegate.method.to_owned(),
            index: delegate.index,
            error,
        })?;
        found.push(CoreMlDelegate { delegate, blob, bytes, reference });
    }
    Ok(found)
}

impl CoreMlDelegate<'_> {
    fn err(&self, file: &Path, error: coremill_executorch::blob::BlobError) -> Error {
        Error::Blob {
            file: file.display().to_string(),
            method: self.delegate.method.to_owned(),
            index: self.delegate.index,
            error,
        }
    }

    /// What the blob's metadata says.
    pub(crate) fn metadata(&self, file: &Path) -> Result<Metadata, Error> {
        self.blob.metadata().map_err(|e| self.err(file, e))
    }

    /// How errors call the model: the file, and the place in it.
    pub(crate) fn label(&self, file: &Path) -> String {
        let Delegate { method, index, .. } = self.delegate;
        format!("{}, method `{method}`, delegate {index}, model.mlpackage", file.display())
    }

    /// The model.
    pub(crate) fn model(&self, file: &Path) -> Result<Model, Error> {
        if self.blob.is_compiled() {
            return Err(Error::unusable(
                self.label(file),
                "the model is compiled (model.mlmodelc), and only Apple's tools read that; \
                 export it again with `model_type` `model`",
            ));
        }
        let package = self.blob.package().map_err(|e| self.err(file, e))?;
        Ok(Model::from_package(&self.label(file), &files_of(package))?)
    }
}

/// A directory's files by path.
pub(crate) fn files_of(directory: &Directory) -> Files {
    directory.files().into_iter().map(|(path, bytes)| (path, bytes.clone().into())).collect()
}

/// Files as a directory.
pub(crate) fn directory_of(label: &str, files: &Files) -> Result<Directory, Error> {
    let mut directory = Directory::new();
    for (path, content) in files {
        let bytes = spool(content.len(), |out| content.write_to(out))?;
        directory.insert_file(path, bytes).map_err(|e| Error::flatten(label, e))?;
    }
    Ok(directory)
}
