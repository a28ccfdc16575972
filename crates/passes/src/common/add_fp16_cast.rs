//! `common::add_fp16_cast`: ops compute in float16.
//!
//! Float32 inputs of an op are cast to float16 and its results back. Inputs that do not take float16 stay, and from
//! ios17 so do the parameters of activations and the epsilons of `inverse`, `log` and `rsqrt`, which may be of another
//! type than the data. Ops on lists and state and control flow stay as they are.
//!
//! What float16 cannot hold: an op with a finite constant beyond 65504 stays in float32. Beyond 1e38 a constant stands
//! for infinity, as masks have it, and becomes that. A small constant that would vanish becomes the smallest
//! float16 instead. What is lost by that, the notes say; with `unsafe_ops = "keep_fp32"` such an op stays in float32
//! together with what its out-of-range results flow into, up to an op whose results are in range again.
//!
//! What values are at run time is not known here: an overflow of computed numbers is not seen.

use std::collections::BTreeMap;

use coremill_mil::schema::{self, Domain};
use coremill_mil::{Const, Function, OpId, OpKind, Opset, Program, ValueId};
use coremill_tensor::DType;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::narrow::{Narrowing, Target, narrow};
use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use crate::range::{FP16_MAX, Hazard, Range, hazard_of, is_bounded};
use crate::selection::{OpSelection, SELECTION, op_name};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::add_fp16_cast",
    summary: "Makes ops compute in float16, with casts around each",
    options: &[
        SELECTION[0],
        SELECTION[1],
        SELECTION[2],
        OptionSpec {
            name: "unsafe_ops",
            kind: OptionKind::OneOf(&["report", "keep_fp32"]),
            summary: "What to do with an op whose constants float16 cannot hold: say so, or keep it in float32; without it, `report`",
        },
    ],
    spec: include_str!("../../specs/common/add_fp16_cast.mil"),
    make: |options: &Options| {
        Box::new(AddFp16Cast {
            selection: OpSelection::new(options),
            keep: options.text("unsafe_ops") == Some("keep_fp32"),
        })
    },
};

struct AddFp16Cast {
    selection: OpSelection,
    keep: bool,
}

impl Pass for AddFp16Cast {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        let mut state =
            State { pass: self, ranges: FxHashMap::default(), wide: FxHashSet::default(), hazards: BTreeMap::new() };
        self.selection.report(program, &mut cx.notes);
        for f in program.functions.values_mut() {
            (state.ranges, state.wide) = Default::default();
            narrow(f, &mut state, cx)?;
        }
        cx.notes.extend(state.notes());
        Ok(())
    }
}

/// What is found out on the way through a function.
struct State<'a> {
    pass: &'a AddFp16Cast,
    /// Of the float32 constants looked at.
    ranges: FxHashMap<ValueId, Range>,
    /// Values that may be out of float16's range.
    wide: FxHashSet<ValueId>,
    /// Op names by what is lost.
    hazards: BTreeMap<Hazard, Vec<String>>,
}

/// Ops that are not made to compute in float16: they hold other ops, lists or state, or are casts themselves.
const LEFT_ALONE: &[OpKind] = &[
    OpKind::Cast,
    OpKind::WhileLoop,
    OpKind::Cond,
    OpKind::MakeList,
    OpKind::ListGather,
    OpKind::ListScatter,
    OpKind::ListRead,
    OpKind::ListWrite,
    OpKind::ListLength,
    OpKind::ReadState,
    OpKind::CoremlUpdateState,
];

/// Inputs that from ios17 on may be of another type than the data, and are more exact so.
fn is_mixed(kind: OpKind, input: &str) -> bool {
    use OpKind::{
        ClampedRelu, Elu, Inverse, LeakyRelu, LinearActivation, Log, Prelu, Rsqrt, ScaledTanh, SigmoidHard,
        SoftplusParametric, ThresholdedRelu,
    };
    match input {
        "alpha" | "beta" => matches!(
            kind,
            Elu | LeakyRelu
                | Prelu
                | ThresholdedRelu
                | ClampedRelu
                | LinearActivation
                | ScaledTanh
                | SigmoidHard
                | SoftplusParametric
        ),
        "epsilon" => matches!(kind, Inverse | Log | Rsqrt),
        _ => false,
    }
}

impl Narrowing for State<'_> {
    const FROM: DType = DType::Fp32;
    const SUFFIX: &'static str = "fp16";

    fn wants(&mut self, f: &Function, op: OpId) -> bool {
        if LEFT_ALONE.contains(&f.kind(op)) {
            return false;
        }
        if self.pass.selection.skips(f, op) {
            self.flow(f, op, false);
            return false;
        }
        let mut hazards = Vec::new();
        let mut overflows = false;
        for (input, args) in f.op(op).inputs() {
            for v in args {
                let Some(range) = self.range(f, v) else { continue };
                overflows |= range.largest > FP16_MAX;
                if self.target(f, op, input, v).is_some() {
                    hazards.extend(hazard_of(f.kind(op), input, &range));
                }
            }
        }
        hazards.extend(self.overflow_of_constants(f, op));
        self.flow(f, op, overflows || hazards.iter().any(Hazard::is_overflow));
        if self.pass.keep {
            return hazards.is_empty() && !overflows && !self.is_wide(f, op);
        }
        for hazard in hazards {
            self.hazards.entry(hazard).or_default().push(op_name(f, op).to_owned());
        }
        !overflows
    }

    fn target(&self, f: &Function, op: OpId, input: &str, v: ValueId) -> Option<Target> {
        let kind = f.kind(op);
        let is_float = f.ty(v).as_tensor().is_some_and(|t| t.dtype == DType::Fp32);
        let mixed = f.opset >= Opset::Ios17 && is_mixed(kind, input);
        let takes = is_float && !mixed && schema::accepts(kind, f.opset, input, DType::Fp16);
        takes.then_some(Target::Cast(DType::Fp16))
    }

    fn attribute(domain: Domain) -> Option<DType> {
        domain.accepts(DType::Fp16).then_some(DType::Fp16)
    }

    fn constant(&self, f: &Function, v: ValueId) -> Option<Const> {
        self.ranges.get(&v).filter(|r| r.has_vanishing)?;
        crate::range::without_zeros(f.const_value(v)?.as_data()?).map(Const::Tensor)
    }
}

impl State<'_> {
    /// The range of a float32 constant; each is looked at once.
    fn range(&mut self, f: &Function, v: ValueId) -> Option<Range> {
        if let Some(range) = self.ranges.get(&v) {
            return Some(*range);
        }
        let data = f.const_value(v)?.as_data().filter(|d| d.dtype() == DType::Fp32)?;
        let range = Range::of(data);
        self.ranges.insert(v, range);
        Some(range)
    }

    /// An op of constants alone whose result float32 can hold and float16 cannot (300 times 300).
    fn overflow_of_constants(&self, f: &Function, op: OpId) -> Option<Hazard> {
        let outputs = f.op(op).outputs();
        let all_constant = f.op(op).operands().all(|v| f.const_value(v).is_some());
        let small = |v: &ValueId| f.ty(*v).shape().and_then(|s| s.elements()).is_some_and(|n| n < crate::range::FEW);
        if !all_constant || outputs.is_empty() || !outputs.iter().all(small) {
            return None;
        }
        let results = coremill_interp::evaluate_op(f, op).ok()?;
        let data = results.iter().filter_map(Const::as_data).filter(|d| d.dtype() == DType::Fp32);
        let largest = data.map(|d| Range::of(d).largest).fold(0.0, f32::max);
        (largest > FP16_MAX).then(|| Hazard::result(f.kind(op), largest))
    }

    /// Records whether what the op gives may be out of range: it makes such values, or passes them on.
    fn flow(&mut self, f: &Function, op: OpId, makes: bool) {
        let passes = self.is_wide(f, op) && !is_bounded(f.kind(op));
        if makes || passes {
            self.wide.extend(f.op(op).outputs().iter().copied());
        }
    }

    fn is_wide(&self, f: &Function, op: OpId) -> bool {
        !self.wide.is_empty() && f.op(op).operands().any(|v| self.wide.contains(&v))
    }

    fn notes(self) -> Vec<String> {
        self.hazards.into_iter().map(|(hazard, ops)| hazard.note(&ops)).collect()
    }
}
