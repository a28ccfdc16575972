//! Taking groups away.
//!
//! The steps are taken in program order, so that whatever an op takes is in its final layout when its turn comes. Each
//! use of a value is looked at once: a value loses its users when its op's turn comes, to values that stay.

use coremill_interp::evaluate;
use coremill_mil::{
    Arg, BlockId, Const, Def, Function, NewOp, OpArgs, OpId, OpKind, Origin, Place, Type, Use, ValueId,
};
use coremill_tensor::Data;
use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::{Flow, Part, Turned};
use super::order::{keeps_order, unturned, unturned_type};
use super::through::{Edit, Operand};
use crate::pass::{PassContext, PassError};

/// Takes the chosen groups of the block away.
pub(super) fn apply(
    f: &mut Function,
    block: BlockId,
    flow: &Flow,
    chosen: &[bool],
    cx: &PassContext,
) -> Result<(), PassError> {
    let outputs = flow.outputs().clone();
    let mut changer = Changer { f, block, flow, cx, outputs, unturned: FxHashMap::default() };
    for step in flow.steps.iter().filter(|s| chosen[s.turned.group]) {
        match &step.part {
            Part::Begin => changer.begin(step.op),
            Part::Through(edits) => changer.through(step.op, edits, step.turned)?,
            Part::Cancel => changer.cancel(step.op),
        }
    }
    Ok(())
}

struct Changer<'a> {
    f: &'a mut Function,
    block: BlockId,
    flow: &'a Flow,
    cx: &'a PassContext,
    outputs: FxHashSet<ValueId>,
    /// Operands in the layout before the transpose, by operand and order.
    unturned: FxHashMap<(ValueId, usize), ValueId>,
}

impl Changer<'_> {
    /// The users that can take the operand itself do; the transpose stays for the others, if there are any.
    fn begin(&mut self, op: OpId) {
        let Some(x) = self.f.op(op).arg("x") else { return };
        let v = self.f.op(op).output();
        self.uses(v, false).into_iter().for_each(|place| self.f.set_use_at(place, x));
        self.f.erase(op);
    }

    fn through(&mut self, op: OpId, edits: &[Edit], turned: Turned) -> Result<(), PassError> {
        // Listed once: a `concat` of many constants asks for each.
        let values: Vec<ValueId> = self.f.op(op).args("values").collect();
        for edit in edits {
            match edit {
                Edit::Int(name, n) => self.set(op, name, Const::int32(*n)),
                Edit::Ints(name, n) => self.set(op, name, Const::int32s(n)),
                Edit::Constant(operand) | Edit::Reshape(operand) => {
                    let v = values.get(operand.arg).copied().or_else(|| self.f.op(op).arg(operand.name));
                    v.map_or(Ok(()), |v| self.unturn(op, v, operand, turned.order))?;
                }
            }
        }
        let flow = self.flow;
        let axes = &flow.orders.get(turned.order).axes;
        for v in self.f.op(op).outputs().to_vec() {
            let old = self.f.ty(v).clone();
            self.f.set_type(v, unturned_type(axes, &old));
            if flow.is_needed(v) {
                self.turn(op, v, old, turned.group);
            }
        }
        self.f.op_mut(op).origin.touch(&self.cx.id);
        Ok(())
    }

    /// What takes the result takes the operand instead.
    fn cancel(&mut self, op: OpId) {
        let Some(x) = self.f.op(op).arg("x") else { return };
        let v = self.f.op(op).output();
        if self.outputs.remove(&v) {
            let kept = self.output_for(op, x);
            self.outputs.insert(kept);
            let block = self.block;
            self.f.replace_uses_if(v, kept, |u| matches!(u, Use::Output { block: b, .. } if *b == block));
        }
        self.f.replace_uses(v, x);
        self.f.erase(op);
    }

    /// The value that is an output in place of the result of `op`: `x`, or a copy where `x` has a public name already.
    fn output_for(&mut self, op: OpId, x: ValueId) -> ValueId {
        let v = self.f.op(op).output();
        let ty = self.f.ty(v).clone();
        let made_here = matches!(self.f.def(x), Def::Op { op, .. } if self.f.block_of(op) == self.block);
        if made_here && !self.outputs.contains(&x) {
            // The type of an output belongs to the signature, however much is known of its extents.
            self.f.set_type(x, ty);
            return x;
        }
        let copy = NewOp::new(OpKind::Identity).input("x", x).output(self.f.value(v).name.clone(), ty);
        let copy = self.insert(Place::Before(op), copy, op);
        self.f.op(copy).output()
    }

    /// Transposes the result of `op` for those that need it as it was.
    fn turn(&mut self, op: OpId, v: ValueId, ty: Type, group: usize) {
        let Some(perm) = self.flow.groups.perm(group) else { return };
        let moved = self.uses(v, true);
        let name = self.f.value(v).name.clone();
        let inner = format!("{name}_before_transpose");
        if self.f.op(op).outputs().len() == 1 && self.f.op(op).name.as_ref() == Some(&name) {
            *self.f.op_mut(op).name = Some(inner.clone());
        }
        self.f.set_name(v, inner);
        let transpose = NewOp::new(OpKind::Transpose).input("x", v).input("perm", perm).output(name, ty);
        let transpose = self.insert(Place::After(op), transpose, op);
        let transposed = self.f.op(transpose).output();
        if self.outputs.remove(&v) {
            self.outputs.insert(transposed);
        }
        moved.into_iter().for_each(|place| self.f.set_use_at(place, transposed));
    }

    /// The uses of a value that need it turned, or those that do not.
    fn uses(&self, v: ValueId, needing: bool) -> Vec<Use> {
        self.f.value(v).uses().iter().copied().filter(|u| self.flow.needs(self.f, u) == needing).collect()
    }

    fn set(&mut self, op: OpId, name: &'static str, value: Const) {
        let base = self.f.op(op).outputs().first().map_or(name, |&v| self.f.value(v).name.as_str());
        let made = format!("{base}_{name}_0");
        let value = self.insert(Place::Before(op), NewOp::constant(made, value), op);
        let value = self.f.op(value).output();
        self.f.set_arg(op, name, 0, value);
    }

    /// Gives the op an operand in the layout before the transpose. The first op that needs it makes it for all.
    fn unturn(&mut self, op: OpId, v: ValueId, operand: &Operand, order: usize) -> Result<(), PassError> {
        let made = match self.unturned.get(&(v, order)) {
            Some(&made) => made,
            None => {
                let axes = &self.flow.orders.get(order).axes;
                let name = self.f.value(v).name.clone();
                let new = match self.f.const_value(v).and_then(Const::as_data) {
                    Some(data) => {
                        let data = moved(self.f, data, operand, axes)?;
                        NewOp::constant(format!("{name}_transposed"), Const::Tensor(data))
                    }
                    None => self.reshape(op, v, &unturned(axes, &operand.shape), format!("{name}_reshaped"))?,
                };
                let new = self.insert(Place::Before(op), new, op);
                let new = self.f.op(new).output();
                self.unturned.insert((v, order), new);
                new
            }
        };
        self.f.set_arg(op, operand.name, operand.arg, made);
        Ok(())
    }

    fn reshape(&mut self, op: OpId, v: ValueId, to: &[usize], name: String) -> Result<NewOp, PassError> {
        let numbers: Option<Vec<i32>> = to.iter().map(|&n| i32::try_from(n).ok()).collect();
        let numbers = numbers.ok_or_else(|| PassError::unsupported(format!("an extent of {to:?} is no int32")))?;
        let dtype = self.f.ty(v).dtype().ok_or_else(|| PassError::unsupported("an operand is no tensor"))?;
        let shape = NewOp::constant(format!("{name}_shape_0"), Const::int32s(&numbers));
        let shape = self.insert(Place::Before(op), shape, op);
        let shape = self.f.op(shape).output();
        Ok(NewOp::new(OpKind::Reshape).input("x", v).input("shape", shape).output(name, Type::known(dtype, to)))
    }

    /// Makes an op that comes from where `from` comes from.
    fn insert(&mut self, place: Place, new: NewOp, from: OpId) -> OpId {
        let mut origin: Origin = self.f.op(from).origin.clone();
        origin.touch(&self.cx.id);
        self.f.insert(place, new.origin(origin))
    }
}

/// A constant in the layout before the transpose.
fn moved(f: &Function, data: &Data, operand: &Operand, axes: &[usize]) -> Result<Data, PassError> {
    let fault = || PassError::unsupported(format!("a constant of {} cannot be transposed", data.dtype()));
    let full = data.reshaped(&operand.shape).ok_or_else(fault)?;
    let to = unturned(axes, &operand.shape);
    if keeps_order(axes, &operand.shape) {
        return full.reshaped(&to).ok_or_else(fault);
    }
    let back: Vec<i32> = unturned(axes, &(0..axes.len()).collect::<Vec<_>>()).into_iter().map(|a| a as i32).collect();
    let (x, perm) = (Const::Tensor(full), Const::int32s(&back));
    let (x_type, perm_type) = (x.ty(), perm.ty());
    let mut args = OpArgs::new(OpKind::Transpose, f.opset);
    let arg = |ty, value| [Arg::new(ty, Some(value))].into_iter().collect();
    args.inputs.extend([("x", arg(&x_type, &x)), ("perm", arg(&perm_type, &perm))]);
    match evaluate(&args).map_err(|e| PassError::unsupported(e.to_string()))?.pop() {
        Some(Const::Tensor(moved)) => Ok(moved),
        _ => Err(fault()),
    }
}
