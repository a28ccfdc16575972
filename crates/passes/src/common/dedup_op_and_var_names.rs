//! `common::dedup_op_and_var_names`: within a function no two values and no two ops share a name.
//!
//! The first to have a name, in program order, keeps it; the next gets `NAME_1`, `NAME_2`, ... Names of values
//! and of ops are told apart. Inputs and outputs of the function keep their names, whatever else has them. What is
//! nested in an op is named before the op's own results, as in the peer.

use std::borrow::Cow;

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
struct Names<'f> {
    taken: FxHashSet<Cow<'f, str>>,
    last: FxHashMap<&'f str, usize>,
}

impl<'f> Names<'f> {
    /// Takes a name. When it is taken already, gives the one to have instead.
    fn claim(&mut self, name: &'f str) -> Option<String> {
        if self.taken.insert(Cow::Borrowed(name)) {
            return None;
        }
        let last = self.last.entry(name).or_default();
        loop {
            *last += 1;
            let candidate = format!("{name}_{last}");
            if self.taken.insert(Cow::Owned(candidate.clone())) {
                return Some(candidate);
            }
        }
    }
}

enum Visit {
    Block(BlockId),
    Op(OpId),
    Results(OpId),
}

/// New names, in program order.
#[derive(Default)]
struct Renames {
    values: Vec<(ValueId, String)>,
    ops: Vec<(OpId, String)>,
}

fn dedup(f: &mut Function, cx: &mut PassContext) {
    let names: Vec<(ValueId, String)> = f.outputs().zip(f.output_names().iter().cloned()).collect();
    for (v, name) in names {
        // The value carries the public name, except an input that is also an output: it has its own.
        if !f.inputs().contains(&v) {
            f.set_name(v, name);
        }
    }
    let renames = renames(f, cx);
    cx.rewrites += (renames.values.len() + renames.ops.len()) as u64;
    for (v, name) in renames.values {
        f.set_name(v, name);
    }
    for (op, name) in renames.ops {
        *f.op_mut(op).name = Some(name);
    }
}

fn renames(f: &Function, cx: &mut PassContext) -> Renames {
    let (mut values, mut ops) = (Names::default(), Names::default());
    let inputs = f.inputs().iter().map(|&v| f.value(v).name.as_str());
    values.taken.extend(inputs.chain(f.output_names().iter().map(String::as_str)).map(Cow::Borrowed));
    let mut renames = Renames::default();
    let mut stack = vec![Visit::Block(f.body())];
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::Block(b) => {
                if b != f.body() {
                    let inputs = f.block(b).inputs().iter();
                    renames.values.extend(inputs.filter_map(|&v| Some((v, values.claim(&f.value(v).name)?))));
                }
                let at = stack.len();
                stack.extend(f.ops_in(b).map(Visit::Op));
                stack[at..].reverse();
            }
            Visit::Op(op) => {
                cx.visited += 1;
                stack.push(Visit::Results(op));
                stack.extend(f.op(op).blocks().iter().rev().map(|&b| Visit::Block(b)));
            }
            Visit::Results(op) => {
                renames.ops.extend(f.op(op).name.as_deref().and_then(|name| Some((op, ops.claim(name)?))));
                let results = f.op(op).outputs().iter().filter(|&&v| !f.is_function_output(v));
                renames.values.extend(results.filter_map(|&v| Some((v, values.claim(&f.value(v).name)?))));
            }
        }
    }
    renames
}
