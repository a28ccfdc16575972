//! What the fusions into a convolution have in common: its parts, per-channel constants, and new weights.
//!
//! The channels of a result stand in dimension 1. A weight of `conv` is `[C_out, C_in / groups, *kernel]`, one of
//! `conv_transpose` is `[C_in, C_out / groups, *kernel]`, where group `g` reads the input channels from
//! `g * C_in / groups` on and gives the output channels from `g * C_out / groups` on.

use coremill_mil::{Const, Function, OpId, OpKind, ValueId};
use coremill_tensor::{DType, Data};

use crate::known::known_value;
use crate::matching::float_const;
use crate::patch::NewPatchOp;

/// The axis of channels in what a convolution gives.
pub(crate) const CHANNELS: usize = 1;

/// A convolution whose bias is a plain constant.
pub(crate) struct Conv<'a> {
    /// The op.
    pub op: OpId,
    /// Its weight, where that is a plain constant.
    weight: Option<Data>,
    /// Its bias, where it has one.
    bias: Option<&'a Data>,
    /// The number of output channels.
    pub channels: usize,
    groups: usize,
    transposed: bool,
    dtype: DType,
}

/// The kinds of ops that a fusion into a convolution starts from.
pub(crate) const CONVS: &[OpKind] = &[OpKind::Conv, OpKind::ConvTranspose];

/// The parts of a convolution; `None` where the bias is computed or compressed, or shapes do not fit.
pub(crate) fn conv_of(f: &Function, op: OpId) -> Option<Conv<'_>> {
    let transposed = f.kind(op) == OpKind::ConvTranspose;
    let weight = f.op(op).arg("weight")?;
    let ty = f.ty(weight).as_tensor()?;
    let bias = match f.op(op).arg("bias") {
        Some(b) => Some(f.const_value(b)?.as_data()?),
        None => None,
    };
    let groups = match f.op(op).arg("groups") {
        Some(g) => usize::try_from(f.const_value(g)?.as_i64()?).ok()?,
        None => 1,
    };
    let shape = ty.shape.to_known()?;
    let channels = match (transposed, shape.as_slice()) {
        (false, [out, ..]) => *out,
        (true, [_, out, ..]) => out.checked_mul(groups)?,
        _ => return None,
    };
    let fits = bias.is_none_or(|b| b.len() == channels) && groups > 0 && channels > 0;
    let weight = known_value(f, weight).and_then(|c| c.as_data().cloned());
    fits.then_some(Conv { op, weight, bias, channels, groups, transposed, dtype: ty.dtype })
}

/// The op that alone uses what `op` gives, in the same block, when it is of one of these kinds.
pub(crate) fn follower(f: &Function, op: OpId, kinds: &[OpKind]) -> Option<OpId> {
    let next = f.only_user(f.op(op).output())?;
    (kinds.contains(&f.kind(next)) && f.block_of(next) == f.block_of(op)).then_some(next)
}

/// A constant as one number per channel, where broadcasting it against a tensor of this rank, whose channels stand in
/// dimension `axis`, gives every channel one number and does not grow the tensor.
pub(crate) fn per_channel(c: &Data, rank: usize, axis: usize, channels: usize) -> Option<Vec<f64>> {
    let ahead = rank.checked_sub(c.rank())?;
    let is_channel = |d: usize| d + ahead == axis;
    let fits = c.shape().iter().enumerate().all(|(d, &n)| n == 1 || (is_channel(d) && n == channels));
    let values = c.to_f64s().filter(|v| fits && !v.is_empty())?;
    Some(if values.len() == 1 { vec![values[0]; channels] } else { values })
}

/// The value of `v` as one number per channel of what `conv` gives.
pub(crate) fn per_channel_of(f: &Function, conv: &Conv<'_>, v: ValueId) -> Option<Vec<f64>> {
    let rank = f.ty(f.op(conv.op).output()).rank()?;
    per_channel(f.const_value(v)?.as_data()?, rank, CHANNELS, conv.channels)
}

impl Conv<'_> {
    /// The bias as numbers; zeros where there is none.
    pub(crate) fn bias_values(&self) -> Option<Vec<f64>> {
        match self.bias {
            Some(b) => b.to_f64s(),
            None => Some(vec![0.0; self.channels]),
        }
    }

    /// A bias of these numbers, of the weight's element type.
    pub(crate) fn new_bias(&self, values: Vec<f64>) -> Option<Const> {
        float_const(self.dtype, &[self.channels], values)
    }

    /// The weight with what gives each output channel multiplied by that channel's factor, each element rounded once.
    pub(crate) fn scaled_weight(&self, factors: &[f64]) -> Option<Const> {
        let weight = self.weight.as_ref()?;
        let shape = weight.shape();
        let kernel: usize = shape.get(2..)?.iter().product();
        // Of the run number `row` of kernel elements of a transposed convolution: which output channel it works for.
        let (first, second) = (*shape.first()?, *shape.get(1)?);
        let channel = |row: usize| (row / second.max(1)) / (first / self.groups).max(1) * second + row % second.max(1);
        if kernel == 0 || factors.len() != self.channels || (self.transposed && first % self.groups != 0) {
            return None;
        }
        // Where the rows of an output channel lie side by side, they share a factor.
        let (run, factors) = match self.transposed {
            false => (kernel * second.max(1), factors.to_vec()),
            true => (kernel, (0..first * second).map(|row| factors[channel(row)]).collect()),
        };
        weight.scaled(run, factors).map(Const::Tensor)
    }

    /// The weight's value, where it is known but computed by ops that nothing has folded yet.
    pub(crate) fn folded_weight(&self, f: &Function) -> Option<Const> {
        if f.const_arg(self.op, "weight").is_some() { None } else { self.weight.clone().map(Const::Tensor) }
    }

    /// A convolution like this one but for weight and bias; `None` keeps the weight.
    pub(crate) fn remade(&self, f: &Function, name: String, weight: Option<Const>, bias: Const) -> NewPatchOp {
        let new = NewPatchOp::new(f.kind(self.op), name);
        let new = match weight {
            Some(w) => new.same_but(f, self.op, &["weight", "bias"]).literal("weight", w),
            None => new.same_but(f, self.op, &["bias"]),
        };
        new.literal("bias", bias)
    }
}

#[cfg(test)]
mod tests {
    use coremill_mil::text::{NoBlobs, parse};

    use super::*;

    #[test]
    fn a_transposed_convolution_scales_by_group() {
        // Four inputs and four outputs in two groups: rows 0 and 1 of the weight give outputs 0 and 1, rows 2 and 3
        // give outputs 2 and 3.
        let text = "program(1.3)\n{ func main<ios17>(tensor<fp32, [1, 4, 3]> x) {
            tensor<fp32, [1, 4, 3]> y = conv_transpose(x = x, weight = tensor<fp32, [4, 2, 1]>([[[1], [1]], [[1], [1]], [[1], [1]], [[1], [1]]]), groups = int32(2)); } -> (y); }";
        let program = parse(text, &NoBlobs).unwrap();
        let f = &program.functions["main"];
        let op = f.all_ops().into_iter().find(|&op| f.kind(op) == OpKind::ConvTranspose).unwrap();
        let conv = conv_of(f, op).unwrap();
        let scaled = conv.scaled_weight(&[2.0, 3.0, 5.0, 7.0]).unwrap();
        assert_eq!(scaled.as_data().unwrap().to_f64s().unwrap(), [2.0, 3.0, 2.0, 3.0, 5.0, 7.0, 5.0, 7.0]);
    }

    #[test]
    fn only_constants_along_the_channels_are_per_channel() {
        let of = |shape: &[usize]| {
            let c = Data::from_vec(shape, vec![1f32; shape.iter().product()]);
            per_channel(&c, 4, 1, 3).map(|v| v.len())
        };
        for fits in [&[][..], &[1], &[3, 1, 1], &[1, 3, 1, 1], &[1, 1, 1, 1]] {
            assert_eq!(of(fits), Some(3), "{fits:?}");
        }
        for not in [&[3][..], &[2, 1, 1], &[3, 1, 1, 1], &[1, 3, 1, 2], &[1, 1, 3, 1, 1]] {
            assert_eq!(of(not), None, "{not:?}");
        }
    }
}
