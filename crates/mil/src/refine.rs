//! Symbols for unknown extents.
//!
//! A file spells every extent that is not a number `?`, so two extents that are the same once are no longer known
//! to be. [`refine`] gives each unknown extent of a function's inputs a symbol of its own and infers types again, op by
//! op, so that passes see which extents are the same. Writers spell symbols `?` again.
//!
//! It changes no op and no value, only types; and a type only where an extent becomes symbolic: a declared number
//! stays, and where inference fails, or contradicts what is declared, the declared type stays.

use std::collections::BTreeSet;

use coremill_tensor::Dim;

use crate::{BlockId, Function, Program, Type, infer_op};

/// Gives symbols to the unknown extents of the inputs of all functions and carries them through the program. Returns
/// how many symbols it made.
pub fn refine(program: &mut Program) -> usize {
    program.functions.values_mut().map(refine_function).sum()
}

fn refine_function(f: &mut Function) -> usize {
    let mut names = Fresh { taken: symbols_of(f), next: 0 };
    let mut made = 0;
    for v in f.inputs().to_vec() {
        let mut ty = f.ty(v).clone();
        let Type::Tensor(tensor) = &mut ty else { continue };
        let mut unknown = 0;
        for d in tensor.shape.dims_mut().iter_mut().filter(|d| **d == Dim::Unknown) {
            *d = Dim::symbol(&names.fresh());
            unknown += 1;
        }
        if unknown > 0 {
            f.set_type(v, ty);
            made += unknown;
        }
    }
    if made > 0 {
        refine_block(f, f.body());
    }
    made
}

/// Names that no symbol of the function has.
struct Fresh {
    taken: BTreeSet<String>,
    next: usize,
}

impl Fresh {
    fn fresh(&mut self) -> String {
        loop {
            let name = format!("is{}", self.next);
            self.next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn symbols_of(f: &Function) -> BTreeSet<String> {
    let mut taken = BTreeSet::new();
    for &v in f.inputs() {
        for d in f.ty(v).shape().into_iter().flat_map(|s| s.iter()) {
            if let Dim::Sym(e) = d {
                taken.extend(e.symbols().iter().map(|s| s.to_string()));
            }
        }
    }
    taken
}

/// Nested blocks first: what an op gives may follow from what its blocks give. What blocks take stays as declared,
/// since a loop may change it from turn to turn.
fn refine_block(f: &mut Function, block: BlockId) {
    for op in f.ops_in(block).collect::<Vec<_>>() {
        for b in f.op(op).blocks().to_vec() {
            refine_block(f, b);
        }
        let outputs = f.op(op).outputs().to_vec();
        if outputs.iter().all(|&v| is_settled(f.ty(v))) {
            continue;
        }
        let Ok(inferred) = infer_op(f, op) else { continue };
        for (&v, inferred) in outputs.iter().zip(&inferred) {
            if let Some(better) = merged(f.ty(v), inferred) {
                f.set_type(v, better);
            }
        }
    }
}

/// Is there nothing to learn?
fn is_settled(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.shape.is_known(),
        _ => true,
    }
}

/// The declared type with what inference knows of its unknown extents; `None` when that is nothing, or contradicts it.
fn merged(declared: &Type, inferred: &Type) -> Option<Type> {
    if !declared.compatible(inferred) {
        return None;
    }
    let (Type::Tensor(d), Type::Tensor(i)) = (declared, inferred) else { return None };
    let mut out = d.clone();
    let mut changed = false;
    for (d, i) in out.shape.dims_mut().iter_mut().zip(i.shape.iter()) {
        if *d == Dim::Unknown && matches!(i, Dim::Sym(_)) {
            *d = i.clone();
            changed = true;
        }
    }
    changed.then_some(Type::Tensor(out))
}
