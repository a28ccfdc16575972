//! Ops by type.

use std::collections::BTreeMap;

use coremill_mil::Program;

/// How many ops of each type, by name.
pub type Histogram = BTreeMap<String, usize>;

/// The ops of all functions, nested ones included, by type.
pub fn op_histogram(program: &Program) -> Histogram {
    let mut h = Histogram::new();
    for f in program.functions.values() {
        for op in f.all_ops() {
            let name = f.op(op).type_name();
            match h.get_mut(name) {
                Some(n) => *n += 1,
                None => {
                    h.insert(name.to_owned(), 1);
                }
            }
        }
    }
    h
}
