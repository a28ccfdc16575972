//! Fourier transforms as matrix products, and transforms of windows as convolutions.

use coremill_mil::{Const, Function, OpId, OpKind, ValueId};
use coremill_tensor::{DType, Dim};

use super::dft::Matrix;
use super::parts;
use crate::matching::float_const;
use crate::patch::{NewPatchOp, Patch, PatchValue};

/// Why there is no real form, for the reader.
type Outcome<T> = Result<T, String>;

/// A complex tensor on its way through the axes; without an imaginary part it is real.
struct Signal {
    re: PatchValue,
    im: Option<PatchValue>,
    /// Extents; unknown along axes that no transform touches, perhaps.
    shape: Vec<Option<usize>>,
}

/// What a transform leaves out or expects to be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    No,
    Of(Side),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    In,
    Out,
}

/// Ops of a patch under names that begin alike.
struct Writer<'p> {
    patch: &'p mut Patch,
    name: String,
}

impl Writer<'_> {
    fn make(&mut self, kind: OpKind, role: &str, fill: impl FnOnce(NewPatchOp) -> NewPatchOp) -> PatchValue {
        self.patch.make(fill(NewPatchOp::new(kind, format!("{}_{role}", self.name))))
    }

    fn matmul(&mut self, role: &str, x: PatchValue, y: Const) -> PatchValue {
        self.make(OpKind::Matmul, role, |op| op.input("x", x).literal("y", y))
    }

    fn pair(&mut self, kind: OpKind, role: &str, x: PatchValue, y: PatchValue) -> PatchValue {
        self.make(kind, role, |op| op.input("x", x).input("y", y))
    }
}

/// Writes a transform along one axis or several.
pub(super) fn transform(f: &Function, op: OpId, patch: &mut Patch) -> Outcome<()> {
    use OpKind::{ComplexIfft, ComplexIfftn, ComplexIrfft, ComplexIrfftn, ComplexRfft, ComplexRfftn};
    let kind = f.kind(op);
    let half = match kind {
        ComplexRfft | ComplexRfftn => Half::Of(Side::Out),
        ComplexIrfft | ComplexIrfftn => Half::Of(Side::In),
        _ => Half::No,
    };
    let direction = if matches!(kind, ComplexIfft | ComplexIfftn | ComplexIrfft | ComplexIrfftn) { 1.0 } else { -1.0 };
    let mut signal = signal(f, op, "data")?;
    let axes = axes(f, op, &signal, half)?;
    let norm = f.const_arg(op, "norm").and_then(Const::as_str).unwrap_or("backward").to_owned();
    let out = f.op(op).output();
    let mut w = Writer { patch, name: f.value(out).name.clone() };
    // The half is of the last axis: left out first, while the signal is still real, or made whole last.
    let mut steps: Vec<(usize, usize, Half)> = axes.iter().map(|&(axis, n)| (axis, n, Half::No)).collect();
    if let Some(last) = steps.last_mut() {
        last.2 = half;
    }
    if half == Half::Of(Side::Out) {
        let last = steps.pop();
        steps.splice(0..0, last);
    }
    for (axis, n, half) in steps {
        along(&mut w, &mut signal, axis, n, half, direction, &norm)?;
    }
    finish(f, op, w, signal);
    Ok(())
}

/// The result takes the op's place.
fn finish(f: &Function, op: OpId, w: Writer<'_>, signal: Signal) {
    let out = f.op(op).output();
    let new = match signal.im {
        Some(im) => NewPatchOp::new(OpKind::Complex, w.name).input("real_data", signal.re).input("imag_data", im),
        None => NewPatchOp::new(OpKind::Identity, w.name).input("x", signal.re),
    };
    let new = w.patch.make(new.types(vec![f.ty(out).clone()]));
    w.patch.replace_op(f, op, new);
}

fn extents(f: &Function, v: ValueId) -> Option<Vec<Option<usize>>> {
    let known = |d: &Dim| match d {
        Dim::Known(n) => usize::try_from(*n).ok(),
        _ => None,
    };
    Some(f.ty(v).shape()?.iter().map(known).collect())
}

fn signal(f: &Function, op: OpId, name: &str) -> Outcome<Signal> {
    let data = f.op(op).arg(name).ok_or("it has no operand")?;
    let shape = extents(f, data).ok_or("its operand is no tensor")?;
    if f.ty(data).dtype() == Some(DType::Fp32) {
        return Ok(Signal { re: data.into(), im: None, shape });
    }
    let (re, im) = parts(f, op, name).ok_or("its operand is not made of two real tensors")?;
    Ok(Signal { re, im: Some(im), shape })
}

/// The axes that an op transforms, in order, each with the number of samples or bins of its whole transform.
fn axes(f: &Function, op: OpId, signal: &Signal, half: Half) -> Outcome<Vec<(usize, usize)>> {
    let rank = signal.shape.len();
    let ints = |name: &str| match f.op(op).arg(name) {
        None => Ok(None),
        Some(_) => match f.const_arg(op, name).and_then(Const::as_i64s) {
            Some(v) => Ok(Some(v)),
            None => Err(format!("`{name}` is computed at run time")),
        },
    };
    let is_line =
        matches!(f.kind(op), OpKind::ComplexFft | OpKind::ComplexIfft | OpKind::ComplexRfft | OpKind::ComplexIrfft);
    let (lengths, dims) = if is_line {
        (ints("n")?, Some(ints("dim")?.unwrap_or_else(|| vec![-1])))
    } else {
        (ints("shapes")?, ints("dims")?)
    };
    let first = lengths.as_ref().map_or(0, |l| rank.saturating_sub(l.len()));
    let dims = dims.unwrap_or_else(|| (first as i64..rank as i64).collect());
    let mut axes = Vec::new();
    for (i, &d) in dims.iter().enumerate() {
        let axis = if d < 0 { d + rank as i64 } else { d };
        let axis = usize::try_from(axis).ok().filter(|&a| a < rank).ok_or("an axis is outside the rank")?;
        let given = lengths.as_ref().and_then(|l| l.get(i)).and_then(|&n| usize::try_from(n).ok());
        let is_halved = half == Half::Of(Side::In) && i + 1 == dims.len();
        let has = signal.shape[axis].ok_or_else(|| format!("axis {axis} has no fixed length"))?;
        let n = given.unwrap_or(if is_halved { 2 * has.saturating_sub(1) } else { has });
        if n == 0 || has == 0 {
            return Err(format!("axis {axis} has nothing to transform"));
        }
        axes.push((axis, n));
    }
    Ok(axes)
}

/// Transforms along one axis.
fn along(
    w: &mut Writer<'_>,
    signal: &mut Signal,
    axis: usize,
    n: usize,
    half: Half,
    direction: f64,
    norm: &str,
) -> Outcome<()> {
    let scaled = norm == "ortho" || (norm == "forward") == (direction < 0.0);
    let scale = match (scaled, norm) {
        (false, _) => 1.0,
        (true, "ortho") => (n as f64).sqrt().recip(),
        (true, _) => (n as f64).recip(),
    };
    let used = if half == Half::Of(Side::In) { n / 2 + 1 } else { n };
    // Missing samples are zeros, and rows of zeros are left out.
    let rows = signal.shape[axis].map_or(used, |has| has.min(used));
    let matrix = match half {
        Half::Of(Side::In) => Matrix::half_inverse(rows, n, scale),
        Half::Of(Side::Out) => Matrix::new((rows, n / 2 + 1), n, direction, |_, _| scale),
        Half::No => Matrix::new((rows, n), n, direction, |_, _| scale),
    };
    let matrix = matrix.ok_or_else(|| format!("the matrix for {n} samples is too large"))?;
    let shape = [matrix.rows, matrix.columns];
    let constant =
        |v: Vec<f64>| float_const(DType::Fp32, &shape, v).ok_or_else(|| "its matrix is no tensor".to_owned());
    let (cos, sin) = (constant(matrix.re)?, constant(matrix.im)?);
    let re = to_last(w, "real", signal.re, signal, axis, rows);
    let im = signal.im.map(|im| to_last(w, "imag", im, signal, axis, rows));
    let whole = half != Half::Of(Side::In);
    let (re, im) = match im {
        None => (w.matmul("real_product", re, cos), whole.then(|| w.matmul("imag_product", re, sin))),
        Some(im) => {
            let (re_cos, im_sin) = (w.matmul("real_cos", re, cos.clone()), w.matmul("imag_sin", im, sin.clone()));
            let sum = w.pair(OpKind::Sub, "real_product", re_cos, im_sin);
            let other = whole.then(|| {
                let (re_sin, im_cos) = (w.matmul("real_sin", re, sin), w.matmul("imag_cos", im, cos));
                w.pair(OpKind::Add, "imag_product", re_sin, im_cos)
            });
            (sum, other)
        }
    };
    signal.re = from_last(w, "real", re, signal, axis);
    signal.im = im.map(|im| from_last(w, "imag", im, signal, axis));
    signal.shape[axis] = Some(shape[1]);
    Ok(())
}

/// Exchanges an axis with the last one; the exchange undoes itself.
fn exchange(w: &mut Writer<'_>, role: &str, v: PatchValue, rank: usize, axis: usize) -> PatchValue {
    if axis + 1 == rank {
        return v;
    }
    let mut perm: Vec<i32> = (0..rank as i32).collect();
    perm.swap(axis, rank - 1);
    w.make(OpKind::Transpose, role, |op| op.input("x", v).literal("perm", Const::int32s(&perm)))
}

/// The first `rows` elements along the axis, as the last axis of a matrix.
fn to_last(w: &mut Writer<'_>, part: &str, v: PatchValue, s: &Signal, axis: usize, rows: usize) -> PatchValue {
    let rank = s.shape.len();
    let mut v = v;
    if s.shape[axis].is_some_and(|has| has > rows) {
        let mut end = vec![0; rank];
        end[axis] = i32::try_from(rows).unwrap_or(i32::MAX);
        let kept: Vec<bool> = (0..rank).map(|a| a != axis).collect();
        v = w.make(OpKind::SliceByIndex, &format!("{part}_trimmed"), |op| {
            op.input("x", v)
                .literal("begin", Const::int32s(&vec![0; rank]))
                .literal("end", Const::int32s(&end))
                .literal("end_mask", Const::bools(&kept))
        });
    }
    if rank == 1 {
        let axes = Const::int32s(&[0]);
        return w.make(OpKind::ExpandDims, &format!("{part}_row"), |op| op.input("x", v).literal("axes", axes));
    }
    exchange(w, &format!("{part}_axis_last"), v, rank, axis)
}

/// Undoes [`to_last`] but for the trimming.
fn from_last(w: &mut Writer<'_>, part: &str, v: PatchValue, s: &Signal, axis: usize) -> PatchValue {
    let rank = s.shape.len();
    if rank == 1 {
        let axes = Const::int32s(&[0]);
        return w.make(OpKind::Squeeze, part, |op| op.input("x", v).literal("axes", axes));
    }
    exchange(w, part, v, rank, axis)
}

/// Writes `complex_stft` as convolutions of the signal with windowed waves.
pub(super) fn stft(f: &Function, op: OpId, patch: &mut Patch) -> Outcome<()> {
    let mut signal = signal(f, op, "input")?;
    let int = |name: &str| match f.op(op).arg(name) {
        None => Ok(None),
        Some(_) => match f.const_arg(op, name).and_then(Const::as_i64).and_then(|n| usize::try_from(n).ok()) {
            Some(n) if n > 0 => Ok(Some(n)),
            _ => Err(format!("`{name}` is no positive constant")),
        },
    };
    let flag = |name: &str| f.const_arg(op, name).and_then(Const::as_bool);
    let n = int("n_fft")?.ok_or("`n_fft` is not given")?;
    let hop = int("hop_length")?.unwrap_or(n / 4).max(1);
    let onesided = flag("onesided").unwrap_or(true);
    if onesided && signal.im.is_some() {
        return Err("`onesided` is for real signals".to_owned());
    }
    if let Some(samples) = signal.shape.last().copied().flatten().filter(|&s| s < n) {
        return Err(format!("the signal of {samples} samples is shorter than `n_fft`, {n}"));
    }
    let window = window(f, op, n, int("win_length")?)?;
    let scale = if flag("normalized").unwrap_or(false) { (n as f64).sqrt().recip() } else { 1.0 };
    let bins = if onesided { n / 2 + 1 } else { n };
    let matrix = Matrix::new((bins, n), n, -1.0, |_, at| scale * window[at]);
    let matrix = matrix.ok_or_else(|| format!("the matrix for {n} samples is too large"))?;
    let constant = |v| float_const(DType::Fp32, &[bins, 1, n], v).ok_or_else(|| "its waves are no tensor".to_owned());
    let (cos, sin) = (constant(matrix.re)?, constant(matrix.im)?);
    let mut w = Writer { patch, name: f.value(f.op(op).output()).name.clone() };
    // `[samples]` or `[batch, samples]` to `[batch, 1, samples]`.
    let is_line = signal.shape.len() == 1;
    let axes = Const::int32s(if is_line { &[0, 1] } else { &[1] });
    let channel = |w: &mut Writer<'_>, part: &str, v| {
        w.make(OpKind::ExpandDims, part, |op| op.input("x", v).literal("axes", axes.clone()))
    };
    let stride = Const::int32s(&[i32::try_from(hop).map_err(|_| "`hop_length` is too large")?]);
    let conv = |w: &mut Writer<'_>, role: &str, x, weight: &Const| {
        w.make(OpKind::Conv, role, |op| {
            let op = op.input("x", x).literal("weight", weight.clone()).literal("strides", stride.clone());
            op.literal("pad_type", Const::string("valid"))
        })
    };
    let x = channel(&mut w, "real_signal", signal.re);
    let (mut re, mut im) = (conv(&mut w, "real_cos", x, &cos), conv(&mut w, "real_sin", x, &sin));
    if let Some(y) = signal.im {
        let y = channel(&mut w, "imag_signal", y);
        let (y_cos, y_sin) = (conv(&mut w, "imag_cos", y, &cos), conv(&mut w, "imag_sin", y, &sin));
        re = w.pair(OpKind::Sub, "real_windows", re, y_sin);
        im = w.pair(OpKind::Add, "imag_windows", im, y_cos);
    }
    if is_line {
        let mut line =
            |part: &str, v| w.make(OpKind::Squeeze, part, |op| op.input("x", v).literal("axes", Const::int32s(&[0])));
        (re, im) = (line("real", re), line("imag", im));
    }
    (signal.re, signal.im) = (re, Some(im));
    finish(f, op, w, signal);
    Ok(())
}

/// The factors of the samples of a window, which stands in the middle of `n`.
fn window(f: &Function, op: OpId, n: usize, length: Option<usize>) -> Outcome<Vec<f64>> {
    let given = match f.op(op).arg("window") {
        None => None,
        Some(_) => {
            let values = f.const_arg(op, "window").and_then(|c| c.as_data()?.to_f64s());
            Some(values.ok_or("`window` is computed at run time")?)
        }
    };
    let length = length.unwrap_or_else(|| given.as_ref().map_or(n, Vec::len));
    if length > n || given.as_ref().is_some_and(|g| g.len() != length) {
        return Err(format!("a window of {length} samples does not go with `window` and {n} samples a transform"));
    }
    let values = given.unwrap_or_else(|| vec![1.0; length]);
    let left = (n - length) / 2;
    let mut all = vec![0.0; n];
    all[left..left + length].copy_from_slice(&values);
    Ok(all)
}
