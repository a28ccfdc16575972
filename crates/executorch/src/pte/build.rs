//! A new program whose one method is one delegate call.
//!
//! The program has the shape that ExecuTorch's exporter gives it: an empty constant segment, the blob in a segment of
//! its own, tensors for inputs and outputs in planned memory, one chain with one call.

use std::ops::Range;

use bytes::Bytes;
use serde_json::{Value, json};

use super::memory_plan::Tenant;
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

/// What a method takes at one position.
#[derive(Clone, Debug, PartialEq)]
pub enum InputSpec {
    /// A tensor.
    Tensor(TensorSpec),
    /// A Python number, text, truth value or `None` that the export made part of the program; a call must pass the
    /// same.
    Constant(EValue),
}

impl From<TensorSpec> for InputSpec {
    fn from(tensor: TensorSpec) -> Self {
        Self::Tensor(tensor)
    }
}

/// What a method gives at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSpec {
    /// An output of the delegate, as an index into [`MethodSpec::delegate_outputs`]. One may be given twice.
    Delegate(usize),
    /// An input, handed through, as an index into [`MethodSpec::inputs`].
    Input(usize),
}

/// A new method: what it takes and gives, and how the delegate sees that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodSpec {
    /// Name of the method; ExecuTorch's tools look for `forward`.
    pub name: String,
    /// Inputs in the order in which callers pass them.
    pub inputs: Vec<InputSpec>,
    /// The delegate's inputs, in the order of `inputNames` in its metadata, as indices into `inputs`; all tensors in
    /// order when `None`. An input that the model does not use is left out here.
    pub delegate_inputs: Option<Vec<usize>>,
    /// The delegate's outputs, in the order of `outputNames` in its metadata.
    pub delegate_outputs: Vec<TensorSpec>,
    /// Outputs in the order in which callers get them; the delegate's when `None`.
    pub outputs: Option<Vec<OutputSpec>>,
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
pub fn single_delegate(
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
    let layout = Layout::of(method).map_err(refuse)?;
    let (values, total) = layout.values(method).map_err(refuse)?;
    let args = layout.delegate_inputs.iter().copied().chain(layout.made.clone()).collect();
    let (location, index) = match storage {
        DelegateStorage::Segment => (DataLocation::Segment, 1),
        DelegateStorage::Inline => (DataLocation::Inline, 0),
    };
    Ok(ExecutionPlan {
        name: method.name.clone(),
        container_meta_type: Some(method.container.clone().unwrap_or_else(|| flat_container(method))),
        values,
        inputs: layout.given.collect(),
        outputs: layout.outputs,
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

/// The numbers that a method's values have: its inputs first, then the delegate's outputs.
struct Layout {
    given: Range<i32>,
    made: Range<i32>,
    delegate_inputs: Vec<i32>,
    outputs: Vec<i32>,
}

impl Layout {
    fn of(method: &MethodSpec) -> Result<Self, String> {
        let count = |len: usize| i32::try_from(len).map_err(|_| "it has too many values".to_owned());
        let given = 0..count(method.inputs.len())?;
        let made = given.end..count(method.inputs.len().saturating_add(method.delegate_outputs.len()))?;
        let is_tensor = |index: &usize| matches!(method.inputs.get(*index), Some(InputSpec::Tensor(_)));
        let delegate_inputs = match &method.delegate_inputs {
            Some(chosen) => chosen.clone(),
            None => (0..method.inputs.len()).filter(is_tensor).collect(),
        };
        if let Some(index) = delegate_inputs.iter().find(|index| !is_tensor(index)) {
            return Err(format!(
                "the delegate's input {index} is not a tensor among the {} inputs",
                method.inputs.len()
            ));
        }
        let delegate_inputs = delegate_inputs.into_iter().map(|index| pick("input", index, &given));
        let output = |output: &OutputSpec| match *output {
            OutputSpec::Delegate(index) => pick("delegate output", index, &made),
            OutputSpec::Input(index) => pick("input", index, &given),
        };
        let outputs = match &method.outputs {
            Some(outputs) => outputs.iter().map(output).collect::<Result<_, _>>()?,
            None => made.clone().collect(),
        };
        Ok(Self { delegate_inputs: delegate_inputs.collect::<Result<_, _>>()?, outputs, given, made })
    }

    /// The values with their places in planned memory, and how much of that there is.
    fn values(&self, method: &MethodSpec) -> Result<(Vec<EValue>, i64), String> {
        // Steps as ExecuTorch counts them: one for each input, the call, and the end.
        let (call, end) = (method.inputs.len(), method.inputs.len() + 1);
        let mut tensors = Vec::new();
        let mut tenants = Vec::new();
        for ((step, input), value) in method.inputs.iter().enumerate().zip(self.given.clone()) {
            if let InputSpec::Tensor(tensor) = input {
                let last = match value {
                    value if self.outputs.contains(&value) => end,
                    value if self.delegate_inputs.contains(&value) => call,
                    _ => step,
                };
                tenants.push(Tenant { size: checked_bytes(tensor)?, first: 0, last });
                tensors.push(tensor);
            }
        }
        for tensor in &method.delegate_outputs {
            tenants.push(Tenant { size: checked_bytes(tensor)?, first: call, last: end });
            tensors.push(tensor);
        }
        let planned = memory_plan::plan(&tenants);
        let (places, total) = planned.ok_or("its inputs and outputs do not fit into memory")?;
        let mut placed = tensors.into_iter().zip(places).map(|(tensor, place)| tensor_value(tensor, place));
        let mut values = Vec::with_capacity(method.inputs.len() + method.delegate_outputs.len());
        for input in &method.inputs {
            match input {
                InputSpec::Tensor(_) => values.extend(placed.next()),
                InputSpec::Constant(constant) => values.push(constant.clone()),
            }
        }
        values.extend(placed);
        Ok((values, total))
    }
}

fn pick(what: &str, index: usize, among: &Range<i32>) -> Result<i32, String> {
    let value = i32::try_from(index).ok().and_then(|index| among.start.checked_add(index));
    let value = value.filter(|value| among.contains(value));
    value.ok_or_else(|| format!("{what} {index} is not among the {}", among.len()))
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

fn tensor_value(tensor: &TensorSpec, place: AllocationDetails) -> EValue {
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
    let result = match method.outputs.as_ref().map_or(method.delegate_outputs.len(), Vec::len) {
        1 => leaf(),
        count => tuple((0..count).map(|_| leaf()).collect()),
    };
    // 1 is the version of pytree's own format.
    let spec = |tree: Value| to_python_json(&json!([1, tree]));
    ContainerMetadata { encoded_inp_str: spec(tuple(vec![arguments, no_keywords])), encoded_out_str: spec(result) }
}
