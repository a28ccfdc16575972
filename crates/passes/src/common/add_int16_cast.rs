//! `common::add_int16_cast`: ops that the Neural Engine runs on 16-bit integers get 16-bit integers.
//!
//! These are `gather`, `gather_along_axis`, `gather_nd`, `squeeze` and `topk`, where the opset lets them. An int32 input
//! is cast to `uint16` or `int16` and an int32 result back, but only where no value is lost: constants whose values
//! fit, values that were cast up from 16 bits or fewer, extents, and indices along an axis of at most 32767. The
//! indices that `topk` gives are asked for as `uint16` along an axis of at most 65536.
//!
//! What else is int32 stays, since nothing is known of its values.

use coremill_mil::{Const, Function, OpId, OpKind, Opset, Program, ValueId, extents_of, schema};
use coremill_tensor::DType;

use crate::narrow::{Narrowing, Target, narrow};
use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::selection::{OpSelection, SELECTION};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::add_int16_cast",
    summary: "Gives gathers, squeeze and topk 16-bit integers where all values fit",
    options: &SELECTION,
    spec: include_str!("../../specs/common/add_int16_cast.mil"),
    make: |options: &Options| Box::new(AddInt16Cast { selection: OpSelection::new(options) }),
};

struct AddInt16Cast {
    selection: OpSelection,
}

impl Pass for AddInt16Cast {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        self.selection.report(program, &mut cx.notes);
        for f in program.functions.values_mut() {
            narrow(f, &mut Int16 { selection: &self.selection }, cx)?;
        }
        Ok(())
    }
}

struct Int16<'a> {
    selection: &'a OpSelection,
}

impl Narrowing for Int16<'_> {
    const FROM: DType = DType::Int32;
    const SUFFIX: &'static str = "int16";

    fn wants(&mut self, f: &Function, op: OpId) -> bool {
        use OpKind::{Gather, GatherAlongAxis, GatherNd, Squeeze, Topk};
        // Before ios17 there is no cast to 16 bits, whatever a gather takes.
        f.opset >= Opset::Ios17
            && matches!(f.kind(op), Gather | GatherAlongAxis | GatherNd | Squeeze | Topk)
            && !self.selection.skips(f, op)
    }

    fn target(&self, f: &Function, op: OpId, input: &str, v: ValueId) -> Option<Target> {
        let kind = f.kind(op);
        if f.ty(v).dtype() == Some(DType::String) {
            let is_int32 = f.const_value(v).and_then(Const::as_str) == Some("int32");
            return (is_int32 && kind == OpKind::Topk && indices_fit(f, op)).then_some(Target::Text("uint16"));
        }
        let to = match type_that_fits(f, v) {
            Some(to) => to,
            None if input == "indices" && f.const_value(v).is_none() && is_short_axis(f, op) => DType::Int16,
            None => return None,
        };
        schema::accepts(kind, f.opset, input, to).then_some(Target::Cast(to))
    }
}

/// The 16-bit type that holds every value of `v`, where that is known.
fn type_that_fits(f: &Function, v: ValueId) -> Option<DType> {
    let holds = |values: &[i64]| {
        let within = |low: i64, high: i64| values.iter().all(|v| (low..=high).contains(v));
        if within(0, u16::MAX.into()) {
            Some(DType::UInt16)
        } else {
            within(i16::MIN.into(), i16::MAX.into()).then_some(DType::Int16)
        }
    };
    if let Some(c) = f.const_value(v) {
        return holds(&c.as_i64s()?);
    }
    if let Some(cast) = f.producer_of(v, OpKind::Cast) {
        return match f.ty(f.op(cast).arg("x")?).dtype()? {
            DType::UInt16 => Some(DType::UInt16),
            DType::Int16 | DType::Int8 | DType::UInt8 | DType::Bool => Some(DType::Int16),
            _ => None,
        };
    }
    let extents: Option<Vec<i64>> = extents_of(f, v)?.iter().map(|d| i64::try_from(d.known()?).ok()).collect();
    // Signed, as indices that are computed from an extent may be negative.
    extents.filter(|e| e.iter().all(|&n| n <= i16::MAX.into())).map(|_| DType::Int16)
}

/// Does an index into `x` fit into 16 bits, counted from either end?
fn is_short_axis(f: &Function, op: OpId) -> bool {
    let Some(shape) = f.op(op).arg("x").and_then(|x| f.ty(x).shape()) else { return false };
    let is_short = |d: usize| shape.get(d).and_then(|d| d.known()).is_some_and(|n| n <= i16::MAX as u64);
    match f.kind(op) {
        OpKind::GatherNd => (0..shape.rank()).all(is_short),
        _ => axis(f, op, 0).is_some_and(is_short),
    }
}

/// Do the indices that a `topk` gives fit into `uint16`?
fn indices_fit(f: &Function, op: OpId) -> bool {
    let Some(shape) = f.op(op).arg("x").and_then(|x| f.ty(x).shape()) else { return false };
    let extent = axis(f, op, -1).and_then(|a| shape.get(a)?.known());
    extent.is_some_and(|n| n <= u64::from(u16::MAX) + 1)
}

/// The axis of the op, counted from the front.
fn axis(f: &Function, op: OpId, default: i64) -> Option<usize> {
    let rank = f.ty(f.op(op).arg("x")?).rank()? as i64;
    let axis = match f.op(op).arg("axis") {
        Some(_) => f.const_arg(op, "axis")?.as_i64()?,
        None => default,
    };
    usize::try_from(if axis < 0 { axis + rank } else { axis }).ok()
}
