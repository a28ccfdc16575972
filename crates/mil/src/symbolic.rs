//! Integers that are computed from extents, followed back to the extents.
//!
//! `shape(x)` is no constant where an extent of `x` is a symbol, yet its elements are known as expressions, and so
//! are those of what is cut from, joined with and computed on it. Type inference uses that to say which symbol an
//! extent of a `reshape` or `fill` is. It follows a fixed number of ops back, so it costs the same wherever it is
//! asked, and it never guesses: what it cannot follow is not known.

use std::cell::Cell;

use coremill_tensor::Dim;

use crate::{Const, Function, OpId, OpKind, ValueId};

/// Ops followed back; shapes are put together within a few.
const MAX_DEPTH: usize = 12;

/// Values looked at for one answer: a program may use one value any number of times, and so on upwards.
const MAX_VALUES: usize = 256;

/// Elements of a list of extents worth following.
const MAX_ELEMENTS: usize = 64;

/// The elements of an integer tensor of rank 0 or 1 as extents, where they follow from constants and extents.
/// A negative number is no extent, and not known.
pub fn extents_of(f: &Function, v: ValueId) -> Option<Vec<Dim>> {
    follow(f, v, MAX_DEPTH, &Cell::new(MAX_VALUES))
}

fn follow(f: &Function, v: ValueId, depth: usize, fuel: &Cell<usize>) -> Option<Vec<Dim>> {
    fuel.set(fuel.get().checked_sub(1)?);
    let ty = f.ty(v).as_tensor()?;
    if ty.rank() > 1 || !ty.dtype.is_int() || depth == 0 {
        return None;
    }
    let op = f.producer(v)?;
    let input = |name: &str| follow(f, f.op(op).arg(name)?, depth - 1, fuel);
    let found = match f.op(op).kind {
        OpKind::Const => known(f.op(op).const_value()?),
        OpKind::Shape => Some(f.ty(f.op(op).arg("x")?).shape()?.to_vec()),
        OpKind::Cast | OpKind::Identity | OpKind::ExpandDims | OpKind::Squeeze => input("x"),
        OpKind::Reshape => input("x").filter(|_| ty.shape.elements().is_some()),
        OpKind::Concat if f.const_arg(op, "interleave").and_then(Const::as_bool) != Some(true) => {
            let parts = f.op(op).args("values").map(|part| follow(f, part, depth - 1, fuel));
            Some(parts.collect::<Option<Vec<_>>>()?.concat())
        }
        OpKind::Gather => gathered(f, op, &input("x")?),
        OpKind::SliceByIndex => sliced(f, op, &input("x")?),
        OpKind::Add => pairwise(&input("x")?, &input("y")?, |a, b| a.add(b)),
        OpKind::Mul => pairwise(&input("x")?, &input("y")?, |a, b| a.mul(b)),
        _ => None,
    }?;
    (found.len() <= MAX_ELEMENTS).then_some(found)
}

fn known(c: &Const) -> Option<Vec<Dim>> {
    let d = c.as_data().filter(|d| d.len() <= MAX_ELEMENTS)?;
    d.to_i64s()?.into_iter().map(|n| u64::try_from(n).ok().map(Dim::Known)).collect()
}

fn pairwise(a: &[Dim], b: &[Dim], f: impl Fn(&Dim, &Dim) -> Dim) -> Option<Vec<Dim>> {
    match (a, b) {
        (a, b) if a.len() == b.len() => Some(a.iter().zip(b).map(|(a, b)| f(a, b)).collect()),
        (a, [b]) => Some(a.iter().map(|a| f(a, b)).collect()),
        ([a], b) => Some(b.iter().map(|b| f(a, b)).collect()),
        _ => None,
    }
}

/// A place of a list, from the back where negative.
fn place(i: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    usize::try_from(if i < 0 { i.checked_add(len)? } else { i }).ok()
}

fn gathered(f: &Function, op: OpId, from: &[Dim]) -> Option<Vec<Dim>> {
    let places = f.const_arg(op, "indices")?.as_i64s()?;
    places.into_iter().map(|i| from.get(place(i, from.len())?).cloned()).collect()
}

fn sliced(f: &Function, op: OpId, from: &[Dim]) -> Option<Vec<Dim>> {
    let number = |name: &str| f.const_arg(op, name).and_then(Const::as_i64);
    let is_set = |name: &str| f.const_arg(op, name).and_then(Const::as_i64s).is_some_and(|v| v == [1]);
    if f.op(op).arg("stride").is_some() && number("stride")? != 1 {
        return None;
    }
    let begin = if is_set("begin_mask") { 0 } else { place(number("begin")?, from.len())? };
    let end = if is_set("squeeze_mask") {
        begin.checked_add(1)?
    } else if is_set("end_mask") {
        from.len()
    } else {
        place(number("end")?, from.len())?.min(from.len())
    };
    from.get(begin..end).map(<[Dim]>::to_vec)
}
