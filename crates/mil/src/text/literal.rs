//! Constants as text: type, then the value in parentheses; numbers in the spelling of MIL text.
//!
//! Floats are hexadecimal (`0x1.8p+1`), so that they come back bit for bit. A NaN with a payload is written
//! `nan(0x7fc00001)`, which is an extension of ours. Elements of the eight-bit float types are their bits, as a number.

use std::fmt::Write;

use coremill_tensor::{DType, Data, bf16, f16};

use super::names::is_identifier;
use crate::{Attributes, Const, Type};

/// Writes a constant without its type.
fn value(out: &mut String, c: &Const) {
    match c {
        Const::Tensor(d) => data(out, d),
        Const::Strings(shape, v) => nest(out, shape, v.len(), &mut |out, i| {
            if let Some(s) = v.get(i) {
                string(out, s);
            }
        }),
        Const::List(_, v) => seq(out, "[", "]", v, value),
        Const::Tuple(v) => seq(out, "(", ")", v, value),
        Const::Dict(_, v) => seq(out, "{", "}", v, |out, (k, v)| {
            out.push('{');
            value(out, k);
            out.push_str(", ");
            value(out, v);
            out.push('}');
        }),
    }
}

/// Number of elements of a constant with everything in it.
fn elements(c: &Const) -> usize {
    match c {
        Const::Tensor(d) => d.len(),
        Const::Strings(_, v) => v.len(),
        Const::List(_, v) | Const::Tuple(v) => v.iter().map(elements).sum(),
        Const::Dict(_, v) => v.iter().map(|(k, v)| elements(k) + elements(v)).sum(),
    }
}

/// Writes a type.
pub(super) fn ty(out: &mut String, ty: &Type, terse: bool) {
    put(out, format_args!("{}", ty.display(terse)));
}

/// Writes a string in quotes.
pub(super) fn string(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => put(out, format_args!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Writes a name: as it is where it is an identifier, else in quotes.
pub(super) fn name(out: &mut String, name: &str) {
    if is_identifier(name) { out.push_str(name) } else { string(out, name) }
}

/// Writes named constants in brackets, or nothing when there are none.
pub(super) fn attributes(out: &mut String, all: &Attributes, terse: bool, elide_above: Option<usize>) {
    for (i, (key, c)) in all.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "[" });
        name(out, key);
        out.push_str(" = ");
        constant(out, c, terse, elide_above);
    }
    if !all.is_empty() {
        out.push(']');
    }
}

/// Writes a constant with its type.
pub(super) fn constant(out: &mut String, c: &Const, terse: bool, elide_above: Option<usize>) {
    ty(out, &c.ty(), terse);
    out.push('(');
    if elide_above.is_some_and(|n| elements(c) > n) {
        out.push_str("...");
    } else {
        value(out, c);
    }
    out.push(')');
}

/// Formats into a string, which cannot fail.
pub(super) fn put(out: &mut String, args: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(args);
}

fn seq<T>(out: &mut String, open: &str, close: &str, items: &[T], mut each: impl FnMut(&mut String, &T)) {
    out.push_str(open);
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        each(out, item);
    }
    out.push_str(close);
}

/// Writes elements in brackets, one pair for each dimension. Without elements: `[]`, whatever the other extents.
fn nest(out: &mut String, shape: &[usize], len: usize, element: &mut dyn FnMut(&mut String, usize)) {
    if len == 0 {
        out.push_str("[]");
        return;
    }
    // Element `i` opens a bracket for each dimension in which it is the first, and closes those in which it is the last.
    for i in 0..len {
        if i > 0 {
            out.push_str(", ");
        }
        let (mut opens, mut closes) = (0, 0);
        let mut stride = 1usize;
        for &d in shape.iter().rev() {
            stride = stride.saturating_mul(d.max(1));
            opens += usize::from(i % stride == 0);
            closes += usize::from(i % stride == stride - 1);
        }
        out.extend(std::iter::repeat_n('[', opens));
        element(out, i);
        out.extend(std::iter::repeat_n(']', closes));
    }
}

fn data(out: &mut String, d: &Data) {
    let shape = d.shape();
    // For the types that have no Rust type of their own.
    let by_byte = matches!(d.dtype(), DType::Bool | DType::Fp8E4M3 | DType::Fp8E5M2 | DType::Complex64);
    let bytes = if by_byte { d.bytes() } else { Default::default() };
    macro_rules! each {
        ($t:ty, $show:expr) => {{
            let v = d.as_slice::<$t>().unwrap_or_default();
            nest(out, shape, v.len(), &mut |out, i| {
                if let Some(&x) = v.get(i) {
                    $show(out, x);
                }
            });
        }};
    }
    match d.dtype() {
        DType::Fp16 => each!(f16, |out, x: f16| float(out, x.to_f64(), u64::from(x.to_bits()), 0x7e00)),
        DType::Bf16 => each!(bf16, |out, x: bf16| float(out, x.to_f64(), u64::from(x.to_bits()), 0x7fc0)),
        DType::Fp32 => each!(f32, |out, x: f32| float(out, f64::from(x), u64::from(x.to_bits()), 0x7fc0_0000)),
        DType::Fp64 => each!(f64, |out, x: f64| float(out, x, x.to_bits(), 0x7ff8 << 48)),
        DType::UInt64 => each!(u64, |out, x: u64| put(out, format_args!("{x}"))),
        DType::Bool => nest(out, shape, d.len(), &mut |out, i| {
            out.push_str(if bytes.get(i).is_some_and(|&b| b != 0) { "true" } else { "false" });
        }),
        DType::Fp8E4M3 | DType::Fp8E5M2 => nest(out, shape, d.len(), &mut |out, i| {
            put(out, format_args!("{}", bytes.get(i).copied().unwrap_or(0)));
        }),
        DType::Complex64 => {
            let part = |at: usize| {
                let b = bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default();
                f32::from_le_bytes(b)
            };
            nest(out, shape, d.len(), &mut |out, i| {
                for (k, open) in ["(", ", "].into_iter().enumerate() {
                    let x = part(i * 8 + k * 4);
                    out.push_str(open);
                    float(out, f64::from(x), u64::from(x.to_bits()), 0x7fc0_0000);
                }
                out.push(')');
            });
        }
        _ => {
            let v = d.to_i64s().unwrap_or_default();
            nest(out, shape, v.len(), &mut |out, i| {
                put(out, format_args!("{}", v.get(i).copied().unwrap_or(0)));
            });
        }
    }
}

/// Writes a float: the shortest hexadecimal form with a leading 1. `bits` and `quiet` tell a plain NaN from others.
fn float(out: &mut String, x: f64, bits: u64, quiet: u64) {
    if x.is_nan() {
        return if bits == quiet { out.push_str("nan") } else { put(out, format_args!("nan({bits:#x})")) };
    }
    if x.is_sign_negative() {
        out.push('-');
    }
    if x.is_infinite() {
        return out.push_str("inf");
    }
    let bits = x.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52 & 0x7ff) as i32 - 1023, bits & ((1 << 52) - 1));
    if exponent == -1023 {
        if fraction == 0 {
            return out.push_str("0x0p+0");
        }
        // A subnormal: shift its first set bit to the place of the implied one.
        let shift = fraction.leading_zeros() - 11;
        fraction = (fraction << shift) & ((1 << 52) - 1);
        exponent = -1022 - shift as i32;
    }
    out.push_str("0x1");
    if fraction != 0 {
        let digits = 13 - fraction.trailing_zeros() as usize / 4;
        put(out, format_args!(".{:0digits$x}", fraction >> (4 * (13 - digits))));
    }
    put(out, format_args!("p{exponent:+}"));
}
