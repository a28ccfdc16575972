//! Delegates: their options and blobs, and putting others in their place.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::program::*;
use super::{CORE_ML_BACKEND, PteError, PteFile};
use crate::compile_spec::{CompileSpecs, to_python_json};

/// What a blob starts with when it names another one instead of holding a model.
const REFERENCE_MAGIC: &[u8] = b"CMJR";

/// A delegate of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegate<'a> {
    /// The method it belongs to.
    pub method: &'a str,
    /// Its number within the method.
    pub index: usize,
    /// The backend's name.
    pub id: &'a str,
    /// The options it was made with.
    pub compile_specs: &'a CompileSpecs,
    /// Where the blob lies.
    pub location: DataLocation,
    /// The blob as the backend gets it.
    pub processed: Bytes,
    /// Values that go in and come out, as indices into the method's values, for its first call; `None` when it is
    /// never called.
    pub call_args: Option<&'a [i32]>,
}

/// A blob that stands for a model elsewhere in the file, as methods that share weights have it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ModelReference {
    /// Version of the reference's format; 1.
    pub version: u64,
    /// Name of the named data that holds the model.
    pub key: String,
    /// Function of the model that the method runs.
    #[serde(rename = "functionName")]
    pub function_name: String,
}

impl ModelReference {
    /// The reference as a blob, as ExecuTorch writes it.
    pub fn to_bytes(&self) -> Bytes {
        let fields = json!({"version": self.version, "key": self.key, "functionName": self.function_name});
        [REFERENCE_MAGIC, to_python_json(&fields).as_bytes()].concat().into()
    }
}

impl Delegate<'_> {
    /// Whether this is a Core ML delegate.
    pub fn is_core_ml(&self) -> bool {
        self.id == CORE_ML_BACKEND
    }

    /// The reference that the blob is, or `None` when it holds the model itself.
    ///
    /// # Errors
    /// When the blob starts like a reference and does not go on like one.
    pub fn reference(&self) -> Result<Option<ModelReference>, PteError> {
        let Some(text) = self.processed.strip_prefix(REFERENCE_MAGIC) else {
            return Ok(None);
        };
        serde_json::from_slice(text).map(Some).map_err(|error| PteError::BadReference {
            method: self.method.to_owned(),
            index: self.index,
            problem: error.to_string(),
        })
    }
}

impl PteFile {
    /// All delegates of all methods, in order.
    pub fn delegates(&self) -> Vec<Delegate<'_>> {
        let plans = self.program.execution_plan.iter();
        plans.flat_map(|plan| (0..plan.delegates.len()).filter_map(|index| self.describe(plan, index))).collect()
    }

    /// Delegate `index` of `method`.
    ///
    /// # Errors
    /// When there is no such method or delegate.
    pub fn delegate(&self, method: &str, index: usize) -> Result<Delegate<'_>, PteError> {
        let (plan, _) = self.find(method, index)?;
        let plan = self.program.execution_plan.get(plan).ok_or_else(|| self.no_such_method(method))?;
        self.describe(plan, index).ok_or_else(|| no_such_delegate(plan, index))
    }

    /// The model that a delegate runs: its blob, or what its blob refers to, with the function to run in that case.
    ///
    /// # Errors
    /// When the blob is a reference that cannot be read or followed.
    pub fn model_blob(&self, delegate: &Delegate<'_>) -> Result<(Bytes, Option<ModelReference>), PteError> {
        match delegate.reference()? {
            None => Ok((delegate.processed.clone(), None)),
            Some(reference) => {
                let data = self.named_data(&reference.key);
                let data = data.ok_or_else(|| PteError::NoSuchNamedData { key: reference.key.clone() })?;
                Ok((data, Some(reference)))
            }
        }
    }

    /// The named data `key`.
    pub fn named_data(&self, key: &str) -> Option<Bytes> {
        let named = self.program.named_data.iter().flatten().find(|named| named.key == key)?;
        self.program.segments.get(named.segment_index as usize).map(|segment| segment.data.clone())
    }

    /// Puts other options and another blob into delegate `index` of `method`, where the old ones were; everything
    /// else stays. A blob that others use too stays for them, and the new one goes to the end.
    ///
    /// # Errors
    /// When there is no such method or delegate.
    pub fn replace_delegate(
        &mut self,
        method: &str,
        index: usize,
        compile_specs: CompileSpecs,
        processed: Bytes,
    ) -> Result<(), PteError> {
        let (plan, reference) = self.find(method, index)?;
        let shared = self.users(reference) > 1;
        let program = &mut self.program;
        let at = reference.index as usize;
        let new_index = match reference.location {
            DataLocation::Inline => put(&mut program.backend_delegate_data, at, shared, processed, |bytes| bytes),
            DataLocation::Segment => put(&mut program.segments, at, shared, processed, Segment::new),
        };
        let delegate = program.execution_plan.get_mut(plan).and_then(|plan| plan.delegates.get_mut(index));
        if let Some(delegate) = delegate {
            delegate.compile_specs = compile_specs;
            delegate.processed.index = new_index;
        }
        Ok(())
    }

    /// Puts other bytes under the name `key`. All names of the same data get them.
    ///
    /// # Errors
    /// When there is no such named data.
    pub fn replace_named_data(&mut self, key: &str, data: Bytes) -> Result<(), PteError> {
        let named = self.program.named_data.iter().flatten().find(|named| named.key == key);
        let index = named.map(|named| named.segment_index as usize);
        let segment = index.and_then(|index| self.program.segments.get_mut(index));
        segment.ok_or_else(|| PteError::NoSuchNamedData { key: key.to_owned() })?.data = data;
        Ok(())
    }

    fn find(&self, method: &str, index: usize) -> Result<(usize, DelegateDataReference), PteError> {
        let plans = &self.program.execution_plan;
        let at = plans.iter().position(|plan| plan.name == method).ok_or_else(|| self.no_such_method(method))?;
        let plan = plans.get(at).ok_or_else(|| self.no_such_method(method))?;
        let delegate = plan.delegates.get(index).ok_or_else(|| no_such_delegate(plan, index))?;
        Ok((at, delegate.processed))
    }

    /// How many parts of the program use the bytes at `reference`.
    fn users(&self, reference: DelegateDataReference) -> usize {
        let program = &self.program;
        let delegates = program.execution_plan.iter().flat_map(|plan| &plan.delegates);
        let delegates = delegates.filter(|delegate| delegate.processed == reference).count();
        if reference.location == DataLocation::Inline {
            return delegates;
        }
        let named = program.named_data.iter().flatten().map(|named| named.segment_index);
        let tensors = program.constant_segment.iter().chain(program.mutable_data_segments.iter().flatten());
        // An index without offsets refers to nothing.
        let tensors = tensors.filter(|offsets| !offsets.offsets.is_empty()).map(|offsets| offsets.segment_index);
        delegates + named.chain(tensors).filter(|index| *index == reference.index).count()
    }

    fn describe<'a>(&'a self, plan: &'a ExecutionPlan, index: usize) -> Option<Delegate<'a>> {
        let delegate = plan.delegates.get(index)?;
        let at = delegate.processed.index as usize;
        let processed = match delegate.processed.location {
            DataLocation::Inline => self.program.backend_delegate_data.get(at).cloned(),
            DataLocation::Segment => self.program.segments.get(at).map(|segment| segment.data.clone()),
        };
        let mut instructions = plan.chains.iter().flat_map(|chain| &chain.instructions);
        let call_args = instructions.find_map(|instruction| match instruction {
            Instruction::DelegateCall { delegate_index, args } if usize::try_from(*delegate_index) == Ok(index) => {
                Some(args.as_slice())
            }
            _ => None,
        });
        Some(Delegate {
            method: &plan.name,
            index,
            id: &delegate.id,
            compile_specs: &delegate.compile_specs,
            location: delegate.processed.location,
            processed: processed?,
            call_args,
        })
    }
}

/// Puts `data` at `at`, or at the end when `shared`; returns its index.
fn put<T>(list: &mut Vec<T>, at: usize, shared: bool, data: Bytes, wrap: impl FnOnce(Bytes) -> T) -> u32 {
    match list.get_mut(at) {
        Some(place) if !shared => {
            *place = wrap(data);
            at as u32
        }
        _ => {
            list.push(wrap(data));
            (list.len() - 1) as u32
        }
    }
}

fn no_such_delegate(plan: &ExecutionPlan, index: usize) -> PteError {
    PteError::NoSuchDelegate { method: plan.name.clone(), index, count: plan.delegates.len() }
}
