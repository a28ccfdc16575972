//! `common::remove_redundant_ops`: an op that computes what an earlier one of its block has computed goes.
//!
//! Two ops are the same when they are of one kind, have the same attributes, and read for each parameter the same value, or
//! constants of fewer than 100 elements that are equal; larger constants are `common::const_deduplication`'s business.
//! Ops are numbered in program order, so that ops on equal results are found equal too, at the cost of a hash an op.
//!
//! Not touched: constants and compressed weights, ops with nested blocks, with other than one result, with state or random numbers, and a second
//! op whose result is an output of its block.

use std::hash::{Hash, Hasher};

use coremill_mil::{BlockId, Const, Flags, Function, OpId, OpKind, Program, ValueId, schema_of, version_of};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::remove_redundant_ops",
    summary: "Removes ops that compute what an earlier op has computed",
    options: &[],
    spec: include_str!("../../specs/common/remove_redundant_ops.mil"),
    make: |_: &Options| Box::new(RemoveRedundantOps),
};

/// Constants of as many elements, or more, are the same only when they are one value.
const LARGE: usize = 100;

struct RemoveRedundantOps;

impl Pass for RemoveRedundantOps {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            let equals = vec![None; f.value_capacity()];
            let mut seen = Seen { constants: FxHashMap::default(), equals, first: FxHashMap::default() };
            for block in f.all_blocks() {
                seen.first.clear();
                remove_in(f, block, &mut seen, cx);
            }
        }
        Ok(())
    }
}

/// What was met so far.
struct Seen {
    /// Small constants by their hash.
    constants: FxHashMap<u64, Vec<ValueId>>,
    /// For each constant, by its number, the first that is equal to it.
    equals: Vec<Option<ValueId>>,
    /// Results of the block's ops, by the hash of what the ops are.
    first: FxHashMap<u64, SmallVec<[ValueId; 1]>>,
}

fn remove_in(f: &mut Function, block: BlockId, seen: &mut Seen, cx: &mut PassContext) {
    for op in f.ops_in(block).collect::<Vec<_>>() {
        cx.visited += 1;
        if cx.is_exhausted() {
            return;
        }
        if !may_repeat(f, op) {
            continue;
        }
        let key = key_of(f, op, seen);
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        let hash = hasher.finish();
        let result = f.op(op).output();
        let alike = seen.first.get(&hash).cloned().unwrap_or_default();
        let same = |&v: &ValueId| f.producer(v).is_some_and(|earlier| key_of(f, earlier, seen) == key);
        let Some(earlier) = alike.into_iter().find(same) else {
            seen.first.entry(hash).or_default().push(result);
            continue;
        };
        if !f.is_block_output(result) && f.ty(earlier).compatible(f.ty(result)) {
            f.replace_uses(result, earlier);
            f.erase(op);
            cx.rewrites += 1;
        }
    }
}

/// What an op is: kind, attributes, and what it reads for each parameter, by the parameter's place in the definition.
type Key = (OpKind, String, SmallVec<[(u32, ValueId); 8]>);

fn may_repeat(f: &Function, op: OpId) -> bool {
    let pure = schema_of(f.kind(op)).is_some_and(|s| {
        let f = s.flags;
        f.has(Flags::PURE)
            && ![Flags::RANDOM, Flags::READS_STATE, Flags::WRITES_STATE, Flags::CONSTEXPR].iter().any(|&x| f.has(x))
    });
    pure && f.kind(op) != OpKind::Const && f.op(op).outputs().len() == 1 && f.op(op).blocks().is_empty()
}

fn key_of(f: &Function, op: OpId, seen: &mut Seen) -> Key {
    let attributes = &f.op(op).attributes;
    let attributes = if attributes.is_empty() { String::new() } else { format!("{attributes:?}") };
    let inputs = version_of(f.kind(op), f.opset).map_or(&[][..], |v| v.inputs);
    let mut read: SmallVec<[(u32, ValueId); 8]> = SmallVec::new();
    for (name, args) in f.op(op).inputs() {
        let place = inputs.iter().position(|i| i.name == name).unwrap_or(inputs.len()) as u32;
        for v in args {
            read.push((place, seen.number_of(f, v)));
        }
    }
    // By parameter; the order of a list parameter's arguments stays.
    read.sort_by_key(|r| r.0);
    (f.kind(op), attributes, read)
}

impl Seen {
    /// The first value that is the same as `v`: `v` itself, unless it is a small constant that an earlier one is equal to.
    fn number_of(&mut self, f: &Function, v: ValueId) -> ValueId {
        if f.producer_of(v, OpKind::Const).is_none() {
            return v;
        }
        if let Some(first) = self.equals[v.index()] {
            return first;
        }
        let first = self.first_equal(f, v);
        self.equals[v.index()] = Some(first);
        first
    }

    fn first_equal(&mut self, f: &Function, v: ValueId) -> ValueId {
        let Some(value) = f.const_value(v) else { return v };
        let mut hasher = FxHasher::default();
        match value {
            Const::Tensor(d) if d.len() >= LARGE => return v,
            Const::Tensor(d) => (d.dtype(), d.shape(), &d.bytes()[..]).hash(&mut hasher),
            Const::Strings(shape, texts) => (shape, texts).hash(&mut hasher),
            other => format!("{other:?}").hash(&mut hasher),
        }
        let alike = self.constants.entry(hasher.finish()).or_default();
        // Tensors are equal by their bytes, so that zeros of two signs are not.
        match alike.iter().find(|&&c| f.const_value(c) == Some(value)) {
            Some(&c) => c,
            None => {
                alike.push(v);
                v
            }
        }
    }
}
