//! Type inference of the compressed weights.

use coremill_tensor::{DType, Data, Dim, Shape};

use super::common::{axis, given, given_if, int, ints, one, string};
use crate::{InferError, OpArgs, Opset, TensorType, Type};

type Inferred<T> = Result<T, InferError>;

/// The extent of a tensor of rank 1.
fn vector<'t>(t: &'t TensorType, name: &'static str) -> Inferred<&'t Dim> {
    match &t.shape[..] {
        [n] => Ok(n),
        _ => Err(InferError::bad(name, format!("is of rank {}, not 1", t.rank()))),
    }
}

pub(super) fn affine_dequantize(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (data, scale) = (given(args, "quantized_data")?, given(args, "scale")?);
    let along = &data.shape[axis(&data.shape, int(args, "axis")?, "axis")?];
    for (name, p) in [("scale", &scale), ("zero_point", &given(args, "zero_point")?)] {
        match &p.shape[..] {
            [] => {}
            [n] if n.compatible(along) => {}
            _ => return Err(InferError::bad(name, format!("is of shape {} along an axis of {along}", p.shape))),
        }
    }
    one(scale.dtype, data.shape.clone())
}

pub(super) fn cast(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    match string(args, "output_dtype")? {
        "fp32" => one(DType::Fp32, given(args, "source_val")?.shape),
        other => Err(InferError::bad("output_dtype", format!("is `{other}`; only fp32 is possible"))),
    }
}

/// The `shape` attribute of the ios16 forms, and the number of elements.
fn dense_shape(args: &OpArgs<'_>) -> Inferred<(Shape, u64)> {
    let dims: Option<Shape> = ints(args, "shape")?.iter().map(|&n| u64::try_from(n).ok().map(Dim::Known)).collect();
    let sized = dims.and_then(|s| {
        let n = s.iter().try_fold(1u64, |n, d| n.checked_mul(d.known()?))?;
        Some((s, n))
    });
    sized.ok_or_else(|| InferError::bad("shape", "is no shape that fits into memory"))
}

/// Holds a packed vector to have the bytes that `bits` per element take.
fn check_packed(packed: &Dim, bits: u64, elements: u64, name: &'static str) -> Inferred<()> {
    match (packed.known(), elements.checked_mul(bits).map(|b| b.div_ceil(8))) {
        (Some(have), Some(want)) if have == want => Ok(()),
        (_, want) => {
            let want = want.map_or("more than fit".to_owned(), |w| w.to_string());
            Err(InferError::bad(name, format!("has {packed} bytes where {want} are wanted")))
        }
    }
}

pub(super) fn lut_to_dense(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (indices, lut) = (given(args, "indices")?, given(args, "lut")?);
    if args.opset >= Opset::Ios18 {
        check_lut(&indices.shape, indices.dtype, &lut.shape, "indices")?;
        return one(lut.dtype, vector_expanded(args, &indices.shape, &lut.shape)?.0);
    }
    let bits = match vector(&lut, "lut")? {
        Dim::Known(n @ (2 | 4 | 16 | 64 | 256)) => u64::from(n.ilog2()),
        n => return Err(InferError::bad("lut", format!("has {n} entries; there are 2, 4, 16, 64 and 256"))),
    };
    let (shape, elements) = dense_shape(args)?;
    check_packed(vector(&indices, "indices")?, bits, elements, "indices")?;
    one(lut.dtype, shape)
}

/// Holds a table to the indices into it: two more dimensions, blocks that divide, and as many entries as the
/// indices can tell apart.
fn check_lut(indices: &Shape, dtype: DType, lut: &Shape, name: &'static str) -> Inferred<()> {
    let ([blocks @ .., entries, _], false) = (&lut[..], indices.rank() == 0) else {
        return Err(InferError::bad("lut", format!("is of shape {lut} for `{name}` of {indices}")));
    };
    if blocks.len() != indices.rank() || !indices.iter().zip(blocks).all(|(i, b)| divides(b, i)) {
        return Err(InferError::bad("lut", format!("is of shape {lut}, which does not cut {indices} into blocks")));
    }
    match entries.known() {
        Some(n) if dtype.is_unsigned_int() && n.is_power_of_two() && n.ilog2() as usize == dtype.bits() => Ok(()),
        Some(n) => Err(InferError::bad("lut", format!("has {n} entries for indices of {dtype}"))),
        None => Err(InferError::bad("lut", "is of unknown extent")),
    }
}

/// Surely or possibly a divisor; never zero.
fn divides(divisor: &Dim, of: &Dim) -> bool {
    match (divisor, of) {
        (Dim::Known(0), _) => false,
        (Dim::Known(d), Dim::Known(n)) => n % d == 0,
        _ => true,
    }
}

/// `shape` with the axis along which the vectors of a table lie made longer, and the length of a vector.
fn vector_expanded(args: &OpArgs<'_>, shape: &Shape, lut: &Shape) -> Inferred<(Shape, Dim)> {
    let length = lut.last().cloned().unwrap_or(Dim::Known(1));
    let mut shape = shape.clone();
    if args.is_given("vector_axis") || length != Dim::Known(1) {
        let at = axis(&shape, int(args, "vector_axis")?, "vector_axis")?;
        let dim = &mut shape.dims_mut()[at];
        *dim = dim.mul(&length);
    }
    Ok((shape, length))
}

pub(super) fn sparse_to_dense(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let data = given(args, "nonzero_data")?;
    if args.opset >= Opset::Ios18 {
        let mask = check_mask(args, "mask", &data, "nonzero_data")?;
        return one(data.dtype, mask);
    }
    let (shape, elements) = dense_shape(args)?;
    let mask = given(args, "mask")?;
    check_packed(vector(&mask, "mask")?, 1, elements, "mask")?;
    let count = vector(&data, "nonzero_data")?;
    if let Some(bytes) = args.value("mask").and_then(|c| c.as_data()) {
        let set = ones(bytes);
        if count.known() != Some(set) {
            return Err(InferError::bad("mask", format!("has {set} bits set for {count} elements")));
        }
        let used = elements % 8;
        if used != 0 && bytes.bytes().last().is_some_and(|b| b >> used != 0) {
            return Err(InferError::bad("mask", "has bits set behind the last element"));
        }
    }
    one(data.dtype, shape)
}

/// Number of bits that are set.
fn ones(data: &Data) -> u64 {
    data.bytes().iter().map(|b| u64::from(b.count_ones())).sum()
}

/// Holds a bit mask to have as many ones as there are elements, where it is constant; its shape.
fn check_mask(args: &OpArgs<'_>, mask: &'static str, data: &TensorType, name: &'static str) -> Inferred<Shape> {
    let count = vector(data, name)?;
    if let Some(bits) = args.value(mask).and_then(|c| c.as_data()).filter(|d| d.dtype() == DType::UInt1) {
        // Only the bits of elements count: what pads the last byte is not ours to trust.
        let behind = match (bits.len() % 8, bits.bytes().last()) {
            (used @ 1..8, Some(b)) => u64::from((b >> used).count_ones()),
            _ => 0,
        };
        let set = ones(bits) - behind;
        if count.known().is_some_and(|n| n != set) {
            return Err(InferError::bad(mask, format!("has {set} ones for {count} elements")));
        }
    }
    Ok(given(args, mask)?.shape)
}

/// Holds scales and offsets to cut the data into blocks.
fn check_scale(args: &OpArgs<'_>, data: &Shape, dtype: DType) -> Inferred<DType> {
    let scale = given(args, "scale")?;
    if data.rank() == 0 || scale.rank() != data.rank() || !data.iter().zip(&scale.shape).all(|(d, s)| divides(s, d)) {
        return Err(InferError::bad(
            "scale",
            format!("is of shape {}, which does not cut {data} into blocks", scale.shape),
        ));
    }
    if let Some(offset) = given_if(args, "offset")? {
        if !offset.shape.compatible(&scale.shape) {
            return Err(InferError::bad("offset", format!("is of shape {}, `scale` of {}", offset.shape, scale.shape)));
        }
        if !offset.dtype.is_float() && offset.dtype != dtype {
            return Err(InferError::bad("offset", format!("is of {}, the data of {dtype}", offset.dtype)));
        }
    }
    Ok(scale.dtype)
}

pub(super) fn blockwise_shift_scale(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let data = given(args, "data")?;
    one(check_scale(args, &data.shape, data.dtype)?, data.shape)
}

pub(super) fn lut_to_sparse(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let (data, lut) = (given(args, "indices_nonzero_data")?, given(args, "lut")?);
    let mask = check_mask(args, "indices_mask", &data, "indices_nonzero_data")?;
    check_lut(&mask, data.dtype, &lut.shape, "indices_mask")?;
    let (mask_shape, length) = vector_expanded(args, &mask, &lut.shape)?;
    let count = vector(&data, "indices_nonzero_data")?.mul(&length);
    Ok(vec![Type::tensor(DType::UInt1, mask_shape), Type::tensor(lut.dtype, vec![count])])
}

pub(super) fn sparse_blockwise_shift_scale(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    let data = given(args, "nonzero_data")?;
    let mask = check_mask(args, "data_mask", &data, "nonzero_data")?;
    let dtype = check_scale(args, &mask, data.dtype)?;
    Ok(vec![Type::tensor(DType::UInt1, mask), Type::tensor(dtype, data.shape)])
}
