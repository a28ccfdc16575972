//! A list of extents.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use crate::Dim;

/// A shape: its extents from the outermost in. A scalar has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(SmallVec<[Dim; 4]>);

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape::default()
    }

    /// A shape of known extents.
    pub fn known<T: Copy + Into<u64>>(dims: impl IntoIterator<Item = T>) -> Shape {
        dims.into_iter().map(|d| Dim::Known(d.into())).collect()
    }

    /// A shape of known extents, from sizes in memory.
    pub fn of(dims: &[usize]) -> Shape {
        dims.iter().map(|&d| Dim::from(d)).collect()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The extents as numbers, when all are known and fit.
    pub fn to_known(&self) -> Option<Vec<usize>> {
        self.0.iter().map(|d| d.known().and_then(|n| usize::try_from(n).ok())).collect()
    }

    /// Are all extents known?
    pub fn is_known(&self) -> bool {
        self.0.iter().all(Dim::is_known)
    }

    /// Number of elements, when all extents are known (or one is zero) and the product fits.
    pub fn elements(&self) -> Option<usize> {
        if self.0.iter().any(|d| d.known() == Some(0)) {
            return Some(0);
        }
        self.0.iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(d.known()?).ok()?))
    }

    /// Number of elements as an extent.
    pub fn element_dim(&self) -> Dim {
        self.0.iter().fold(Dim::Known(1), |n, d| n.mul(d))
    }

    /// Are the two surely the same shape?
    pub fn same(&self, other: &Shape) -> bool {
        self.rank() == other.rank() && self.iter().zip(other.iter()).all(|(a, b)| a.same(b) == Some(true))
    }

    /// May the two be the same shape, for all that is known?
    pub fn compatible(&self, other: &Shape) -> bool {
        self.rank() == other.rank() && self.iter().zip(other.iter()).all(|(a, b)| a.compatible(b))
    }

    /// The extents, to change.
    pub fn dims_mut(&mut self) -> &mut [Dim] {
        &mut self.0
    }

    /// Adds an innermost extent.
    pub fn push(&mut self, d: impl Into<Dim>) {
        self.0.push(d.into());
    }

    /// Inserts an extent before position `at` (at most the rank).
    pub fn insert(&mut self, at: usize, d: impl Into<Dim>) {
        self.0.insert(at, d.into());
    }

    /// Removes and returns the extent at `at` (below the rank).
    pub fn remove(&mut self, at: usize) -> Dim {
        self.0.remove(at)
    }

    /// `axis` counted from the front: `-rank..rank` to `0..rank`, `None` outside.
    pub fn axis(&self, axis: i64) -> Option<usize> {
        normalize_axis(axis, self.rank())
    }
}

/// `axis` in `-rank..rank` counted from the front.
pub(crate) fn normalize_axis(axis: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let a = if axis < 0 { axis.checked_add(rank)? } else { axis };
    (0..rank).contains(&a).then_some(a as usize)
}

impl Deref for Shape {
    type Target = [Dim];
    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl FromIterator<Dim> for Shape {
    fn from_iter<I: IntoIterator<Item = Dim>>(it: I) -> Shape {
        Shape(it.into_iter().collect())
    }
}

impl From<Vec<Dim>> for Shape {
    fn from(v: Vec<Dim>) -> Shape {
        Shape(v.into())
    }
}

impl<'a> IntoIterator for &'a Shape {
    type Item = &'a Dim;
    type IntoIter = std::slice::Iter<'a, Dim>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{d}")?;
        }
        f.write_str("]")
    }
}
