//! Attributes: constants by name.
//!
//! A program has an attribute for each constant and hardly any others, so they are kept as one short sorted list: a
//! third of the memory of a hash map, and one allocation. Adding attributes one by one in another order than by name
//! costs the square of their number; collecting them does not.

use std::borrow::Cow;

use crate::Const;

/// The attributes of an op, a block, a function or a program, ordered by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(Vec<(Cow<'static, str>, Const)>);

impl Attributes {
    /// No attributes.
    pub const fn new() -> Attributes {
        Attributes(Vec::new())
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(n, _)| n.as_ref().cmp(name))
    }

    /// The name of a constant's value is never kept as a copy: there are as many of these as constants.
    fn shared(name: Cow<'static, str>) -> Cow<'static, str> {
        if name == "val" { Cow::Borrowed("val") } else { name }
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Const> {
        self.find(name).ok().map(|at| &self.0[at].1)
    }

    /// Is there one of this name?
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Sets the attribute of this name, and returns what it was.
    pub fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: Const) -> Option<Const> {
        let name = Attributes::shared(name.into());
        match self.find(&name) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                // Most ops with attributes have exactly one.
                self.0.reserve_exact(1);
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Takes the attribute of this name away.
    pub fn remove(&mut self, name: &str) -> Option<Const> {
        self.find(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Const)> {
        self.0.iter().map(|(n, c)| (n.as_ref(), c))
    }

    /// The values, by name.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Const> {
        self.0.iter().map(|(_, c)| c)
    }
}

impl<N: Into<Cow<'static, str>>> Extend<(N, Const)> for Attributes {
    /// Sets attributes; of several with one name the last holds.
    fn extend<I: IntoIterator<Item = (N, Const)>>(&mut self, all: I) {
        self.0.extend(all.into_iter().map(|(n, c)| (Attributes::shared(n.into()), c)));
        // Stable, so that the last of a name stays the last; reversed to keep that one.
        self.0.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.0.reverse();
        self.0.dedup_by(|(later, _), (kept, _)| later == kept);
        self.0.reverse();
    }
}

impl<N: Into<Cow<'static, str>>> FromIterator<(N, Const)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, Const)>>(all: I) -> Attributes {
        let mut attributes = Attributes::new();
        attributes.extend(all);
        attributes
    }
}

impl<N: Into<Cow<'static, str>>, const COUNT: usize> From<[(N, Const); COUNT]> for Attributes {
    fn from(all: [(N, Const); COUNT]) -> Attributes {
        all.into_iter().collect()
    }
}

impl std::ops::Index<&str> for Attributes {
    type Output = Const;

    /// The attribute of this name.
    ///
    /// # Panics
    /// When there is none.
    fn index(&self, name: &str) -> &Const {
        self.get(name).unwrap_or_else(|| panic!("no attribute `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_by_name_and_the_last_of_a_name_holds() {
        let mut all: Attributes = [("b", 1), ("a", 2), ("b", 3)].map(|(n, v)| (n, Const::int32(v))).into();
        assert_eq!(all.iter().map(|(n, c)| (n, c.as_i64())).collect::<Vec<_>>(), [("a", Some(2)), ("b", Some(3))]);
        assert_eq!(all.insert("a", Const::int32(4)), Some(Const::int32(2)));
        all.extend([("c", Const::int32(5)), ("a", Const::int32(6))]);
        assert_eq!((all.len(), all["a"].as_i64(), all["c"].as_i64()), (3, Some(6), Some(5)));
        assert_eq!(all.remove("b"), Some(Const::int32(3)));
        assert!(!all.contains_key("b") && all.get("z").is_none());
    }
}
