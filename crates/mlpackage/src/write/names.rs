//! Names for everything in a function: each once, the signature as it is.

use std::collections::HashMap;
use std::collections::HashSet;

use coremill_mil::{Def, Function, OpId, ValueId};

/// The names of a function's values and ops, and the outputs that need an op of their own.
pub(crate) struct Names {
    values: Vec<String>,
    ops: Vec<String>,
    aliases: Vec<(String, ValueId)>,
}

#[derive(Default)]
struct Pool {
    taken: HashSet<String>,
    /// The next number to try after a name, so that many equal wishes cost no search each.
    next: HashMap<String, u64>,
}

impl Pool {
    fn claim(&mut self, wish: &str) -> String {
        if self.taken.insert(wish.to_owned()) {
            return wish.to_owned();
        }
        let next = self.next.entry(wish.to_owned()).or_default();
        loop {
            let name = format!("{wish}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
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
        let mut names = Names { values: vec![String::new(); f.value_capacity()], ops: Vec::new(), aliases };
        names.ops.resize(f.op_capacity(), String::new());
        let mut op_pool = Pool::default();
        for op in f.all_ops() {
            let node = f.op(op);
            let nested = node.blocks().iter().flat_map(|&b| f.block(b).inputs());
            for &v in nested.chain(node.outputs()) {
                let value = f.value(v);
                let wish = match (&value.name, value.def()) {
                    (name, Def::Op { .. }) if name.is_empty() => node.type_name(),
                    (name, Def::BlockInput { .. }) if name.is_empty() => "x",
                    (name, _) => name,
                };
                names.values[v.index()] = match fixed[v.index()].take() {
                    Some(name) => name,
                    None => pool.claim(wish),
                };
            }
            let first = node.outputs().first().map(|v| names.values[v.index()].clone());
            let wish = node.name.clone().or(first).unwrap_or_else(|| node.type_name().to_owned());
            names.ops[op.index()] = op_pool.claim(&wish);
        }
        for &v in f.inputs() {
            names.values[v.index()] = fixed[v.index()].take().unwrap_or_default();
        }
        Ok(names)
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
