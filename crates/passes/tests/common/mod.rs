//! Running whole programs on seeded inputs, to hold a pass to the values and not only to the graph.

mod kernels;

use std::collections::HashMap;

use coremill_interp::evaluate;
use coremill_mil::{Arg, Const, Function, OpArgs, OpId, OpKind, TensorType, ValueId};
use coremill_tensor::{DType, Data, f16};

/// The outputs of a function on seeded inputs; `None` where an op has no kernel, a type is not known, or there is
/// control flow.
pub(crate) fn outputs_on_seeded_inputs(f: &Function) -> Option<Vec<Const>> {
    let mut values: HashMap<ValueId, Const> = HashMap::new();
    for (i, &v) in f.inputs().iter().enumerate() {
        values.insert(v, seeded(f.ty(v).as_tensor()?, i as u64 + 1)?);
    }
    for op in f.ops_in(f.body()) {
        let results = match f.op(op).kind {
            OpKind::Const => vec![f.op(op).const_value()?.clone()],
            _ => evaluate(&arguments(f, op, &values)).ok().or_else(|| kernels::compute(f, op, &values))?,
        };
        values.extend(f.op(op).outputs().iter().copied().zip(results));
    }
    f.outputs().map(|v| values.get(&v).cloned()).collect()
}

fn arguments<'a>(f: &'a Function, op: OpId, values: &'a HashMap<ValueId, Const>) -> OpArgs<'a> {
    let mut args = OpArgs::new(f.op(op).kind, f.opset);
    args.attributes = Some(&f.op(op).attributes);
    let arg = |v: ValueId| Arg::new(f.ty(v), values.get(&v));
    args.inputs = f.op(op).inputs().map(|(name, list)| (name, list.map(arg).collect())).collect();
    args
}

/// Numbers between -2 and 2 for floats, from -4 to 4 for integers; extents that are not known become 3.
fn seeded(t: &TensorType, seed: u64) -> Option<Const> {
    let shape: Vec<usize> = t.shape.iter().map(|d| d.known().unwrap_or(3) as usize).collect();
    let mut state = seed;
    let mut next = || {
        // SplitMix64, so that the same case gets the same numbers on every run.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let v: Vec<f64> = (0..shape.iter().product()).map(|_| next() * 4.0 - 2.0).collect();
    Some(Const::Tensor(match t.dtype {
        DType::Fp32 => Data::from_vec(&shape, v.iter().map(|&v| v as f32).collect::<Vec<_>>()),
        DType::Fp16 => Data::from_vec(&shape, v.iter().map(|&v| f16::from_f64(v)).collect::<Vec<_>>()),
        DType::Int32 => Data::from_vec(&shape, v.iter().map(|&v| (2.0 * v) as i32).collect::<Vec<_>>()),
        DType::Bool => Data::from_bools(&shape, &v.iter().map(|&v| v > 0.0).collect::<Vec<_>>()),
        _ => return None,
    }))
}

/// Does a function compute in half precision anywhere?
pub(crate) fn computes_in_half(f: &Function) -> bool {
    f.all_ops().into_iter().flat_map(|op| f.op(op).outputs()).any(|&v| f.ty(v).dtype() == Some(DType::Fp16))
}

/// The same numbers, up to the rounding of the element type, or of half precision where one side computes in it.
pub(crate) fn same(a: &Const, b: &Const, half: bool) -> bool {
    let (Some(a), Some(b)) = (a.as_data(), b.as_data()) else { return a == b };
    let (Some(x), Some(y)) = (a.to_f64s(), b.to_f64s()) else { return a == b };
    let tolerance = if half || a.dtype() == DType::Fp16 { 4e-3 } else { 1e-5 };
    let near =
        |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * x.abs().max(1.0);
    a.dtype() == b.dtype() && a.shape() == b.shape() && x.iter().zip(&y).all(near)
}
