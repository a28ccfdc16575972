//! Extents of sliding windows, as `conv` and the pools have them.

use coremill_tensor::{Dim, SymExpr};

use super::common::ints_if;
use crate::{InferError, OpArgs};

/// How a window moves over the spatial dimensions; every list has one entry (`pad`: two) per dimension.
pub(super) struct Windows {
    /// Extents of the kernel.
    pub(super) kernel: Vec<Dim>,
    /// Steps.
    pub(super) strides: Vec<i64>,
    /// Distances of the kernel's taps.
    pub(super) dilations: Vec<i64>,
    /// Before and after each dimension.
    pub(super) pad: Vec<i64>,
    /// Round the number of windows up.
    pub(super) ceil: bool,
}

/// Where padding comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PadType {
    /// None.
    Valid,
    /// So that there are `ceil(extent / stride)` windows; `same_lower` too, which pads on the other side.
    Same,
    /// As `pad` says.
    Custom,
}

/// One integer per spatial dimension (`each` of them), or `default` for all; at least `least`.
pub(super) fn per_dimension(
    args: &OpArgs<'_>,
    name: &'static str,
    count: usize,
    default: i64,
    least: i64,
) -> Result<Vec<i64>, InferError> {
    let v = ints_if(args, name)?.unwrap_or_else(|| vec![default; count]);
    if v.len() != count {
        return Err(InferError::bad(name, format!("has {} elements where {count} are wanted", v.len())));
    }
    match v.iter().find(|&&n| n < least) {
        Some(n) => Err(InferError::bad(name, format!("has {n}, below {least}"))),
        None => Ok(v),
    }
}

impl Windows {
    /// The number of windows along each spatial dimension.
    pub(super) fn count(&self, input: &[Dim], pad_type: PadType) -> Result<Vec<Dim>, InferError> {
        input.iter().enumerate().map(|(i, d)| self.along(i, d, pad_type)).collect()
    }

    fn along(&self, i: usize, input: &Dim, pad_type: PadType) -> Result<Dim, InferError> {
        let at = |v: &[i64], i: usize| v.get(i).copied().unwrap_or_default();
        let (stride, dilation) = (at(&self.strides, i), at(&self.dilations, i));
        let kernel = match self.kernel.get(i) {
            Some(Dim::Known(0)) | None => None,
            Some(Dim::Known(k)) => {
                i64::try_from(*k).ok().and_then(|k| k.checked_sub(1)?.checked_mul(dilation)?.checked_add(1))
            }
            Some(_) => return Ok(Dim::Unknown),
        };
        let pad = match pad_type {
            PadType::Custom => at(&self.pad, 2 * i).checked_add(at(&self.pad, 2 * i + 1)),
            PadType::Valid | PadType::Same => Some(0),
        };
        let (Some(kernel), Some(pad)) = (kernel, pad) else {
            return Err(InferError::Mismatch(format!("the window along spatial dimension {i} has no extent")));
        };
        let count = match input {
            Dim::Known(n) => i64::try_from(*n).ok().and_then(|n| self.known(n, kernel, stride, pad, pad_type)),
            Dim::Sym(e) => {
                return Ok(self.symbolic(e, kernel, stride, pad, pad_type).map_or(Dim::Unknown, Dim::from_expr));
            }
            Dim::Unknown => return Ok(Dim::Unknown),
        };
        match count.and_then(|n| u64::try_from(n).ok()) {
            Some(n @ 1..) => Ok(Dim::Known(n)),
            _ => Err(InferError::Mismatch(format!(
                "spatial dimension {i}: a window of {kernel} does not fit into {input} with {pad} of padding"
            ))),
        }
    }

    fn known(&self, n: i64, kernel: i64, stride: i64, pad: i64, pad_type: PadType) -> Option<i64> {
        let pad = match pad_type {
            // What is missing for the last of `ceil(n / stride)` windows.
            PadType::Same => {
                let windows = n.checked_add(stride - 1)?.checked_div(stride)?;
                windows.checked_sub(1)?.checked_mul(stride)?.checked_add(kernel)?.checked_sub(n)?.max(0)
            }
            _ => pad,
        };
        let room = n.checked_add(pad)?.checked_sub(kernel)?;
        if !self.ceil {
            return room.checked_div_euclid(stride)?.checked_add(1);
        }
        let count = room.checked_add(stride - 1)?.checked_div_euclid(stride)?.checked_add(1)?;
        // A window that starts in the padding behind the input does not count.
        let start = count.checked_sub(1)?.checked_mul(stride)?.checked_mul(2)?;
        let behind = pad > 0 && start >= n.checked_mul(2)?.checked_add(pad)?;
        Some(if behind { count - 1 } else { count })
    }

    /// The same for an extent that is an expression, where the number of windows is one too.
    fn symbolic(&self, n: &SymExpr, kernel: i64, stride: i64, pad: i64, pad_type: PadType) -> Option<SymExpr> {
        let number = SymExpr::constant;
        let divided = |e: &SymExpr| if stride == 1 { Some(e.clone()) } else { e.floor_div(&number(stride)) };
        match pad_type {
            PadType::Same if kernel < stride => None,
            PadType::Same => divided(&n.add(&number(stride.checked_sub(1)?))?),
            _ if self.ceil && pad > 0 => None,
            _ => {
                let slack = if self.ceil { stride.checked_sub(1)? } else { 0 };
                let room = n.add(&number(pad.checked_sub(kernel)?.checked_add(slack)?))?;
                divided(&room)?.add(&number(1))
            }
        }
    }
}
