//! A new program whose one method is one delegate call.
//!
//! The program has the shape that ExecuTorch's exporter gives it: an empty constant segment, the blob in a segment of
//! its own, tensors for inputs and outputs in planned memory, one chain with one call.

use bytes::Bytes;
use serde_json::{Value, json};

use super::method::tensor_bytes;
use super::program::*;
use super::{CORE_ML_BACKEND, PteError, PteFile, memory_plan};
use crate::compile_spec::{CompileSpecs, to_python_json};

/// An input or output of a new method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// Element type as callers see it; int64 stays int64 whatever the model uses.
    pub scalar_type: ScalarType,
    /// Sizes, outermost first; the largest ones where `dynamic`.
    pub sizes: Vec<i32>,
    /// Dimension numbers from the outermost to the innermost in memory.
    pub dim_order: Vec<u8>,
    /// Whether a call may have smaller sizes.
    pub dynamic: bool,
}

impl TensorSpec {
    /// A tensor of one shape, laid out in the order of its dimensions.
    pub fn new(scalar_type: ScalarType, sizes: impl Into<Vec<i32>>) -> Self {
        let sizes = sizes.into();
        let dim_order = (0..sizes.len()).map(|dim| u8::try_from(dim).unwrap_or(u8::MAX)).collect();
        Self { scalar_type, sizes, dim_order, dynamic: false }
    }

    /// The same with `sizes` as upper bounds.
    pub fn upper_bound(scalar_type: ScalarType, sizes: impl Into<Vec<i32>>) -> Self {
        Self { dynamic: true, ..Self::new(scalar_type, sizes) }
    }
}

/// A new method: what it takes and gives, and how the delegate sees that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodSpec {
    /// Name of the method; ExecuTorch's tools look for `forward`.
    pub name: String,
    /// Inputs in the order in which callers pass them.
    pub inputs: Vec<TensorSpec>,
    /// Outputs in the order in which callers get them.
    pub outputs: Vec<TensorSpec>,
    /// The delegate's inputs, in the order of `inputNames` in its metadata, as indices into `inputs`; all of them in
    /// order when `None`. An input that the model does not use is left out here.
    pub delegate_inputs: Option<Vec<usize>>,
    /// The delegate's outputs, in the order of `outputNames`, as indices into `outputs`; all in order when `None`.
    pub delegate_outputs: Option<Vec<usize>>,
    /// pytree specs from the exported program; flat positional arguments and a tensor or tuple when `None`.
    pub container: Option<ContainerMetadata>,
}

/// Where a new program keeps the blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DelegateStorage {
    /// Behind the FlatBuffer, where it can be mapped; what ExecuTorch does.
    #[default]
    Segment,
    /// Inside the FlatBuffer.
    Inline,
}

/// A program whose one method hands everything to one Core ML delegate; [`PteFile::write`] makes a file of it.
///
/// # Errors
/// When sizes are negative or too large, dim orders are no permutations, or delegate indices lead nowhere.
pub fn write_single_delegate(
    method: &MethodSpec,
    compile_specs: CompileSpecs,
    processed: Bytes,
    storage: DelegateStorage,
) -> Result<PteFile, PteError> {
    let plan = execution_plan(method, compile_specs, storage)?;
    let mut program = Program {
        execution_plan: vec![plan],
        // Entry 0 of the offsets stands for tensors without data; ExecuTorch gives it a segment, if an empty one.
        constant_segment: Some(SubsegmentOffsets { segment_index: 0, offsets: vec![0] }),
        segments: vec![Segment::new(Bytes::new())],
        ..Program::default()
    };
    match storage {
        DelegateStorage::Segment => program.segments.push(Segment::new(processed)),
        DelegateStorage::Inline => program.backend_delegate_data.push(processed),
    }
    Ok(PteFile { program })
}

fn execution_plan(
    method: &MethodSpec,
    compile_specs: CompileSpecs,
    storage: DelegateStorage,
) -> Result<ExecutionPlan, PteError> {
    let refuse = |problem: String| PteError::BadMethod { method: method.name.clone(), problem };
    let tensors: Vec<&TensorSpec> = method.inputs.iter().chain(&method.outputs).collect();
    let sizes = tensors.iter().map(|tensor| checked_bytes(tensor)).collect::<Result<Vec<_>, _>>().map_err(refuse)?;
    let (places, total) = memory_plan::plan(&sizes)
        .and_then(|(places, total)| Some((places, i64::try_from(total).ok()?)))
        .ok_or_else(|| refuse("its inputs and outputs do not fit into memory".to_owned()))?;
    let values = tensors.iter().zip(places).map(|(tensor, place)| value(tensor, place)).collect();

    let count =
        |list: &[TensorSpec]| i32::try_from(list.len()).map_err(|_| refuse("it has too many values".to_owned()));
    let (inputs, outputs) = (count(&method.inputs)?, count(&method.outputs)?);
    let end = inputs.checked_add(outputs).ok_or_else(|| refuse("it has too many values".to_owned()))?;
    let mut args = pick("input", method.delegate_inputs.as_deref(), 0..inputs).map_err(refuse)?;
    args.extend(pick("output", method.delegate_outputs.as_deref(), inputs..end).map_err(refuse)?);

    let (location, index) = match storage {
        DelegateStorage::Segment => (DataLocation::Segment, 1),
        DelegateStorage::Inline => (DataLocation::Inline, 0),
    };
    Ok(ExecutionPlan {
        name: method.name.clone(),
        container_meta_type: Some(method.container.clone().unwrap_or_else(|| flat_container(method))),
        values,
        inputs: (0..inputs).collect(),
        outputs: (inputs..end).collect(),
        chains: vec![Chain {
            instructions: vec![Instruction::DelegateCall { delegate_index: 0, args }],
            ..Chain::default()
        }],
        operators: Vec::new(),
        delegates: vec![BackendDelegate {
            id: CORE_ML_BACKEND.to_owned(),
            processed: DelegateDataReference { location, index },
            compile_specs,
        }],
        non_const_buffer_sizes: vec![0, total],
        non_const_buffer_device: None,
    })
}

fn checked_bytes(tensor: &TensorSpec) -> Result<u64, String> {
    let rank = tensor.sizes.len();
    let mut order = tensor.dim_order.clone();
    order.sort_unstable();
    if rank > usize::from(u8::MAX) || !order.iter().map(|dim| usize::from(*dim)).eq(0..rank) {
        return Err(format!("dim order {:?} is no order of {rank} dimensions", tensor.dim_order));
    }
    tensor_bytes(tensor.scalar_type, &tensor.sizes)
        .ok_or_else(|| format!("sizes {:?} are negative or too large", tensor.sizes))
}

/// The values that `chosen` names among those of `range`.
fn pick(what: &str, chosen: Option<&[usize]>, range: std::ops::Range<i32>) -> Result<Vec<i32>, String> {
    let Some(chosen) = chosen else {
        return Ok(range.collect());
    };
    let one = |index: &usize| {
        let value = i32::try_from(*index).ok().and_then(|index| range.start.checked_add(index));
        value
            .filter(|value| range.contains(value))
            .ok_or_else(|| format!("the delegate's {what} {index} is not among the {} {what}s", range.len()))
    };
    chosen.iter().map(one).collect()
}

fn value(tensor: &TensorSpec, place: AllocationDetails) -> EValue {
    EValue::Tensor(Box::new(Tensor {
        scalar_type: tensor.scalar_type,
        sizes: tensor.sizes.clone(),
        dim_order: tensor.dim_order.clone(),
        allocation_info: Some(place),
        shape_dynamism: match tensor.dynamic {
            true => TensorShapeDynamism::DynamicBound,
            false => TensorShapeDynamism::Static,
        },
        ..Tensor::default()
    }))
}

/// The pytree specs of `f(a, b, ...)` that returns one tensor or a tuple of them.
fn flat_container(method: &MethodSpec) -> ContainerMetadata {
    let leaf = || json!({"type": null, "context": null, "children_spec": []});
    let tuple = |children: Vec<Value>| json!({"type": "builtins.tuple", "context": "null", "children_spec": children});
    let no_keywords = json!({"type": "builtins.dict", "context": "[]", "children_spec": []});
    let arguments = tuple(method.inputs.iter().map(|_| leaf()).collect());
    let result = match method.outputs.as_slice() {
        [_] => leaf(),
        outputs => tuple(outputs.iter().map(|_| leaf()).collect()),
    };
    // 1 is the version of pytree's own format.
    let spec = |tree: Value| to_python_json(&json!([1, tree]));
    ContainerMetadata { encoded_inp_str: spec(tuple(vec![arguments, no_keywords])), encoded_out_str: spec(result) }
}
