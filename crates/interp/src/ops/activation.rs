//! Activations, and element-wise ops with parameters: computed in double precision from their definitions.

use coremill_mil::{Const, OpKind};

use super::Family;
use super::elementwise_unary::real;
use crate::EvalError;
use crate::args::Args;

type Results = Result<Vec<Const>, EvalError>;

pub(super) const KERNELS: Family = &[
    (OpKind::ClampedRelu, |a| alpha_beta(a, |x, alpha, beta| (if x >= 0.0 { x } else { alpha * x }).min(beta))),
    (OpKind::Elu, |a| alpha(a, |x, alpha| if x > 0.0 { x } else { alpha * x.exp_m1() })),
    (OpKind::Erf, |a| real(a, libm::erf)),
    (OpKind::Gelu, gelu),
    (OpKind::LeakyRelu, |a| alpha(a, |x, alpha| if x >= 0.0 { x } else { alpha * x })),
    (OpKind::LinearActivation, |a| alpha_beta(a, |x, alpha, beta| alpha * x + beta)),
    (OpKind::Relu6, |a| real(a, |x| x.clamp(0.0, 6.0))),
    (OpKind::ScaledTanh, |a| alpha_beta(a, |x, alpha, beta| alpha * (beta * x).tanh())),
    (OpKind::SigmoidHard, |a| alpha_beta(a, |x, alpha, beta| (alpha * x + beta).clamp(0.0, 1.0))),
    // Without the overflow of e^x for a large x.
    (OpKind::Softplus, |a| real(a, |x| x.max(0.0) + (-x.abs()).exp().ln_1p())),
    (OpKind::Softsign, |a| real(a, |x| x / (1.0 + x.abs()))),
    (OpKind::ThresholdedRelu, |a| alpha(a, |x, alpha| if x >= alpha { x } else { 0.0 })),
    (OpKind::Atanh, |a| real(a, f64::atanh)),
    (OpKind::Clip, clip),
    (OpKind::Inverse, |a| epsilon(a, 1e-4, |x, e| 1.0 / (x + e))),
    (OpKind::Log, |a| epsilon(a, 1e-45, |x, e| (x + e).ln())),
    (OpKind::Rsqrt, |a| epsilon(a, 1e-12, |x, e| 1.0 / (x + e).sqrt())),
    (OpKind::Threshold, |a| alpha(a, |x, alpha| if x.is_nan() { x } else { x.max(alpha) })),
];

fn required(args: &Args<'_, '_>, name: &'static str) -> Result<f64, EvalError> {
    args.data(name)?.scalar_f64().ok_or_else(|| EvalError::bad(format!("`{name}` is no number")))
}

fn alpha(args: &Args<'_, '_>, f: impl Fn(f64, f64) -> f64) -> Results {
    let alpha = required(args, "alpha")?;
    real(args, |x| f(x, alpha))
}

fn alpha_beta(args: &Args<'_, '_>, f: impl Fn(f64, f64, f64) -> f64) -> Results {
    let (alpha, beta) = (required(args, "alpha")?, required(args, "beta")?);
    real(args, |x| f(x, alpha, beta))
}

fn epsilon(args: &Args<'_, '_>, default: f64, f: impl Fn(f64, f64) -> f64) -> Results {
    let e = args.number_or("epsilon", default)?;
    real(args, |x| f(x, e))
}

fn clip(args: &Args<'_, '_>) -> Results {
    let (low, high) = (required(args, "alpha")?, required(args, "beta")?);
    // Not `clamp`, which panics on a range that is none.
    real(args, |x| if x.is_nan() { x } else { x.max(low).min(high) })
}

fn gelu(args: &Args<'_, '_>) -> Results {
    match if args.0.is_given("mode") { args.text("mode")? } else { "EXACT" } {
        "TANH_APPROXIMATION" => real(args, |x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
        "SIGMOID_APPROXIMATION" => real(args, |x| x / (1.0 + (-1.702 * x).exp())),
        "EXACT" => real(args, |x| 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))),
        mode => Err(EvalError::Unsupported(format!("`gelu` of mode `{mode}`"))),
    }
}
