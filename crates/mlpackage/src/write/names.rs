//! Names for everything in a function: each once, the signature as it is.

use std::collections::HashMap;
use std::collections::HashSet;

use coremill_mil::{BlockId, Function, OpId, ValueId};

/// The names of a function's values and ops, and the outputs that need an op of their own.
pub(crate) struct Names {
    values: Vec<String>,
    ops: Vec<String>,
    aliases: Vec<(String, ValueId)>,
}

/// Names in scope. A nested block sees the names around it; blocks side by side may use the same ones.
#[derive(Default)]
struct Pool {
    taken: HashSet<String>,
    /// What was taken, in order, so that the end of a block frees its names.
    log: Vec<String>,
    /// The next number to try after a name, so that many equal wishes cost no search each.
    next: HashMap<String, u64>,
}

impl Pool {
    fn claim(&mut self, wish: &str) -> String {
        let mut name = wish.to_owned();
        while self.taken.contains(&name) {
            let next = self.next.entry(wish.to_owned()).or_default();
            name = format!("{wish}_{next}");
            *next += 1;
        }
        self.taken.insert(name.clone());
        self.log.push(name.clone());
        name
    }

    fn free_from(&mut self, mark: usize) {
        for name in self.log.drain(mark.min(self.log.len())..) {
            self.taken.remove(&name);
        }
    }
}

impl Names {
    /// Names for `f`.
    ///
    /// # Errors
    /// When the signature itself is ambiguous: two inputs of one name, two values for one output name, or an
    /// output with the name of an input that it is not.
    pub(crate) fn new(f: &Function) -> Result<Names, String> {
        let mut fixed: Vec<Option<String>> = vec![None; f.value_capacity()];
        let mut pool = Pool::default();
        let mut by_name: HashMap<&str, ValueId> = HashMap::new();
        for &v in f.inputs() {
            let name = f.value(v).name.as_str();
            if by_name.insert(name, v).is_some() {
                return Err(format!("two inputs are called `{name}`; rename one"));
            }
            fixed[v.index()] = Some(pool.claim(name));
        }
        let mut aliases = Vec::new();
        for (name, v) in f.output_names().iter().zip(f.outputs()) {
            match by_name.insert(name, v) {
                Some(old) if old == v => {}
                Some(_) => return Err(format!("two inputs or outputs are called `{name}`; rename one")),
                None if fixed[v.index()].is_none() => fixed[v.index()] = Some(pool.claim(name)),
                // The value has a name already, as an input or as another output: an `identity` carries this one.
                None => aliases.push((pool.claim(name), v)),
            }
        }
        let values = fixed.into_iter().map(Option::unwrap_or_default).collect();
        let mut names = Names { values, ops: vec![String::new(); f.op_capacity()], aliases };
        names.block(f, f.body(), &mut pool, &mut Pool::default());
        Ok(names)
    }

    /// Names what a block defines, then what its nested blocks do. What has a name already keeps it.
    fn block(&mut self, f: &Function, b: BlockId, pool: &mut Pool, op_pool: &mut Pool) {
        for &v in f.block(b).inputs() {
            self.value(v, &f.value(v).name, "x", pool);
        }
        for op in f.ops_in(b) {
            let node = f.op(op);
            for &v in node.outputs() {
                self.value(v, &f.value(v).name, node.type_name(), pool);
            }
            let first = node.outputs().first().map(|&v| self.of(v));
            let wish = node.name.as_deref().or(first).unwrap_or_else(|| node.type_name());
            self.ops[op.index()] = op_pool.claim(wish);
        }
        for op in f.ops_in(b) {
            for &nested in f.op(op).blocks() {
                let mark = pool.log.len();
                self.block(f, nested, pool, op_pool);
                pool.free_from(mark);
            }
        }
    }

    fn value(&mut self, v: ValueId, wish: &str, default: &str, pool: &mut Pool) {
        if let Some(name) = self.values.get_mut(v.index()).filter(|n| n.is_empty()) {
            *name = pool.claim(if wish.is_empty() { default } else { wish });
        }
    }

    pub(crate) fn of(&self, v: ValueId) -> &str {
        self.values.get(v.index()).map_or("", String::as_str)
    }

    pub(crate) fn of_op(&self, op: OpId) -> &str {
        self.ops.get(op.index()).map_or("", String::as_str)
    }

    /// Outputs that are another name for a value: name, value.
    pub(crate) fn aliases(&self) -> &[(String, ValueId)] {
        &self.aliases
    }
}
