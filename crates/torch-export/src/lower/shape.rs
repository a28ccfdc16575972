//! Shapes: views, joins, cuts.

use coremill_mil::{Const, OpKind, ValueId};

use super::node::{Lowered, NodeCx, NodeError};
use super::table::Family;

pub(super) const OPS: Family = &[
    ("view.default", |n| view(n, "size")),
    ("_unsafe_view.default", |n| view(n, "size")),
    ("reshape.default", reshape),
    ("flatten.using_ints", flatten),
    ("unflatten.int", unflatten),
    ("permute.default", permute),
    ("transpose.int", transpose),
    ("t.default", t),
    ("unsqueeze.default", unsqueeze),
    ("squeeze.default", squeeze),
    ("squeeze.dim", squeeze),
    ("squeeze.dims", squeeze),
    ("expand.default", expand),
    ("repeat.default", repeat),
    ("repeat_interleave.self_int", repeat_interleave),
    ("cat.default", cat),
    ("stack.default", stack),
    ("chunk.default", chunk),
    ("split.Tensor", split),
    ("split_with_sizes.default", split_with_sizes),
    ("split.sizes", split_with_sizes),
    ("unbind.int", unbind),
    ("select.int", select),
    ("slice.Tensor", slice),
    ("pad.default", pad),
    ("constant_pad_nd.default", pad),
    ("contiguous.default", same),
    ("clone.default", same),
    ("detach.default", same),
    ("alias.default", same),
    ("lift_fresh.default", same),
    ("lift_fresh_copy.default", same),
];

/// Memory layout has no meaning here, nor has sharing: values never change.
fn same(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    Ok(n.value("self")?.into())
}

/// On a tensor that is not contiguous torch makes a copy and writes the extents out; otherwise it is a view as given.
fn reshape(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    if n.is_contiguous("self") {
        return view(n, "shape");
    }
    let x = n.value("self")?;
    reshape_to_result(n, x)
}

fn view(n: &mut NodeCx<'_, '_>, size: &'static str) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let size = n.int32s(size)?;
    Ok(n.op(OpKind::Reshape).input("x", x).literal("shape", Const::int32s(&size)).one()?.into())
}

/// Reshapes to the extents that the graph says the result has.
fn reshape_to_result(n: &mut NodeCx<'_, '_>, x: ValueId) -> Result<Lowered, NodeError> {
    let size = n.result_extents()?;
    Ok(n.op(OpKind::Reshape).input("x", x).literal("shape", Const::int32s(&size)).one()?.into())
}

fn flatten(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    reshape_to_result(n, x)
}

fn unflatten(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    reshape_to_result(n, x)
}

fn permute(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let perm = n.int32s("dims")?;
    Ok(n.op(OpKind::Transpose).input("x", x).literal("perm", Const::int32s(&perm)).one()?.into())
}

fn swap(n: &mut NodeCx<'_, '_>, a: i64, b: i64) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let shape = n.shape(x)?;
    if shape.rank() == 0 {
        return Ok(x.into());
    }
    let axis = |a: i64| shape.axis(a).ok_or_else(|| NodeError::unsupported(format!("axis {a} outside the rank")));
    let (a, b) = (axis(a)?, axis(b)?);
    let mut perm: Vec<i32> = (0..shape.rank() as i32).collect();
    perm.swap(a, b);
    Ok(n.op(OpKind::Transpose).input("x", x).literal("perm", Const::int32s(&perm)).one()?.into())
}

fn transpose(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (a, b) = (n.int("dim0")?, n.int("dim1")?);
    swap(n, a, b)
}

fn t(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    match n.shape_of("self")?.rank() {
        0 | 1 => same(n),
        _ => swap(n, 0, 1),
    }
}

fn unsqueeze(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let axes = Const::int32s(&[n.int("dim")? as i32]);
    Ok(n.op(OpKind::ExpandDims).input("x", x).literal("axes", axes).one()?.into())
}

/// Drops the axes named, those of extent 1; all such when none is named.
fn squeeze(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let shape = n.shape(x)?;
    let named = if n.is_given("dim") { n.ints("dim")? } else { (0..shape.rank() as i64).collect() };
    let is_one = |&a: &i64| shape.axis(a).is_some_and(|a| shape[a].known() == Some(1));
    let axes: Vec<i32> = named.into_iter().filter(is_one).map(|a| a as i32).collect();
    if axes.is_empty() {
        return Ok(x.into());
    }
    Ok(n.op(OpKind::Squeeze).input("x", x).literal("axes", Const::int32s(&axes)).one()?.into())
}

/// Repeats axes of extent 1; -1 keeps an extent. New axes come first.
fn expand(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let size = n.ints("size")?;
    let rank = n.shape(x)?.rank();
    let Some(new) = size.len().checked_sub(rank) else {
        return Err(NodeError::unsupported("fewer extents than the tensor has"));
    };
    let extents: Vec<Option<u64>> =
        std::iter::repeat_n(Some(1), new).chain(n.shape(x)?.iter().map(|d| d.known())).collect();
    let repeats = |(have, &want): (&Option<u64>, &i64)| if *have == Some(1) && want > 0 { want as i32 } else { 1 };
    let reps: Vec<i32> = extents.iter().zip(&size).map(repeats).collect();
    let wide = with_leading_axes(n, x, new)?;
    if reps.iter().all(|&r| r == 1) {
        return Ok(wide.into());
    }
    Ok(n.op(OpKind::Tile).input("x", wide).literal("reps", Const::int32s(&reps)).one()?.into())
}

fn with_leading_axes(n: &mut NodeCx<'_, '_>, x: ValueId, new: usize) -> Result<ValueId, NodeError> {
    if new == 0 {
        return Ok(x);
    }
    let axes: Vec<i32> = (0..new as i32).collect();
    Ok(n.inner(OpKind::ExpandDims, "expanded").input("x", x).literal("axes", Const::int32s(&axes)).one()?)
}

fn repeat(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let reps = n.int32s("repeats")?;
    let new = reps.len().saturating_sub(n.shape(x)?.rank());
    let wide = with_leading_axes(n, x, new)?;
    Ok(n.op(OpKind::Tile).input("x", wide).literal("reps", Const::int32s(&reps)).one()?.into())
}

/// Each element `repeats` times in a row: a new axis behind `dim`, repeated, then merged into it.
fn repeat_interleave(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let repeats = n.int("repeats")? as i32;
    let rank = n.shape(x)?.rank();
    let (x, rank, dim) = match n.maybe_int("dim")? {
        Some(dim) => (x, rank, dim),
        None => {
            let flat = Const::int32s(&[-1]);
            (n.inner(OpKind::Reshape, "flat").input("x", x).literal("shape", flat).one()?, 1, 0)
        }
    };
    let axis = n.shape(x)?.axis(dim).ok_or_else(|| NodeError::unsupported(format!("axis {dim} outside the rank")))?;
    let axes = Const::int32s(&[axis as i32 + 1]);
    let wide = n.inner(OpKind::ExpandDims, "expanded").input("x", x).literal("axes", axes).one()?;
    let mut reps = vec![1; rank + 1];
    reps[axis + 1] = repeats;
    let tiled = n.inner(OpKind::Tile, "tiled").input("x", wide).literal("reps", Const::int32s(&reps)).one()?;
    reshape_to_result(n, tiled)
}

fn cat(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let all = n.values("tensors")?;
    let all = n.promote_all(&all)?;
    let axis = Const::int32(n.int_or("dim", 0)? as i32);
    if let [one] = all[..] {
        return Ok(one.into());
    }
    let op = n.op(OpKind::Concat).list("values", &all).literal("axis", axis);
    Ok(op.literal("interleave", Const::bool(false)).one()?.into())
}

fn stack(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let all = n.values("tensors")?;
    let all = n.promote_all(&all)?;
    let axis = Const::int32(n.int_or("dim", 0)? as i32);
    Ok(n.op(OpKind::Stack).list("values", &all).literal("axis", axis).one()?.into())
}

fn cut(n: &mut NodeCx<'_, '_>, x: ValueId, sizes: &[i32], axis: i64) -> Result<Lowered, NodeError> {
    if sizes.len() == 1 {
        return Ok(Lowered::Many(vec![Some(x)]));
    }
    let op = n.op(OpKind::Split).input("x", x).literal("split_sizes", Const::int32s(sizes));
    let parts = op.literal("axis", Const::int32(axis as i32)).build()?;
    Ok(Lowered::Many(parts.into_iter().map(Some).collect()))
}

/// Sizes of `step` that cover `extent`, the last one smaller where it does not divide.
fn equal_sizes(extent: usize, step: usize) -> Vec<i32> {
    let full = std::iter::repeat_n(step as i32, extent / step.max(1));
    full.chain((!extent.is_multiple_of(step)).then_some((extent % step) as i32)).collect()
}

fn chunk(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, chunks, dim) = (n.value("self")?, n.int("chunks")?, n.int_or("dim", 0)?);
    let extent = n.known_extent(x, dim)?;
    let chunks = usize::try_from(chunks).ok().filter(|&c| c > 0).ok_or_else(|| NodeError::unsupported("no chunks"))?;
    cut(n, x, &equal_sizes(extent, extent.div_ceil(chunks).max(1)), dim)
}

fn split(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, size, dim) = (n.value("self")?, n.int("split_size")?, n.int_or("dim", 0)?);
    let extent = n.known_extent(x, dim)?;
    let size = usize::try_from(size).ok().filter(|&s| s > 0).ok_or_else(|| NodeError::unsupported("no size"))?;
    cut(n, x, &equal_sizes(extent, size), dim)
}

fn split_with_sizes(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, sizes, dim) = (n.value("self")?, n.int32s("split_sizes")?, n.int_or("dim", 0)?);
    cut(n, x, &sizes, dim)
}

fn unbind(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, dim) = (n.value("self")?, n.int_or("dim", 0)?);
    let extent = n.known_extent(x, dim)?;
    let Lowered::Many(parts) = cut(n, x, &vec![1; extent], dim)? else { return Ok(Lowered::Many(Vec::new())) };
    let axes = Const::int32s(&[dim as i32]);
    let mut squeezed = Vec::new();
    for (i, part) in parts.into_iter().flatten().enumerate() {
        let op = n.inner(OpKind::Squeeze, &i.to_string()).input("x", part).literal("axes", axes.clone());
        squeezed.push(Some(op.one()?));
    }
    Ok(Lowered::Many(squeezed))
}

/// One place of an axis, and the axis goes.
fn select(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, dim, index) = (n.value("self")?, n.int("dim")?, n.int("index")?);
    let shape = n.shape(x)?;
    let axis = shape.axis(dim).ok_or_else(|| NodeError::unsupported(format!("axis {dim} outside the rank")))?;
    let rank = shape.rank();
    let mut begin = vec![0i32; rank];
    let mut end: Vec<i32> = shape.iter().map(|d| d.known().unwrap_or(0) as i32).collect();
    let mut end_mask = vec![true; rank];
    let mut squeeze_mask = vec![false; rank];
    begin[axis] = index as i32;
    squeeze_mask[axis] = true;
    // The place before the end is -1, and 0 is no end to cut at: there the mask stands for the end.
    if index != -1 {
        end[axis] = index as i32 + 1;
        end_mask[axis] = false;
    }
    let op = n.op(OpKind::SliceByIndex).input("x", x).literal("begin", Const::int32s(&begin));
    let op = op.literal("end", Const::int32s(&end)).literal("end_mask", Const::bools(&end_mask));
    Ok(op.literal("squeeze_mask", Const::bools(&squeeze_mask)).one()?.into())
}

fn slice(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let (x, dim) = (n.value("self")?, n.int_or("dim", 0)?);
    let (start, end) = (n.maybe_int("start")?.unwrap_or(0), n.maybe_int("end")?);
    let step = n.int_or("step", 1)?;
    let shape = n.shape(x)?;
    let axis = shape.axis(dim).ok_or_else(|| NodeError::unsupported(format!("axis {dim} outside the rank")))?;
    let extent = shape[axis].known().map(|e| e as i64);
    // Torch clamps what lies outside.
    let reaches_end = |e: i64| e >= i64::from(i32::MAX) || extent.is_some_and(|x| e >= x);
    let end = end.filter(|&e| !reaches_end(e));
    let start = extent.map_or(start, |e| start.clamp(-e, e));
    if start == 0 && end.is_none() && step == 1 {
        return Ok(x.into());
    }
    let rank = shape.rank();
    let mut begin = vec![0i32; rank];
    let mut ends: Vec<i32> = shape.iter().map(|d| d.known().unwrap_or(0) as i32).collect();
    let mut end_mask = vec![true; rank];
    begin[axis] = start as i32;
    if let Some(end) = end {
        ends[axis] = extent.map_or(end, |e| end.max(-e)) as i32;
        end_mask[axis] = false;
    }
    let op = n.op(OpKind::SliceByIndex).input("x", x).literal("begin", Const::int32s(&begin));
    let mut op = op.literal("end", Const::int32s(&ends)).literal("end_mask", Const::bools(&end_mask));
    if step != 1 {
        let mut strides = vec![1i32; rank];
        strides[axis] = step as i32;
        op = op.literal("stride", Const::int32s(&strides));
    }
    Ok(op.one()?.into())
}

/// Torch lists pairs from the innermost axis out; MIL from the outermost in, for every axis.
fn pad(n: &mut NodeCx<'_, '_>) -> Result<Lowered, NodeError> {
    let x = n.value("self")?;
    let pairs = n.int32s("pad")?;
    let rank = n.shape(x)?.rank();
    let mode = n.text_or("mode", "constant")?;
    let mode = match mode.as_str() {
        "constant" | "reflect" | "replicate" => mode,
        other => return Err(NodeError::unsupported(format!("`mode` `{other}`"))),
    };
    if pairs.len() % 2 != 0 || pairs.len() > 2 * rank {
        return Err(NodeError::unsupported("a `pad` that is not a pair for each of the innermost axes"));
    }
    let mut all = vec![0i32; 2 * rank];
    for (i, pair) in pairs.chunks_exact(2).enumerate() {
        let axis = rank - 1 - i;
        all[2 * axis..2 * axis + 2].copy_from_slice(pair);
    }
    let value = n.maybe_float("value")?.unwrap_or(0.0);
    let value = n.scalar_like(x, value)?;
    let op = n.op(OpKind::Pad).input("x", x).literal("pad", Const::int32s(&all));
    Ok(op.literal("mode", Const::string(mode)).literal("constant_val", value).one()?.into())
}
