//! Ops that nothing folds, computed straight from their definitions, element by element: so that the passes which rewrite
//! them are held to values too.

use std::collections::HashMap;

use coremill_mil::{Const, Function, OpId, OpKind, ValueId};
use coremill_tensor::{DType, Data, f16};

/// A tensor of numbers.
struct Tensor {
    shape: Vec<usize>,
    elements: Vec<f64>,
}

impl Tensor {
    /// The tensor whose element at each index is what `element` says.
    fn build(shape: Vec<usize>, element: impl Fn(&[i64]) -> f64) -> Tensor {
        let count: usize = shape.iter().product();
        let mut elements = Vec::with_capacity(count);
        for at in 0..count {
            let mut rest = at;
            let mut index = vec![0; shape.len()];
            for (i, &d) in shape.iter().enumerate().rev() {
                index[i] = (rest % d) as i64;
                rest /= d;
            }
            elements.push(element(&index));
        }
        Tensor { shape, elements }
    }

    /// The element at an index; `None` outside.
    fn at(&self, index: &[i64]) -> Option<f64> {
        let mut place = 0;
        for (&i, &d) in index.iter().zip(&self.shape) {
            place = place * d + usize::try_from(i).ok().filter(|&i| i < d)?;
        }
        self.elements.get(place).copied()
    }
}

/// The arguments of an op.
struct Given<'f> {
    f: &'f Function,
    op: OpId,
    values: &'f HashMap<ValueId, Const>,
}

impl Given<'_> {
    fn value(&self, name: &str) -> Option<&Const> {
        self.values.get(&self.f.op(self.op).arg(name)?)
    }

    fn tensor(&self, name: &str) -> Option<Tensor> {
        let data = self.value(name)?.as_data()?;
        Some(Tensor { shape: data.shape().to_vec(), elements: data.to_f64s()? })
    }

    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.value(name)?.as_i64s()
    }

    fn text(&self, name: &str, default: &'static str) -> &str {
        self.value(name).and_then(Const::as_str).unwrap_or(default)
    }
}

/// The result of an op; `None` for one that is not here.
pub(crate) fn compute(f: &Function, op: OpId, values: &HashMap<ValueId, Const>) -> Option<Vec<Const>> {
    let given = Given { f, op, values };
    if f.op(op).kind == OpKind::Split {
        return split(&given)?.into_iter().zip(f.op(op).outputs()).map(|(t, &v)| typed(f, v, t)).collect();
    }
    let t = match f.op(op).kind {
        OpKind::Conv => conv(&given)?,
        OpKind::Pad => pad(&given)?,
        OpKind::SpaceToBatch => space_to_batch(&given)?,
        OpKind::BatchToSpace => batch_to_space(&given)?,
        OpKind::Prelu => {
            let alpha = given.tensor("alpha")?;
            activation(&given, |x, index| if x > 0.0 { x } else { x * alpha.elements[index[1] as usize] })?
        }
        OpKind::LeakyRelu => {
            let alpha = given.value("alpha")?.as_f64()?;
            activation(&given, |x, _| if x >= 0.0 { x } else { x * alpha })?
        }
        OpKind::SoftplusParametric => {
            let (alpha, beta) = (given.tensor("alpha")?, given.tensor("beta")?);
            let at = |t: &Tensor, index: &[i64]| t.elements[index[1] as usize];
            activation(&given, |x, index| at(&alpha, index) * (at(&beta, index) * x).exp().ln_1p())?
        }
        OpKind::Clip => {
            let (low, high) = (given.value("alpha")?.as_f64()?, given.value("beta")?.as_f64()?);
            activation(&given, |x, _| x.max(low).min(high))?
        }
        OpKind::Softmax => softmax(&given)?,
        OpKind::ReduceSum => reduce(&given, |v| v.iter().sum())?,
        OpKind::ReduceMean => reduce(&given, |v| v.iter().sum::<f64>() / v.len() as f64)?,
        OpKind::ReduceMax => reduce(&given, |v| v.iter().copied().fold(f64::NEG_INFINITY, f64::max))?,
        _ => return None,
    };
    Some(vec![typed(f, f.op(op).output(), t)?])
}

/// The numbers in the element type that the value has.
fn typed(f: &Function, v: ValueId, t: Tensor) -> Option<Const> {
    let data = match f.ty(v).dtype()? {
        DType::Fp16 => Data::from_vec(&t.shape, t.elements.into_iter().map(f16::from_f64).collect::<Vec<_>>()),
        DType::Fp32 => Data::from_vec(&t.shape, t.elements.into_iter().map(|v| v as f32).collect::<Vec<_>>()),
        _ => return None,
    };
    Some(Const::Tensor(data))
}

/// An axis counted from the front.
fn front(axis: i64, rank: usize) -> usize {
    axis.rem_euclid(rank as i64) as usize
}

/// The elements that differ from `index` in the places of `axes` only.
fn line(x: &Tensor, axes: &[usize], index: &[i64]) -> Vec<f64> {
    let shape: Vec<usize> = axes.iter().map(|&a| x.shape[a]).collect();
    let along = Tensor::build(shape, |steps| {
        let mut at = index.to_vec();
        axes.iter().zip(steps).for_each(|(&a, &step)| at[a] = step);
        x.at(&at).unwrap_or(f64::NAN)
    });
    along.elements
}

fn softmax(given: &Given<'_>) -> Option<Tensor> {
    let x = given.tensor("x")?;
    let axis = front(given.value("axis").and_then(Const::as_i64).unwrap_or(-1), x.shape.len());
    activation(given, |v, index| v.exp() / line(&x, &[axis], index).iter().map(|v| v.exp()).sum::<f64>())
}

fn reduce(given: &Given<'_>, of: impl Fn(&[f64]) -> f64) -> Option<Tensor> {
    let x = given.tensor("x")?;
    let rank = x.shape.len();
    let axes: Vec<usize> = match given.ints("axes") {
        Some(axes) => axes.into_iter().map(|a| front(a, rank)).collect(),
        None => (0..rank).collect(),
    };
    let keep = given.value("keep_dims").and_then(Const::as_bool).unwrap_or(false);
    let ones = x.shape.iter().enumerate().map(|(i, &d)| if axes.contains(&i) { 1 } else { d }).collect();
    let mut t = Tensor::build(ones, |index| of(&line(&x, &axes, index)));
    if !keep {
        t.shape = t.shape.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, &d)| d).collect();
    }
    Some(t)
}

fn split(given: &Given<'_>) -> Option<Vec<Tensor>> {
    let x = given.tensor("x")?;
    let axis = front(given.value("axis")?.as_i64()?, x.shape.len());
    let sizes = match (given.ints("split_sizes"), given.value("num_splits").and_then(Const::as_i64)) {
        (Some(sizes), _) => sizes,
        (None, Some(n)) if n > 0 => vec![x.shape[axis] as i64 / n; n as usize],
        _ => return None,
    };
    let mut start = 0;
    let part = |size: i64| {
        let mut shape = x.shape.clone();
        shape[axis] = size as usize;
        let t = Tensor::build(shape, |index| {
            let mut at = index.to_vec();
            at[axis] += start;
            x.at(&at).unwrap_or(f64::NAN)
        });
        start += size;
        t
    };
    Some(sizes.into_iter().map(part).collect())
}

fn activation(given: &Given<'_>, of: impl Fn(f64, &[i64]) -> f64) -> Option<Tensor> {
    let x = given.tensor("x")?;
    Some(Tensor::build(x.shape.clone(), |index| of(x.at(index).unwrap_or(f64::NAN), index)))
}

fn conv(given: &Given<'_>) -> Option<Tensor> {
    let (x, w, bias) = (given.tensor("x")?, given.tensor("weight")?, given.tensor("bias"));
    let rank = x.shape.len() - 2;
    let strides = given.ints("strides").unwrap_or_else(|| vec![1; rank]);
    let dilations = given.ints("dilations").unwrap_or_else(|| vec![1; rank]);
    let groups = given.value("groups").and_then(Const::as_i64).unwrap_or(1);
    let pad_type = given.text("pad_type", "valid");
    let mut shape = vec![x.shape[0], w.shape[0]];
    let mut before = Vec::new();
    for i in 0..rank {
        let (n, reach) = (x.shape[2 + i] as i64, (w.shape[2 + i] as i64 - 1) * dilations[i]);
        let missing = (((n + strides[i] - 1) / strides[i] - 1) * strides[i] + reach + 1 - n).max(0);
        let [left, right] = match pad_type {
            "valid" => [0, 0],
            "same" => [missing / 2, missing - missing / 2],
            "custom" => given.ints("pad").map_or([0, 0], |p| [p[2 * i], p[2 * i + 1]]),
            _ => return None,
        };
        shape.push(usize::try_from((n + left + right - reach - 1).div_euclid(strides[i]) + 1).ok()?);
        before.push(left);
    }
    let (taken, made) = (w.shape[1] as i64, w.shape[0] as i64 / groups);
    let window = Tensor { shape: w.shape[1..].to_vec(), elements: vec![0.0; w.shape[1..].iter().product()] };
    Some(Tensor::build(shape, |index| {
        let (batch, channel) = (index[0], index[1]);
        let mut products = Tensor::build(window.shape.clone(), |tap| {
            let place = (0..rank).map(|i| index[2 + i] * strides[i] + tap[1 + i] * dilations[i] - before[i]);
            let from: Vec<i64> = [batch, channel / made * taken + tap[0]].into_iter().chain(place).collect();
            let at: Vec<i64> = std::iter::once(channel).chain(tap.iter().copied()).collect();
            x.at(&from).unwrap_or(0.0) * w.at(&at).unwrap_or(f64::NAN)
        });
        products.elements.push(bias.as_ref().map_or(0.0, |b| b.elements[channel as usize]));
        products.elements.iter().sum()
    }))
}

fn pad(given: &Given<'_>) -> Option<Tensor> {
    let (x, pad) = (given.tensor("x")?, given.ints("pad").filter(|p| p.iter().all(|&n| n >= 0))?);
    let fill = given.value("constant_val").and_then(Const::as_f64).unwrap_or(0.0);
    let mode = given.text("mode", "constant");
    let skipped = x.shape.len() - pad.len() / 2;
    let sides = |i: usize| if i < skipped { [0, 0] } else { [pad[2 * (i - skipped)], pad[2 * (i - skipped) + 1]] };
    let shape = x.shape.iter().enumerate().map(|(i, &d)| d + sides(i).iter().sum::<i64>() as usize).collect();
    Some(Tensor::build(shape, |index| {
        let place = index.iter().enumerate().map(|(i, &at)| {
            let (at, last) = (at - sides(i)[0], x.shape[i] as i64 - 1);
            match mode {
                "reflect" if at < 0 => -at,
                "reflect" if at > last => 2 * last - at,
                "replicate" => at.clamp(0, last),
                _ => at,
            }
        });
        // Outside there is the constant; a reflection that reaches too far is no number.
        x.at(&place.collect::<Vec<_>>()).unwrap_or(if mode == "constant" { fill } else { f64::NAN })
    }))
}

fn space_to_batch(given: &Given<'_>) -> Option<Tensor> {
    let (x, b, p) = (given.tensor("x")?, given.ints("block_shape")?, given.ints("paddings")?);
    let [n, c, h, w] = x.shape[..] else { return None };
    let rows = |d: usize, i: usize| (d as i64 + p[2 * i] + p[2 * i + 1]) / b[i];
    let shape = vec![n * (b[0] * b[1]) as usize, c, rows(h, 0) as usize, rows(w, 1) as usize];
    Some(Tensor::build(shape, |index| {
        let (block, batch) = (index[0] / n as i64, index[0] % n as i64);
        let (row, column) = (block / b[1], block % b[1]);
        x.at(&[batch, index[1], index[2] * b[0] + row - p[0], index[3] * b[1] + column - p[2]]).unwrap_or(0.0)
    }))
}

fn batch_to_space(given: &Given<'_>) -> Option<Tensor> {
    let (x, b, c) = (given.tensor("x")?, given.ints("block_shape")?, given.ints("crops")?);
    let [n, channels, h, w] = x.shape[..] else { return None };
    let n = n / (b[0] * b[1]) as usize;
    let rows = |d: usize, i: usize| usize::try_from(d as i64 * b[i] - c[2 * i] - c[2 * i + 1]).ok();
    Some(Tensor::build(vec![n, channels, rows(h, 0)?, rows(w, 1)?], |index| {
        let (row, column) = (index[2] + c[0], index[3] + c[2]);
        let block = row % b[0] * b[1] + column % b[1];
        x.at(&[block * n as i64 + index[0], index[1], row / b[0], column / b[1]]).unwrap_or(f64::NAN)
    }))
}
