//! Taking the models inside a `.pte` through another pipeline, and keeping everything else.

use std::path::Path;

use coremill_executorch::blob::{CoreMlBlob, identifier_of};
use coremill_executorch::pte::PteFile;
use coremill_mlpackage::Model;
use coremill_tensor::Bytes;

use crate::delegates::{CoreMlDelegate, directory_of};
use crate::lower::Plan;
use crate::spool::spool;
use crate::{Error, LowerOptions, Note, Session};

/// The program with every Core ML delegate's model taken through the pipeline, and those models. A model that
/// several methods share is taken once, with the compile specs of the first.
pub(crate) fn delegates(
    session: &mut Session<'_>,
    path: &Path,
    pte: &PteFile,
    delegates: &[CoreMlDelegate<'_>],
    options: &LowerOptions,
) -> Result<(PteFile, Vec<Model>), Error> {
    let mut out = pte.clone();
    let mut models = Vec::new();
    let mut shared: Vec<&str> = Vec::new();
    for d in delegates {
        let (method, index) = (d.delegate.method, d.delegate.index);
        let plan = Plan::new(session, &d.label(path), d.delegate.compile_specs.clone(), options)?;
        let failed = |e| Error::pte(path.display(), e);
        let processed = match &d.reference {
            Some(r) if shared.contains(&r.key.as_str()) => d.delegate.processed.clone(),
            reference => {
                let (blob, model) = one(session, path, d, &plan)?;
                models.push(model);
                match reference {
                    Some(r) => {
                        out.replace_named_data(&r.key, blob).map_err(failed)?;
                        shared.push(&r.key);
                        d.delegate.processed.clone()
                    }
                    None => blob,
                }
            }
        };
        out.replace_delegate(method, index, plan.specs, processed).map_err(failed)?;
    }
    Ok((out, models))
}

fn one(session: &mut Session<'_>, path: &Path, d: &CoreMlDelegate<'_>, plan: &Plan) -> Result<(Bytes, Model), Error> {
    let label = d.label(path);
    let mut metadata = d.metadata(path)?;
    let mut model = d.model(path)?;
    session.relower_model(plan, &mut model, &label)?;
    let package = directory_of(&label, &model.to_package(&label)?)?;
    let mut blob: CoreMlBlob = d.blob.clone();
    metadata.identifier = identifier_of(&package);
    blob.set_package(package);
    blob.set_metadata(&metadata);
    if blob.debug_info().is_some() {
        blob.set_debug_info(None);
        session.note(Note::DebugInfoDropped { method: d.delegate.method.to_owned() });
    }
    Ok((spool(blob.size(), |mut out| blob.write_to(&mut out))?, model))
}
