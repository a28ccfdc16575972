//! Orders of axes, as `transpose` takes them, by number.

use coremill_mil::{Function, OpId, Type};
use coremill_tensor::Shape;
use rustc_hash::FxHashMap;

use crate::matching::const_ints;

/// The orders met so far. Equal orders have equal numbers.
#[derive(Debug, Default)]
pub(super) struct Orders {
    all: Vec<Order>,
    numbers: FxHashMap<Vec<usize>, usize>,
}

/// An order of axes: axis `i` of the result is axis `axes[i]` of the operand.
#[derive(Debug)]
pub(super) struct Order {
    /// The axes, counted from the front.
    pub axes: Vec<usize>,
    /// The number of the order that undoes this one.
    pub inverse: usize,
}

impl Orders {
    /// The order of this number.
    pub(super) fn get(&self, number: usize) -> &Order {
        &self.all[number]
    }

    /// The number of the order that a `transpose` has; `None` when it is not constant.
    pub(super) fn of(&mut self, f: &Function, transpose: OpId) -> Option<usize> {
        let perm = const_ints(f, transpose, "perm")?;
        let rank = i64::try_from(perm.len()).ok()?;
        let axis = |&p: &i64| usize::try_from(if p < 0 { p.checked_add(rank)? } else { p }).ok();
        let axes: Vec<usize> = perm.iter().map(axis).collect::<Option<_>>()?;
        if let Some(&number) = self.numbers.get(&axes) {
            return Some(number);
        }
        let back = inverse(&axes)?;
        let (number, of_back) = (self.all.len(), self.all.len() + usize::from(back != axes));
        self.numbers.insert(axes.clone(), number);
        self.all.push(Order { axes: axes.clone(), inverse: of_back });
        if of_back != number {
            self.numbers.insert(back.clone(), of_back);
            self.all.push(Order { axes: back, inverse: number });
        }
        Some(number)
    }
}

/// The order that undoes this one; `None` where an axis is missing or out of range.
fn inverse(axes: &[usize]) -> Option<Vec<usize>> {
    let mut back = vec![usize::MAX; axes.len()];
    for (i, &axis) in axes.iter().enumerate() {
        *back.get_mut(axis)? = i;
    }
    (!back.contains(&usize::MAX)).then_some(back)
}

/// What is listed by the axes of a turned value, listed by the axes that it has before the transpose.
pub(super) fn unturned<T: Clone>(axes: &[usize], listed: &[T]) -> Vec<T> {
    let mut out = listed.to_vec();
    for (&axis, item) in axes.iter().zip(listed) {
        if let Some(place) = out.get_mut(axis) {
            *place = item.clone();
        }
    }
    out
}

/// The type that a turned value has before the transpose.
pub(super) fn unturned_type(axes: &[usize], ty: &Type) -> Type {
    match ty.as_tensor() {
        Some(t) => Type::tensor(t.dtype, unturned(axes, &t.shape).into_iter().collect::<Shape>()),
        None => ty.clone(),
    }
}

/// Do the elements of a tensor of this shape keep their order in memory when its axes are renumbered? Asked as
/// coremltools does: at most one axis has an extent, or no axis that has one moves.
pub(super) fn keeps_order(axes: &[usize], shape: &[usize]) -> bool {
    let long = |&&n: &&usize| n != 1;
    shape.iter().filter(long).count() <= 1 || axes.iter().zip(shape).enumerate().all(|(i, (&a, &n))| n == 1 || a == i)
}
