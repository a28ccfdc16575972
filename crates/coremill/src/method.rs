//! A `.pte` around a model: one method that hands everything to one Core ML delegate.

use coremill_executorch::blob::{CoreMlBlob, Metadata, MethodNames, ModelNames, identifier_of};
use coremill_executorch::compile_spec::CompileSpecs;
use coremill_executorch::pte::program::{ContainerMetadata, ScalarType};
use coremill_executorch::pte::{
    DelegateStorage, InputSpec, MethodSpec, OutputSpec, PteFile, TensorSpec, single_delegate,
};
use coremill_mil::{Function, Type};
use coremill_mlpackage::Model;
use coremill_tensor::DType;

use crate::Error;
use crate::delegates::directory_of;
use crate::spool::spool;

/// Name of the method of a new program, which ExecuTorch's tools look for.
const METHOD: &str = "forward";

/// How callers see the model. The default is a method with the model's own inputs and outputs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    /// Inputs in the order in which callers pass them; `None`: the model's.
    pub(crate) inputs: Option<Vec<InputSpec>>,
    /// Which of those the model's inputs are, in the model's order; `None`: all tensors.
    pub(crate) model_inputs: Option<Vec<usize>>,
    /// The model's outputs as callers see them; `None`: as the model has them.
    pub(crate) model_outputs: Option<Vec<TensorSpec>>,
    /// Outputs in the order in which callers get them; `None`: the model's.
    pub(crate) outputs: Option<Vec<OutputSpec>>,
    /// pytree specs of the exported program.
    pub(crate) container: Option<ContainerMetadata>,
}

/// The program file for a model.
pub(crate) fn to_pte(file: &str, model: &Model, signature: &Signature, specs: CompileSpecs) -> Result<PteFile, Error> {
    let functions: Vec<&Function> = model.program.functions.values().collect();
    let [f] = functions.as_slice() else {
        let what = format!("the model has {} functions, and a .pte is written for one", functions.len());
        return Err(Error::unusable(file, what));
    };
    let package = directory_of(file, &model.to_package(file)?)?;
    let inputs: Vec<_> = f.inputs().iter().copied().filter(|&v| f.ty(v).state_inner().is_none()).collect();
    let names = MethodNames {
        inputs: inputs.iter().map(|&v| f.value(v).name.clone()).collect(),
        outputs: f.output_names().to_vec(),
    };
    let metadata = Metadata { identifier: identifier_of(&package), names: ModelNames::Single(names) };
    let blob = CoreMlBlob::new(&metadata, package, None);
    let own = |name: &str, ty: &Type| spec_of(file, name, ty);
    let method = MethodSpec {
        name: METHOD.to_owned(),
        inputs: match &signature.inputs {
            Some(given) => given.clone(),
            None => {
                inputs.iter().map(|&v| own(&f.value(v).name, f.ty(v)).map(InputSpec::from)).collect::<Result<_, _>>()?
            }
        },
        delegate_inputs: signature.model_inputs.clone(),
        delegate_outputs: match &signature.model_outputs {
            Some(given) => given.clone(),
            None => f
                .output_names()
                .iter()
                .zip(f.outputs())
                .map(|(name, v)| own(name, f.ty(v)))
                .collect::<Result<_, _>>()?,
        },
        outputs: signature.outputs.clone(),
        container: signature.container.clone(),
    };
    let processed = spool(blob.size(), |mut out| blob.write_to(&mut out))?;
    single_delegate(&method, specs, processed, DelegateStorage::Segment).map_err(|e| Error::pte(file, e))
}

/// A tensor of the model as callers see it.
fn spec_of(file: &str, name: &str, ty: &Type) -> Result<TensorSpec, Error> {
    let wrong = |what: &str| Error::unusable(file, format!("`{name}` {what}"));
    let t = ty.as_tensor().ok_or_else(|| wrong("is no tensor of known rank, and a .pte takes no other"))?;
    let scalar = match t.dtype {
        DType::Fp32 => ScalarType::Float,
        DType::Fp16 => ScalarType::Half,
        DType::Int32 => ScalarType::Int,
        DType::Int8 => ScalarType::Char,
        DType::Bool => ScalarType::Bool,
        _ => return Err(wrong("has an element type that a .pte does not have")),
    };
    let sizes: Option<Vec<i32>> = t.shape.iter().map(|d| d.known().and_then(|n| i32::try_from(n).ok())).collect();
    let sizes = sizes.ok_or_else(|| {
        wrong("has a shape that varies, and a .pte needs upper bounds, which only a .pt2 tells; lower the .pt2")
    })?;
    Ok(TensorSpec::new(scalar, sizes))
}
