//! What a method takes, gives and needs, as ExecuTorch's runtime reports it.

use super::program::*;
use super::{PteError, PteFile};

/// A method's signature and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Method<'a> {
    /// Name of the method.
    pub name: &'a str,
    /// Inputs in order.
    pub inputs: Vec<ValueInfo<'a>>,
    /// Outputs in order.
    pub outputs: Vec<ValueInfo<'a>>,
    /// Bytes of each planned buffer. The number of the first one, in a tensor's allocation, is 1.
    pub memory_planned_buffer_sizes: Vec<i64>,
    /// Names of the backends that are called, each once, in order.
    pub backends: Vec<&'a str>,
    /// Kernels that are called, as `name.overload`, in order.
    pub operators: Vec<String>,
    /// Number of instructions.
    pub instruction_count: usize,
    /// The method's table, for what is not shown here.
    pub plan: &'a ExecutionPlan,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueInfo<'a> {
    /// A tensor.
    Tensor(TensorInfo<'a>),
    /// Anything else.
    Other(&'a EValue),
}

/// A tensor as a caller sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorInfo<'a> {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes, outermost first; upper bounds unless `dynamism` is static.
    pub sizes: &'a [i32],
    /// Dimension numbers from the outermost to the innermost in memory.
    pub dim_order: &'a [u8],
    /// What `sizes` says.
    pub dynamism: TensorShapeDynamism,
    /// Whether the runtime has memory for it: planned memory or stored data.
    pub is_memory_planned: bool,
    /// Bytes of the sizes given; `None` when they do not fit 64 bits or are negative.
    pub nbytes: Option<u64>,
}

impl<'a> ValueInfo<'a> {
    fn of(value: &'a EValue) -> Self {
        match value {
            EValue::Tensor(tensor) => Self::Tensor(TensorInfo {
                scalar_type: tensor.scalar_type,
                sizes: &tensor.sizes,
                dim_order: &tensor.dim_order,
                dynamism: tensor.shape_dynamism,
                is_memory_planned: tensor.allocation_info.is_some() || tensor.data_buffer_idx != 0,
                nbytes: tensor_bytes(tensor.scalar_type, &tensor.sizes),
            }),
            other => Self::Other(other),
        }
    }

    /// The tensor, where it is one.
    pub fn as_tensor(&self) -> Option<&TensorInfo<'a>> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Other(_) => None,
        }
    }
}

/// Bytes of a dense tensor, or nothing when a size is negative or the product too large.
pub(super) fn tensor_bytes(scalar_type: ScalarType, sizes: &[i32]) -> Option<u64> {
    let product = |bytes: u64, size: &i32| bytes.checked_mul(u64::try_from(*size).ok()?);
    sizes.iter().try_fold(scalar_type.size(), product)
}

impl PteFile {
    /// All methods in order.
    pub fn methods(&self) -> Vec<Method<'_>> {
        self.program.execution_plan.iter().map(describe).collect()
    }

    /// The method of this name.
    ///
    /// # Errors
    /// When there is none; the error lists those there are.
    pub fn method(&self, name: &str) -> Result<Method<'_>, PteError> {
        let plans = &self.program.execution_plan;
        plans.iter().find(|plan| plan.name == name).map(describe).ok_or_else(|| self.no_such_method(name))
    }

    pub(super) fn no_such_method(&self, name: &str) -> PteError {
        let known = self.program.execution_plan.iter().map(|plan| plan.name.clone()).collect();
        PteError::NoSuchMethod { wanted: name.to_owned(), known }
    }
}

fn describe(plan: &ExecutionPlan) -> Method<'_> {
    let values = |indices: &[i32]| {
        let value = |index: &i32| usize::try_from(*index).ok().and_then(|index| plan.values.get(index));
        indices.iter().filter_map(value).map(ValueInfo::of).collect()
    };
    let mut backends: Vec<&str> = Vec::new();
    for delegate in &plan.delegates {
        if !backends.contains(&delegate.id.as_str()) {
            backends.push(&delegate.id);
        }
    }
    let operator = |operator: &Operator| match operator.overload.as_str() {
        "" => operator.name.clone(),
        overload => format!("{}.{overload}", operator.name),
    };
    Method {
        name: &plan.name,
        inputs: values(&plan.inputs),
        outputs: values(&plan.outputs),
        memory_planned_buffer_sizes: plan.non_const_buffer_sizes.iter().skip(1).copied().collect(),
        backends,
        operators: plan.operators.iter().map(operator).collect(),
        instruction_count: plan.chains.iter().map(|chain| chain.instructions.len()).sum(),
        plan,
    }
}
