//! The label of the greatest probability.

use coremill_tensor::{DType, Dim};

use super::common::tensor;
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
    let probabilities = tensor(args, "probabilities")?;
    let (label, count) = match args.value("classes") {
        Some(Const::List(elem, classes)) => (elem, classes.len()),
        Some(_) => return Err(InferError::bad("classes", "must be a list")),
        None => return Err(InferError::NotConstant("classes")),
    };
    if !matches!(label.dtype(), Some(DType::String | DType::Int64)) {
        return Err(InferError::bad("classes", format!("are of {label}; they must be strings or int64")));
    }
    if probabilities.shape.element_dim().same(&Dim::from(count)) == Some(false) {
        let what = format!("are {count}, and the probabilities are of shape {}", probabilities.shape);
        return Err(InferError::bad("classes", what));
    }
    let probability = Type::scalar(DType::Fp64);
    Ok(vec![label.clone(), Type::Dict(Box::new((label.clone(), probability)))])
}
