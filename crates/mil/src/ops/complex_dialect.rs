//! Complex numbers: ops that exist only until a pass lowers them to real ones.

use coremill_tensor::{DType, Dim, Shape, SymExpr};

use super::common::{
    BOOL, axis, bool_or, bool_spec, int, int_or, int_spec, ints_if, one, string_or, string_spec, tensor,
};
use crate::Opset::Ios15;
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

use DType::{Complex64, Fp32, Int32};

const DIALECT: Flags = Flags::PURE.and(Flags::DIALECT);
const REAL: &[DType] = &[Fp32];
const COMPLEX: &[DType] = &[Complex64];
const EITHER: &[DType] = &[Fp32, Complex64];

const fn data(dtypes: &'static [DType]) -> InputSpec {
    InputSpec::same("data", 'T', dtypes)
}

const NORM: InputSpec = string_spec("norm").default(Default::Str("backward"));
const LENGTH: InputSpec = int_spec("n").optional();
const DIM: InputSpec = int_spec("dim").default(Default::Int(-1));
const SHAPES: InputSpec = int_spec("shapes").optional();
const DIMS: InputSpec = int_spec("dims").optional();

/// A transform along one axis.
macro_rules! along {
    ($dtypes:expr) => {
        &[OpVersion::new(Ios15, &[data($dtypes), LENGTH, DIM, NORM])]
    };
}

/// A transform along several axes.
macro_rules! over {
    ($dtypes:expr) => {
        &[OpVersion::new(Ios15, &[data($dtypes), SHAPES, DIMS, NORM])]
    };
}

macro_rules! op {
    ($kind:ident, $summary:expr, $versions:expr, $infer:expr) => {
        OpSchema { kind: OpKind::$kind, summary: $summary, versions: $versions, flags: DIALECT, infer: $infer }
    };
}

pub(super) const OPS: &[OpSchema] = &[
    op!(
        Complex,
        "The complex tensor of a real and an imaginary part.",
        &[OpVersion::new(Ios15, &[InputSpec::same("real_data", 'T', REAL), InputSpec::same("imag_data", 'T', REAL)])],
        complex
    ),
    op!(ComplexReal, "The real part.", &[OpVersion::new(Ios15, &[data(COMPLEX)])], |a| part(a, "data")),
    op!(ComplexImag, "The imaginary part.", &[OpVersion::new(Ios15, &[data(COMPLEX)])], |a| part(a, "data")),
    op!(ComplexAbs, "The absolute value.", &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', COMPLEX)])], |a| part(
        a, "x"
    )),
    OpSchema {
        kind: OpKind::ComplexShape,
        summary: "The extents.",
        versions: &[OpVersion::new(Ios15, &[InputSpec::same("x", 'T', COMPLEX)])],
        flags: DIALECT.and(Flags::FOLDABLE),
        infer: |a| one(Int32, vec![Dim::from(tensor(a, "x")?.rank())].into()),
    },
    op!(ComplexFft, "Fourier transform along an axis.", along!(EITHER), |a| line(a, Complex64, Ends::Full)),
    op!(ComplexFftn, "Fourier transform over axes.", over!(EITHER), |a| block(a, Complex64, Ends::Full)),
    op!(ComplexIfft, "Inverse Fourier transform along an axis.", along!(COMPLEX), |a| line(a, Complex64, Ends::Full)),
    op!(ComplexIfftn, "Inverse Fourier transform over axes.", over!(COMPLEX), |a| block(a, Complex64, Ends::Full)),
    op!(
        ComplexRfft,
        "Fourier transform of real data along an axis, without the half that is conjugate to the other.",
        along!(REAL),
        |a| line(a, Complex64, Ends::HalfOut)
    ),
    op!(
        ComplexRfftn,
        "Fourier transform of real data over axes, without the half of the last that is conjugate to the other.",
        over!(REAL),
        |a| block(a, Complex64, Ends::HalfOut)
    ),
    op!(ComplexIrfft, "Inverse of `complex_rfft`.", along!(COMPLEX), |a| line(a, Fp32, Ends::HalfIn)),
    op!(ComplexIrfftn, "Inverse of `complex_rfftn`.", over!(COMPLEX), |a| block(a, Fp32, Ends::HalfIn)),
    op!(
        ComplexStft,
        "Fourier transforms of windows of a signal: `[frequencies, windows]`, after a batch if there is one.",
        &[OpVersion::new(
            Ios15,
            &[
                InputSpec::same("input", 'T', EITHER),
                int_spec("n_fft"),
                int_spec("hop_length").default(Default::Computed("a quarter of `n_fft`")),
                int_spec("win_length").default(Default::Computed("`n_fft`")),
                InputSpec::tensor("window", REAL).constant().optional(),
                InputSpec::tensor("normalized", BOOL).constant().default(Default::Bool(false)),
                bool_spec("onesided", true),
            ],
        )],
        stft
    ),
];

/// Which side of a transform leaves out the half that follows from the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Full,
    HalfIn,
    HalfOut,
}

type Inferred<T> = Result<T, InferError>;

fn complex(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (real, imag) = (tensor(args, "real_data")?, tensor(args, "imag_data")?);
    if real.shape.rank() != imag.shape.rank() || !real.shape.compatible(&imag.shape) {
        let what = format!("`real_data` is of shape {} and `imag_data` of {}", real.shape, imag.shape);
        return Err(InferError::Mismatch(what));
    }
    one(Complex64, real.shape.clone())
}

fn part(args: &OpArgs<'_>, name: &'static str) -> Inferred<Vec<Type>> {
    one(Fp32, tensor(args, name)?.shape.clone())
}

fn norm(args: &OpArgs<'_>) -> Inferred<()> {
    match string_or(args, "norm", "backward")? {
        "forward" | "backward" | "ortho" => Ok(()),
        other => Err(InferError::bad("norm", format!("is `{other}`, not one of forward, backward, ortho"))),
    }
}

fn combined(d: &Dim, n: i64, f: impl FnOnce(&SymExpr, &SymExpr) -> Option<SymExpr>) -> Dim {
    match d.to_expr().and_then(|d| f(&d, &SymExpr::constant(n))) {
        Some(e) => Dim::from_expr(e),
        None => Dim::Unknown,
    }
}

/// The shape of a transform of `x`: `lengths[i]` along `axes[i]`.
fn transformed(
    x: &TensorType,
    axes: &[usize],
    lengths: Option<&[i64]>,
    dtype: DType,
    ends: Ends,
) -> Inferred<Vec<Type>> {
    let mut shape = x.shape.clone();
    let mut last_given = false;
    for (i, &a) in axes.iter().enumerate() {
        let Some(&n) = lengths.and_then(|l| l.get(i)) else { continue };
        let n = u64::try_from(n).ok().filter(|&n| n > 0);
        let n = n.ok_or_else(|| InferError::bad("shapes", "must be positive"))?;
        shape.dims_mut()[a] = Dim::Known(n);
        last_given = i + 1 == axes.len();
    }
    if let Some(last) = axes.last().and_then(|&a| shape.dims_mut().get_mut(a)) {
        *last = match ends {
            Ends::HalfOut => combined(last, 2, SymExpr::floor_div).add(&Dim::Known(1)),
            Ends::HalfIn if !last_given => combined(&combined(last, 1, SymExpr::sub), 2, SymExpr::mul),
            _ => last.clone(),
        };
    }
    one(dtype, shape)
}

fn line(args: &OpArgs<'_>, dtype: DType, ends: Ends) -> Inferred<Vec<Type>> {
    norm(args)?;
    let x = tensor(args, "data")?;
    let at = axis(&x.shape, int_or(args, "dim", -1)?, "dim")?;
    let length = if args.is_given("n") { Some([int(args, "n")?]) } else { None };
    transformed(x, &[at], length.as_ref().map(|l| &l[..]), dtype, ends)
}

fn block(args: &OpArgs<'_>, dtype: DType, ends: Ends) -> Inferred<Vec<Type>> {
    norm(args)?;
    let x = tensor(args, "data")?;
    let lengths = ints_if(args, "shapes")?;
    let axes: Vec<usize> = match (ints_if(args, "dims")?, &lengths) {
        (Some(dims), _) => dims.iter().map(|&d| axis(&x.shape, d, "dims")).collect::<Result<_, _>>()?,
        (None, Some(l)) => {
            let first = x.rank().checked_sub(l.len());
            (first.ok_or_else(|| InferError::bad("shapes", "has more lengths than `data` axes"))?..x.rank()).collect()
        }
        (None, None) => (0..x.rank()).collect(),
    };
    if lengths.as_ref().is_some_and(|l| l.len() != axes.len()) {
        return Err(InferError::bad("shapes", "must have one length for each of `dims`"));
    }
    transformed(x, &axes, lengths.as_deref(), dtype, ends)
}

fn stft(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let x = tensor(args, "input")?;
    let n_fft = int(args, "n_fft")?;
    let hop = int_or(args, "hop_length", n_fft / 4)?;
    if n_fft <= 0 || hop <= 0 {
        return Err(InferError::bad("hop_length", "must be positive, and `n_fft` too"));
    }
    let (batch, samples) = match &x.shape[..] {
        [samples] => (None, samples),
        [batch, samples] => (Some(batch.clone()), samples),
        _ => return Err(InferError::bad("input", format!("must be of rank 1 or 2 and is of shape {}", x.shape))),
    };
    let bins = if bool_or(args, "onesided", true)? { n_fft / 2 + 1 } else { n_fft };
    let windows = samples.to_expr().and_then(|s| {
        let steps = s.sub(&SymExpr::constant(n_fft))?.floor_div(&SymExpr::constant(hop))?;
        steps.add(&SymExpr::constant(1))
    });
    let windows = windows.map_or(Dim::Unknown, Dim::from_expr);
    let bins = u64::try_from(bins).map_or(Dim::Unknown, Dim::Known);
    one(Complex64, batch.into_iter().chain([bins, windows]).collect::<Shape>())
}
