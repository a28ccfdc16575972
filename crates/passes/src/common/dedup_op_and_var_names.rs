//! `common::dedup_op_and_var_names`: within a function no two values and no two ops share a name.
//!
//! The first to have a name, in program order, keeps it; the next gets `NAME_1`, `NAME_2`, ... Names of values
//! and of ops are told apart. Inputs and outputs of the function keep their names, whatever else has them. What is
//! nested in an op is named before the op's own results, as in the peer.

use coremill_mil::{BlockId, Function, OpId, Program, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::dedup_op_and_var_names",
    summary: "Gives values and ops of a function names that no other has",
    options: &[],
    spec: include_str!("../../specs/common/dedup_op_and_var_names.mil"),
    make: |_: &Options| Box::new(DedupOpAndVarNames),
};

struct DedupOpAndVarNames;

impl Pass for DedupOpAndVarNames {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            dedup(f, cx);
        }
        Ok(())
    }
}

/// Names given out so far, with the last number tried for each base, so that many equal names stay cheap.
#[derive(Default)]
struct Names {
    taken: FxHashSet<String>,
    last: FxHashMap<String, usize>,
}

impl Names {
    fn claim(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let last = self.last.entry(name.to_owned()).or_default();
        loop {
            *last += 1;
            let candidate = format!("{name}_{last}");
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

enum Visit {
    Block(BlockId),
    Op(OpId),
    Results(OpId),
}

fn dedup(f: &mut Function, cx: &mut PassContext) {
    let (mut values, mut ops) = (Names::default(), Names::default());
    for &v in f.inputs() {
        values.taken.insert(f.value(v).name.clone());
    }
    let names: Vec<(ValueId, String)> = f.outputs().zip(f.output_names().iter().cloned()).collect();
    for (v, name) in names {
        // The value carries the public name, except an input that is also an output: it has its own.
        if !f.inputs().contains(&v) {
            f.set_name(v, name.clone());
        }
        values.taken.insert(name);
    }
    let mut stack = vec![Visit::Block(f.body())];
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::Block(b) => {
                if b != f.body() {
                    for v in f.block(b).inputs().to_vec() {
                        rename(f, v, &mut values, cx);
                    }
                }
                let mut inner: Vec<Visit> = f.ops_in(b).map(Visit::Op).collect();
                inner.reverse();
                stack.append(&mut inner);
            }
            Visit::Op(op) => {
                cx.visited += 1;
                stack.push(Visit::Results(op));
                stack.extend(f.op(op).blocks().iter().rev().map(|&b| Visit::Block(b)));
            }
            Visit::Results(op) => {
                if let Some(old) = f.op(op).name.clone() {
                    let new = ops.claim(&old);
                    if new != old {
                        *f.op_mut(op).name = Some(new);
                        cx.rewrites += 1;
                    }
                }
                for v in f.op(op).outputs().to_vec() {
                    if !f.is_function_output(v) {
                        rename(f, v, &mut values, cx);
                    }
                }
            }
        }
    }
}

fn rename(f: &mut Function, v: ValueId, names: &mut Names, cx: &mut PassContext) {
    let old = f.value(v).name.clone();
    let new = names.claim(&old);
    if new != old {
        f.set_name(v, new);
        cx.rewrites += 1;
    }
}
