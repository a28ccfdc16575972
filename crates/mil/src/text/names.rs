//! Names for text: every value of a function gets an identifier that no other value has.
//!
//! The function's inputs come first, then its outputs, so that the public names win; a clash gets `_1`, `_2`, ...
//! The result depends on the function alone, and costs time linear in it.

use rustc_hash::FxHashMap;

use crate::{Function, ValueId};

/// The identifiers of a function's values.
#[derive(Clone, Debug)]
pub struct Names {
    by_value: Vec<Option<String>>,
}

/// Hands out each identifier once.
#[derive(Default)]
struct Pool {
    /// Every name taken, with the last suffix tried on it.
    taken: FxHashMap<String, u32>,
}

impl Pool {
    /// The identifier nearest to `wish` that is free.
    fn take(&mut self, wish: &str) -> String {
        let base = identifier(wish);
        let Some(tried) = self.taken.get(&base) else {
            self.taken.insert(base.clone(), 0);
            return base;
        };
        let mut n = *tried;
        let name = loop {
            n += 1;
            let name = format!("{base}_{n}");
            if !self.taken.contains_key(&name) {
                break name;
            }
        };
        self.taken.insert(base, n);
        self.taken.insert(name.clone(), 0);
        name
    }
}

impl Names {
    /// Names the values of a function.
    pub fn of(f: &Function) -> Names {
        let mut pool = Pool::default();
        let mut names = Names { by_value: vec![None; f.value_capacity()] };
        for &v in f.inputs() {
            names.set(v, pool.take(&f.value(v).name));
        }
        for (name, v) in f.output_names().iter().zip(f.outputs()) {
            // An output whose name is taken or is no identifier is written `name = value`.
            if names.by_value[v.index()].is_none() && is_identifier(name) && !pool.taken.contains_key(name) {
                names.set(v, pool.take(name));
            }
        }
        for op in f.all_ops() {
            let op = f.op(op);
            let inner = op.blocks().iter().flat_map(|&b| f.block(b).inputs());
            for &v in op.outputs().iter().chain(inner) {
                if names.by_value[v.index()].is_none() {
                    names.set(v, pool.take(&f.value(v).name));
                }
            }
        }
        names
    }

    fn set(&mut self, v: ValueId, name: String) {
        self.by_value[v.index()] = Some(name);
    }

    /// The identifier of a value. A value made after the names were has none and shows as `?`.
    pub fn get(&self, v: ValueId) -> &str {
        self.by_value.get(v.index()).and_then(Option::as_deref).unwrap_or("?")
    }
}

/// Is it an identifier of MIL text: a letter or `_`, then letters, digits and `_`?
pub(super) fn is_identifier(s: &str) -> bool {
    s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !s.starts_with(|c: char| c.is_ascii_digit())
        && !s.is_empty()
}

/// The identifier nearest to a name: other characters become `_`, and `var_` goes before a digit.
fn identifier(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        out.push_str("var_");
    }
    out.extend(name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }));
    out
}
