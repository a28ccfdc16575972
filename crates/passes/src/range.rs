//! What of a float32 constant float16 cannot hold, and how to say so.

use coremill_mil::OpKind;
use coremill_tensor::{Data, f16};
use rayon::prelude::*;

/// The largest number that float16 holds.
pub(crate) const FP16_MAX: f32 = 65504.0;

/// From here on a number stands for infinity, as coremltools takes it.
const STANDS_FOR_INFINITY: f32 = 1e38;

/// Half of the smallest float16: what is no larger rounds to zero.
const VANISHES: f32 = 1.0 / (1u32 << 25) as f32;

/// Elements up to which a constant is looked after one by one; larger ones are weights, where single tiny elements
/// do not matter.
pub(crate) const FEW: usize = 400;

/// Bytes that one task looks at.
const CHUNK: usize = 1 << 20;

/// Magnitudes in a float32 constant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Range {
    /// The largest finite magnitude that does not stand for infinity.
    pub largest: f32,
    /// The largest finite magnitude that does; 0 where there is none.
    pub huge: f32,
    /// The largest magnitude that float16 rounds to zero; 0 where there is none.
    pub vanishing: f32,
    /// Does every element that is not zero vanish?
    pub all_vanish: bool,
    /// Is the constant small, and does one of its elements vanish?
    pub has_vanishing: bool,
}

impl Range {
    /// Looks at every element, with all cores where there are many.
    pub(crate) fn of(data: &Data) -> Range {
        let mut range = Range::default();
        let looked = data.for_each_piece(&mut |bytes| {
            range = range.and(if bytes.len() <= CHUNK {
                Range::of_part(bytes)
            } else {
                bytes.par_chunks(CHUNK).map(Range::of_part).reduce(Range::default, Range::and)
            });
            Ok(())
        });
        debug_assert!(looked.is_ok(), "invariant: looking has no error");
        range.all_vanish = range.vanishing > 0.0 && range.largest == 0.0 && range.huge == 0.0;
        range.has_vanishing = range.vanishing > 0.0 && data.len() < FEW;
        range
    }

    /// The magnitudes of both together.
    fn and(self, other: Range) -> Range {
        Range {
            largest: self.largest.max(other.largest),
            huge: self.huge.max(other.huge),
            vanishing: self.vanishing.max(other.vanishing),
            ..self
        }
    }

    /// The magnitudes among the elements of a part.
    fn of_part(bytes: &[u8]) -> Range {
        let mut range = Range::default();
        for b in bytes.chunks_exact(4) {
            let v = f32::from_le_bytes([b[0], b[1], b[2], b[3]]).abs();
            if v <= VANISHES {
                range.vanishing = range.vanishing.max(v);
            } else if v < STANDS_FOR_INFINITY {
                range.largest = range.largest.max(v);
            } else if v.is_finite() {
                range.huge = range.huge.max(v);
            }
        }
        range
    }
}

/// The constant rounded to float16, but what would vanish becomes the smallest float16 of its sign.
pub(crate) fn without_zeros(data: &Data) -> Option<Data> {
    let values = data.as_slice::<f32>()?;
    let round = |&v: &f32| match f16::from_f32(v) {
        zero if zero == f16::ZERO && v > 0.0 => f16::from_bits(1),
        zero if zero == f16::ZERO && v < 0.0 => f16::from_bits(0x8001),
        rounded => rounded,
    };
    Some(Data::from_vec(data.shape(), values.iter().map(round).collect()))
}

/// Something that float16 changes, by kind of op, so that ops with the same one are told together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hazard {
    text: String,
    overflow: bool,
}

/// What float16 changes about an input of an op.
pub(crate) fn hazard_of(kind: OpKind, input: &str, range: &Range) -> Option<Hazard> {
    let (text, overflow) = if range.huge > 0.0 {
        (format!("`{kind}`: {:e} in `{input}` becomes infinite in float16", range.huge), true)
    } else if range.largest > FP16_MAX {
        let value = range.largest;
        (
            format!(
                "`{kind}`: kept in float32 for {value:e} in `{input}`; results beyond 65504 become infinite in later ops"
            ),
            true,
        )
    } else if range.all_vanish && range.has_vanishing {
        (
            format!(
                "`{kind}`: {:e} in `{input}` becomes 6e-8 in float16, and zero on a device without subnormals",
                range.vanishing
            ),
            false,
        )
    } else if range.all_vanish {
        (format!("`{kind}`: {:e} in `{input}`, its largest, becomes zero in float16", range.vanishing), false)
    } else {
        return None;
    };
    Some(Hazard { text, overflow })
}

impl Hazard {
    /// An op whose result, known at compile time, is out of range.
    pub(crate) fn result(kind: OpKind, largest: f32) -> Hazard {
        Hazard { text: format!("`{kind}`: its result of {largest:e} becomes infinite in float16"), overflow: true }
    }

    /// Is it about numbers that are too large?
    pub(crate) fn is_overflow(&self) -> bool {
        self.overflow
    }

    /// The sentence for the user.
    pub(crate) fn note(&self, ops: &[String]) -> String {
        const SHOWN: usize = 4;
        let shown: Vec<String> = ops.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
        let more = ops.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{} ({}{more})", self.text, shown.join(", "))
    }
}

/// Are the op's results in float16's range whatever it reads?
pub(crate) fn is_bounded(kind: OpKind) -> bool {
    use OpKind::{
        Atan, Cos, Erf, ReduceArgmax, ReduceArgmin, Sigmoid, SigmoidHard, Sign, Sin, Softmax, Softsign, Tanh,
    };
    matches!(
        kind,
        Softmax | Sigmoid | SigmoidHard | Tanh | Softsign | Erf | Sign | Sin | Cos | Atan | ReduceArgmax | ReduceArgmin
    )
}

#[cfg(test)]
mod tests {
    use coremill_tensor::DType;

    use super::*;

    fn range(v: &[f32]) -> Range {
        Range::of(&Data::from_elements(&[v.len()], v))
    }

    #[test]
    fn magnitudes_are_told_apart() {
        let r = range(&[1.0, -70000.0, f32::NAN, f32::NEG_INFINITY, -3.4e38, 0.0]);
        assert_eq!((r.largest, r.huge, r.vanishing, r.all_vanish), (70000.0, 3.4e38, 0.0, false));
        // 2^-25 is halfway between zero and the smallest float16 and rounds to even: zero.
        let r = range(&[0.0, -(2f32.powi(-25))]);
        assert!(r.all_vanish && r.has_vanishing);
        assert_eq!(range(&[2f32.powi(-25) * 1.001]).vanishing, 0.0);
        assert_eq!(range(&[]), Range::default());
    }

    #[test]
    fn what_vanishes_becomes_the_smallest() {
        let d = without_zeros(&Data::from_elements(&[4], &[1e-12f32, -1e-12, 0.0, 1.0])).unwrap();
        assert_eq!((d.dtype(), d.to_f64s().unwrap()), (DType::Fp16, vec![2f64.powi(-24), -(2f64.powi(-24)), 0.0, 1.0]));
    }
}
