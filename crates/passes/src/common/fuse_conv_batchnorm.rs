//! `common::fuse_conv_batchnorm`: a `batch_norm` of a convolution goes into its weight and bias.
//!
//! For `conv` and `conv_transpose` whose result nothing else uses and that is no output. With `s = gamma / sqrt(variance +
//! epsilon)` for each channel, the weight is multiplied by `s` and the bias becomes `s * (bias - mean) + beta`. All
//! parameters must be plain constants.

use coremill_mil::{Const, Function, OpId, OpKind, Program};

use crate::conv_fusion::{CONVS, conv_of, follower};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::patch::Patch;
use crate::rewrite::{Rewrite, rewrite};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::fuse_conv_batchnorm",
    summary: "Moves a batch_norm of a convolution into its weight and bias",
    options: &[],
    spec: include_str!("../../specs/common/fuse_conv_batchnorm.mil"),
    make: |_: &Options| Box::new(FuseConvBatchnorm),
};

struct FuseConvBatchnorm;

/// The epsilon of a `batch_norm` that says none.
const EPSILON: f64 = 1e-5;

impl Pass for FuseConvBatchnorm {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

/// A parameter with one number per channel; `missing` where it is not given.
fn parameter(f: &Function, norm: OpId, name: &str, channels: usize, missing: Option<f64>) -> Option<Vec<f64>> {
    let values = match f.op(norm).arg(name) {
        Some(v) => f.const_value(v)?.as_data()?.to_f64s()?,
        None => vec![missing?; channels],
    };
    (values.len() == channels).then_some(values)
}

impl Rewrite for FuseConvBatchnorm {
    fn roots(&self) -> &'static [OpKind] {
        CONVS
    }

    fn find(&self, f: &Function, op: OpId) -> Option<Patch> {
        let conv = conv_of(f, op)?;
        let norm = follower(f, op, &[OpKind::BatchNorm])?;
        let of = |name, missing| parameter(f, norm, name, conv.channels, missing);
        let epsilon = match f.op(norm).arg("epsilon") {
            Some(v) => f.const_value(v).and_then(Const::as_f64)?,
            None => EPSILON,
        };
        let (mean, variance) = (of("mean", None)?, of("variance", None)?);
        let (gamma, beta) = (of("gamma", Some(1.0))?, of("beta", Some(0.0))?);
        let factors: Vec<f64> = gamma.iter().zip(&variance).map(|(g, v)| g / (v + epsilon).sqrt()).collect();
        if factors.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let shift = |(c, b): (usize, f64)| factors[c] * (b - mean[c]) + beta[c];
        let bias = conv.bias_values()?.into_iter().enumerate().map(shift).collect();
        let (weight, bias) = (conv.scaled_weight(&factors)?, conv.new_bias(bias)?);
        let mut patch = Patch::before(f, norm, "conv_and_batch_norm");
        let name = f.value(f.op(norm).output()).name.clone();
        let fused = patch.make(conv.remade(f, name, Some(weight), bias));
        patch.replace_op(f, norm, fused);
        patch.erase(op);
        Some(patch)
    }
}
