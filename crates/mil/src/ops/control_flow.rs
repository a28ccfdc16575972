//! Constants and control flow.

use super::common::BOOL;
use crate::Opset::Ios15;
use crate::schema::{Domain, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, Type};

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Const,
        summary: "A value known at compile time, the attribute `val`.",
        versions: &[OpVersion::attributes(Ios15, &[InputSpec::of("val", Domain::Any)])],
        flags: Flags::PURE,
        infer: |args| args.value("val").map(|c| vec![c.ty()]).ok_or(InferError::Missing("val")),
    },
    OpSchema {
        kind: OpKind::ConstSymbolic,
        summary: "A value that is an expression over symbols; lives within pipelines only.",
        versions: &[OpVersion::attributes(Ios15, &[InputSpec::of("val", Domain::Any).optional()])],
        flags: Flags::PURE.and(Flags::DIALECT),
        infer: |args| args.value("val").map(|c| vec![c.ty()]).ok_or(InferError::Missing("val")),
    },
    OpSchema {
        kind: OpKind::Cond,
        summary: "The results of its first block where `pred` is true, of its second where it is false.",
        versions: &[OpVersion::new(Ios15, &[InputSpec::tensor("pred", BOOL)])],
        flags: Flags::CONTROL_FLOW,
        infer: cond,
    },
    OpSchema {
        kind: OpKind::WhileLoop,
        summary: "Runs its second block on the loop variables as long as its first block says true.",
        versions: &[OpVersion::new(Ios15, &[InputSpec::of("loop_vars", Domain::Any).variadic()])],
        flags: Flags::CONTROL_FLOW,
        infer: while_loop,
    },
];

fn cond(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let [(_, yes), (_, no)] = args.blocks.as_slice() else {
        return Err(InferError::Mismatch("needs two blocks".to_owned()));
    };
    if yes.len() != no.len() || yes.iter().zip(no).any(|(a, b)| !a.compatible(b)) {
        return Err(InferError::Mismatch("its blocks give values of different types".to_owned()));
    }
    Ok(yes.iter().map(|t| (*t).clone()).collect())
}

fn while_loop(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let vars = args.all("loop_vars");
    let [(cond_in, cond_out), (body_in, body_out)] = args.blocks.as_slice() else {
        return Err(InferError::Mismatch("needs two blocks, condition and body".to_owned()));
    };
    let agrees = |types: &[&Type]| types.len() == vars.len() && types.iter().zip(vars).all(|(t, v)| kin(t, v.ty));
    if !agrees(cond_in) || !agrees(body_in) || !agrees(body_out) {
        return Err(InferError::Mismatch("its blocks take or give other values than its variables".to_owned()));
    }
    if cond_out.len() != 1 || cond_out[0].dtype() != Some(coremill_tensor::DType::Bool) {
        return Err(InferError::Mismatch("its condition gives no boolean".to_owned()));
    }
    Ok(body_in.iter().map(|t| (*t).clone()).collect())
}

/// A variable may change its extents from one iteration to the next, not its element type or rank.
fn kin(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => a.dtype == b.dtype && a.rank() == b.rank(),
        _ => a.compatible(b),
    }
}
