//! Which values show the same elements, and which of them a write has made stale.
//!
//! Values over one storage form a group. Within it, those that show the same elements in the same places form a
//! class: a write to one is a write to all, and later uses of any of them become the written value. Every other
//! class of the group that may overlap is stale after the write, until it is viewed anew.

use std::collections::BTreeMap;

use crate::graph::{Graph, TensorMeta, ValueId};
use crate::sym::SymInt;

#[derive(Default)]
pub(super) struct Aliases {
    /// By value.
    members: Vec<Option<Member>>,
    classes: Vec<Class>,
    /// The classes of each storage.
    storages: Vec<Vec<usize>>,
    /// What each node that writes was called before it became functional.
    targets: BTreeMap<usize, String>,
}

#[derive(Clone, Copy)]
struct Member {
    class: usize,
    /// The class's epoch when the value was made.
    epoch: usize,
}

struct Class {
    storage: usize,
    /// A value of it, for its geometry; none where it is not sure to be a view, and then nothing joins it.
    geometry: Option<ValueId>,
    /// Its latest value.
    current: ValueId,
    /// Grows with each write.
    epoch: usize,
    /// The last node that wrote to it or to what it shows.
    writer: Option<usize>,
    stale: bool,
}

impl Aliases {
    /// A value with elements of its own.
    pub(super) fn fresh(&mut self, v: ValueId) {
        let storage = self.storages.len();
        self.storages.push(Vec::new());
        self.new_class(v, storage, Some(v));
    }

    /// A value that shows elements of `source`; `sure`: and is no copy.
    pub(super) fn view(&mut self, graph: &Graph, v: ValueId, source: ValueId, sure: bool) {
        let Some(storage) = self.class_of(source).map(|c| self.classes[c].storage) else {
            return self.fresh(v);
        };
        if !sure {
            return self.new_class(v, storage, None);
        }
        let same = |c: &&usize| {
            let known = self.classes[**c].geometry.and_then(|g| graph.tensor(g));
            known.zip(graph.tensor(v)).is_some_and(|(a, b)| same_geometry(a, b))
        };
        match self.storages[storage].iter().find(same).copied() {
            None => self.new_class(v, storage, Some(v)),
            Some(c) => {
                let class = &mut self.classes[c];
                if class.stale {
                    class.stale = false;
                    class.epoch += 1;
                    class.current = v;
                }
                let member = Member { class: c, epoch: class.epoch };
                self.set(v, member);
            }
        }
    }

    /// `y` is what `x` holds after the node at `at`, then called `target`, has written to it.
    pub(super) fn write(&mut self, graph: &Graph, x: ValueId, y: ValueId, at: usize, target: String) {
        self.targets.insert(at, target);
        let Some(c) = self.class_of(x) else {
            return self.fresh(y);
        };
        let (storage, written) = (self.classes[c].storage, self.classes[c].geometry);
        for other in self.storages[storage].clone() {
            let class = &mut self.classes[other];
            let shown = class.geometry.zip(written);
            let apart =
                shown.and_then(|(a, b)| graph.tensor(a).zip(graph.tensor(b))).is_some_and(|(a, b)| disjoint(a, b));
            if other != c && !apart {
                class.stale = true;
                class.writer = Some(at);
            }
        }
        let class = &mut self.classes[c];
        class.epoch += 1;
        class.current = y;
        class.writer = Some(at);
        let member = Member { class: c, epoch: class.epoch };
        self.set(y, member);
    }

    /// The value that now holds what `v` showed; else the node whose write made it stale.
    pub(super) fn resolve(&self, v: ValueId) -> Result<ValueId, usize> {
        let Some(m) = self.member(v) else { return Ok(v) };
        let class = &self.classes[m.class];
        match class.writer {
            Some(writer) if class.stale => Err(writer),
            _ if m.epoch < class.epoch => Ok(class.current),
            _ => Ok(v),
        }
    }

    /// The last node that wrote to the elements of `v`.
    pub(super) fn writer(&self, v: ValueId) -> Option<usize> {
        self.classes[self.class_of(v)?].writer
    }

    /// What the node at `at`, which writes, was called.
    pub(super) fn target(&self, at: usize) -> &str {
        self.targets.get(&at).map_or("", String::as_str)
    }

    fn member(&self, v: ValueId) -> Option<Member> {
        self.members.get(v.index()).copied().flatten()
    }

    fn class_of(&self, v: ValueId) -> Option<usize> {
        self.member(v).map(|m| m.class)
    }

    fn new_class(&mut self, v: ValueId, storage: usize, geometry: Option<ValueId>) {
        let class = self.classes.len();
        self.classes.push(Class { storage, geometry, current: v, epoch: 0, writer: None, stale: false });
        self.storages[storage].push(class);
        self.set(v, Member { class, epoch: 0 });
    }

    fn set(&mut self, v: ValueId, m: Member) {
        if self.members.len() <= v.index() {
            self.members.resize(v.index() + 1, None);
        }
        self.members[v.index()] = Some(m);
    }
}

/// Do two views of one storage surely show the same elements in the same places?
pub(super) fn same_geometry(a: &TensorMeta, b: &TensorMeta) -> bool {
    let same = |a: &[SymInt], b: &[SymInt]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
    a.dtype == b.dtype
        && a.storage_offset.same(&b.storage_offset)
        && same(&a.sizes, &b.sizes)
        && same(&a.strides, &b.strides)
}

/// Do two views of one storage surely share no element?
fn disjoint(a: &TensorMeta, b: &TensorMeta) -> bool {
    if a.dtype.size() != b.dtype.size() {
        return false;
    }
    match (stretch(a), stretch(b)) {
        (Some((a0, a1)), Some((b0, b1))) => a1 < b0 || b1 < a0 || boxes_apart(a, b) == Some(true),
        _ => false,
    }
}

/// Two boxes of one larger tensor, as `split` gives them: same strides, the second so many steps from the first in
/// each dimension. `None` where they are no such boxes.
fn boxes_apart(a: &TensorMeta, b: &TensorMeta) -> Option<bool> {
    let known = |list: &[SymInt]| list.iter().map(SymInt::known).collect::<Option<Vec<i64>>>();
    let (strides, other) = (known(&a.strides)?, known(&b.strides)?);
    let (first, second) = if a.storage_offset.known()? <= b.storage_offset.known()? { (a, b) } else { (b, a) };
    let (n, m) = (known(&first.sizes)?, known(&second.sizes)?);
    if strides != other || n.len() != strides.len() || m.len() != strides.len() || strides.iter().any(|&s| s <= 0) {
        return None;
    }
    let mut order: Vec<usize> = (0..strides.len()).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(strides[d]));
    let mut left = second.storage_offset.known()?.checked_sub(first.storage_offset.known()?)?;
    let mut apart = false;
    let mut reach = Vec::new();
    for &d in &order {
        let steps = left / strides[d];
        left -= steps.checked_mul(strides[d])?;
        apart |= steps >= n[d];
        reach.push((strides[d], n[d].max(steps.checked_add(m[d])?)));
    }
    // The steps say where the boxes lie only when the dimensions nest, each stride past all that the inner ones reach.
    let mut inner = 0i64;
    for (stride, extent) in reach.into_iter().rev() {
        if stride <= inner {
            return None;
        }
        inner = inner.checked_add(extent.checked_sub(1)?.max(0).checked_mul(stride)?)?;
    }
    (left == 0).then_some(apart)
}

/// First and last element in the storage.
fn stretch(t: &TensorMeta) -> Option<(i64, i64)> {
    let first = t.storage_offset.known()?;
    let last = t.sizes.iter().zip(&t.strides).try_fold(first, |at, (size, stride)| {
        let steps = size.known()?.checked_sub(1)?.max(0);
        at.checked_add(steps.checked_mul(stride.known()?)?)
    })?;
    Some((first, last))
}

/// Can `t` be given this shape without moving elements? `None` where symbols leave it open.
pub(super) fn can_view(t: &TensorMeta, shape: &[SymInt]) -> Option<bool> {
    if is_contiguous(t) {
        return Some(true);
    }
    let known = |list: &[SymInt]| list.iter().map(SymInt::known).collect::<Option<Vec<i64>>>();
    let (sizes, strides, mut wanted) = (known(&t.sizes)?, known(&t.strides)?, known(shape)?);
    if sizes.contains(&0) {
        return Some(true);
    }
    // Stretches of dimensions that lie one within the other, innermost first: each must be made of whole new dimensions.
    let mut dims = sizes.into_iter().zip(strides).filter(|(n, _)| *n != 1).rev().peekable();
    while let Some((mut count, inner)) = dims.next() {
        while let Some(&(n, stride)) = dims.peek() {
            if inner.checked_mul(count)? != stride {
                break;
            }
            count = count.checked_mul(n)?;
            dims.next();
        }
        let mut left = count;
        while left > 1 {
            let n = wanted.pop().unwrap_or(0);
            if n == 0 || left % n != 0 {
                return Some(false);
            }
            left /= n;
        }
    }
    Some(true)
}

fn is_contiguous(t: &TensorMeta) -> bool {
    let mut expected = coremill_tensor::Dim::Known(1);
    t.sizes.len() == t.strides.len()
        && t.sizes.iter().zip(&t.strides).rev().all(|(size, stride)| {
            let fits = size.known() == Some(1) || stride.dim().same(&expected) == Some(true);
            expected = expected.mul(&size.dim());
            fits
        })
}
