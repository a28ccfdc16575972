//! `common::const_deduplication`: one `const` op for equal large constants, one `constexpr_*` op for equal weights.
//!
//! Within each block, a `const` of at least `const_threshold` elements whose value equals that of an earlier one
//! is dropped and its users take the earlier one; then the same for `constexpr_*` ops with the same inputs. Equal
//! means: the same dtype, shape and, up to a denormal of the dtype, the same elements. A constant that is an
//! output of its block stays.

use std::hash::{Hash, Hasher};

use coremill_mil::{BlockId, Const, Flags, Function, OpId, Program, ValueId, schema_of};
use coremill_tensor::{DType, Data};
use rustc_hash::{FxHashMap, FxHasher};

use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};

/// Every size: sharing is never wrong, and it is what coremltools is recorded to do, though it documents 100.
const DEFAULT_THRESHOLD: u64 = 1;

/// Elements that go into the key under which candidates are found; all are compared afterwards.
const KEY_ELEMENTS: usize = 100;

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::const_deduplication",
    summary: "Shares equal large constants and equal compressed weights",
    options: &[OptionSpec {
        name: "const_threshold",
        kind: OptionKind::Count,
        summary: "Leave constants of fewer elements than this alone (1: none)",
    }],
    spec: include_str!("../../specs/common/const_deduplication.mil"),
    make: |options: &Options| {
        let threshold = options.count("const_threshold").unwrap_or(DEFAULT_THRESHOLD);
        Box::new(ConstDeduplication { threshold: usize::try_from(threshold).unwrap_or(usize::MAX) })
    },
};

struct ConstDeduplication {
    threshold: usize,
}

impl Pass for ConstDeduplication {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            for block in f.all_blocks() {
                self.share_consts(f, block, cx);
                self.share_constexprs(f, block, cx);
            }
        }
        Ok(())
    }
}

impl ConstDeduplication {
    /// A flag is a parameter rather than data: like a text, it stays with its op.
    fn is_large(&self, d: &Data) -> bool {
        d.len() >= self.threshold && !(d.dtype() == DType::Bool && d.rank() == 0)
    }

    fn share_consts(&self, f: &mut Function, block: BlockId, cx: &mut PassContext) {
        let mut seen: FxHashMap<(DType, u64), Vec<OpId>> = FxHashMap::default();
        for op in f.ops_in(block).collect::<Vec<_>>() {
            cx.visited += 1;
            let Some(Const::Tensor(d)) = f.op(op).const_value() else { continue };
            if !self.is_large(d) {
                continue;
            }
            let alike = seen.entry((d.dtype(), key(d))).or_default();
            let first = alike
                .iter()
                .copied()
                .find(|&first| f.op(first).const_value().and_then(Const::as_data).is_some_and(|e| same(e, d)));
            match first {
                Some(first) => share(f, op, first, cx),
                None => alike.push(op),
            }
        }
    }

    fn share_constexprs(&self, f: &mut Function, block: BlockId, cx: &mut PassContext) {
        let mut seen: FxHashMap<String, OpId> = FxHashMap::default();
        for op in f.ops_in(block).collect::<Vec<_>>() {
            if !schema_of(f.kind(op)).is_some_and(|s| s.flags.has(Flags::CONSTEXPR)) {
                continue;
            }
            let key = self.constexpr_key(f, op);
            match seen.get(&key) {
                Some(&first) => share(f, op, first, cx),
                None => {
                    seen.insert(key, op);
                }
            }
        }
    }

    /// The op's type and inputs as text: a large constant by the op it was shared to, a small one by its value.
    fn constexpr_key(&self, f: &Function, op: OpId) -> String {
        let op = f.op(op);
        let mut key = op.type_name().to_owned();
        let mut part = |name: &str, id: Option<ValueId>, value: Option<&Const>| {
            let known = match (value, id) {
                (Some(Const::Tensor(d)), Some(id)) if self.is_large(d) => format!("{id:?}"),
                (Some(Const::Tensor(d)), _) => format!("{}{:?}{:?}", d.dtype(), d.shape(), d.bytes()),
                (Some(other), _) => format!("{other:?}"),
                (None, id) => format!("{id:?}"),
            };
            key.push_str(&format!(";{name}={known}"));
        };
        for (name, args) in op.inputs() {
            args.for_each(|v| part(name, Some(v), f.const_value(v)));
        }
        op.attributes.iter().for_each(|(name, value)| part(name, None, Some(value)));
        key
    }
}

fn share(f: &mut Function, duplicate: OpId, first: OpId, cx: &mut PassContext) {
    let (old, new) = (f.op(duplicate).output(), f.op(first).output());
    if f.is_block_output(old) || f.ty(old) != f.ty(new) || cx.is_exhausted() {
        return;
    }
    f.replace_uses(old, new);
    f.erase(duplicate);
    cx.rewrites += 1;
}

/// A hash of shape and leading elements.
fn key(d: &Data) -> u64 {
    let mut h = FxHasher::default();
    d.shape().hash(&mut h);
    d.head(d.dtype().byte_len(KEY_ELEMENTS).unwrap_or(usize::MAX)).hash(&mut h);
    h.finish()
}

/// Equal up to the least difference the dtype shows near zero.
fn same(a: &Data, b: &Data) -> bool {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return false;
    }
    if a == b {
        return true;
    }
    let tolerance = match a.dtype() {
        DType::Fp16 => 6e-8,
        DType::Fp32 => 1e-12,
        _ => return false,
    };
    let near = |(x, y): (&f64, &f64)| x == y || (x - y).abs() <= tolerance;
    match (a.to_f64s(), b.to_f64s()) {
        (Some(a), Some(b)) => a.iter().zip(&b).all(near),
        _ => false,
    }
}
