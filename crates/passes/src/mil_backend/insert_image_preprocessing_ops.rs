//! `mil_backend::insert_image_preprocessing_ops`: the scale and bias of an image input become ops of the program.
//!
//! A program does not hold how its images are to be prepared; `images` says it, for each input: `{"x": {"scale": 0.5, "bias":
//! [1, 2, 3]}}`. Behind the input come `x * scale`, where that is not 1, and `+ bias`, where that is not 0; a list has one
//! number for each channel, in the last but two dimension. An input whose only user is that product or sum already stays.

use coremill_mil::{Builder, Function, OpId, OpKind, Place, Program, ValueId};
use serde_json::Value;

use crate::matching::float_const;
use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "mil_backend::insert_image_preprocessing_ops",
    summary: "Makes ops of the scale and bias of image inputs",
    options: &[OptionSpec {
        name: "images",
        kind: OptionKind::Object,
        summary: "For each image input its scale and bias: `{\"x\": {\"scale\": 0.5, \"bias\": [1, 2, 3]}}`; without it, none",
    }],
    spec: include_str!("../../specs/mil_backend/insert_image_preprocessing_ops.mil"),
    make: |options: &Options| Box::new(InsertImagePreprocessing { images: options.get("images").cloned() }),
};

struct InsertImagePreprocessing {
    images: Option<Value>,
}

impl Pass for InsertImagePreprocessing {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        let Some(images) = self.images.as_ref().and_then(Value::as_object) else { return Ok(()) };
        for (name, f) in &mut program.functions {
            for (image, how) in images {
                cx.visited += 1;
                let input = f.inputs().iter().copied().find(|&v| f.value(v).name == *image);
                let v = input.ok_or_else(|| PassError::unsupported(format!("`{name}` has no input `{image}`")))?;
                if !cx.is_exhausted() {
                    prepare(f, v, how, cx)?;
                }
            }
        }
        Ok(())
    }
}

/// A number, or a list of numbers, of the preparation.
fn numbers(how: &Value, key: &str, missing: f64) -> Option<Vec<f64>> {
    match how.get(key) {
        None => Some(vec![missing]),
        Some(Value::Array(list)) => list.iter().map(Value::as_f64).collect(),
        Some(one) => one.as_f64().map(|v| vec![v]),
    }
}

fn prepare(f: &mut Function, v: ValueId, how: &Value, cx: &mut PassContext) -> Result<(), PassError> {
    let name = f.value(v).name.clone();
    let wrong = || {
        PassError::unsupported(format!(
            "image `{name}`: it must be a float tensor with channels, and `scale` and `bias` numbers, or a bias for each channel"
        ))
    };
    let (scale, bias) = numbers(how, "scale", 1.0).zip(numbers(how, "bias", 0.0)).ok_or_else(wrong)?;
    let ty = f.ty(v).as_tensor().filter(|t| t.dtype.is_float()).cloned().ok_or_else(wrong)?;
    let constant = |values: Vec<f64>| {
        // One number is a scalar; several stand along the channels.
        let mut shape = vec![1; if values.len() == 1 { 0 } else { ty.rank() }];
        if let Some(channel) = shape.len().checked_sub(3) {
            shape[channel] = values.len();
        }
        float_const(ty.dtype, &shape, values)
    };
    let mut steps = Vec::new();
    if scale.iter().any(|&s| s != 1.0) {
        steps.push((OpKind::Mul, "scaled", constant(scale).ok_or_else(wrong)?));
    }
    if bias.iter().any(|&b| b != 0.0) {
        steps.push((OpKind::Add, "biased", constant(bias).ok_or_else(wrong)?));
    }
    let is_there =
        |u: OpId| steps.first().is_some_and(|(kind, _, c)| f.kind(u) == *kind && f.const_arg(u, "y") == Some(c));
    if steps.is_empty() || f.only_user(v).is_some_and(is_there) {
        return Ok(());
    }
    let uses = f.value(v).uses().to_vec();
    let body = f.body();
    let mut b = Builder::new(f, Place::Start(body));
    let mut result = v;
    for (kind, what, c) in steps {
        let op = b.op(kind).input("x", result).literal("y", c).name(format!("{name}__{what}__"));
        result = op.one().map_err(|error| PassError::Infer { rule: "image", kind, error })?;
    }
    if !f.ty(result).compatible(f.ty(v)) {
        return Err(PassError::unsupported(format!(
            "image `{name}`: its bias does not have one number for each channel"
        )));
    }
    uses.into_iter().for_each(|u| f.set_use_at(u, result));
    cx.rewrites += 1;
    Ok(())
}
