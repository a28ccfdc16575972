//! The label of the greatest probability.

use coremill_tensor::DType;

use crate::Opset::Ios15;
use crate::schema::{Domain, Flags, InputSpec, OpSchema, OpVersion};
use crate::{Const, InferError, OpArgs, OpKind, Type};

pub(super) const OPS: &[OpSchema] = &[OpSchema {
    kind: OpKind::Classify,
    summary: "The class of the greatest probability, and a dictionary of all probabilities by class.",
    versions: &[OpVersion::new(
        Ios15,
        &[InputSpec::tensor("probabilities", &[DType::Fp32]), InputSpec::of("classes", Domain::List).constant()],
    )],
    flags: Flags::PURE,
    infer: classify,
}];

fn classify(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let label = match args.value("classes") {
        Some(Const::List(elem, _)) => elem.clone(),
        Some(_) => return Err(InferError::bad("classes", "must be a list")),
        None => return Err(InferError::NotConstant("classes")),
    };
    let probability = Type::scalar(DType::Fp64);
    Ok(vec![label.clone(), Type::Dict(Box::new((label, probability)))])
}
