//! Numbers of MIL text to bytes.

use coremill_tensor::{DType, bf16, f16};

/// The integer a token spells, decimal or hexadecimal.
pub(super) fn integer(s: &str) -> Option<i128> {
    let (negative, digits) = match s.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, s.strip_prefix('+').unwrap_or(s)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let n = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<i128>().ok()?,
    };
    Some(if negative { -n } else { n })
}

/// The bits of the float a token spells, in the low bytes of the result. `None` when it spells none, or one that
/// is finite and too large for the type.
pub(super) fn float_bits(dtype: DType, s: &str) -> Option<u64> {
    let (negative, magnitude) = match s.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, s.strip_prefix('+').unwrap_or(s)),
    };
    let sign = |bits: u64, at: u32| bits | u64::from(negative) << at;
    let finite = magnitude.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let wide = || match magnitude {
        "inf" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        m if m.starts_with("0x") || m.starts_with("0X") => hexadecimal(&m[2..]),
        m if finite => m.parse().ok(),
        _ => None,
    };
    let fits = |is_finite: bool, bits: u64| (is_finite || !finite).then_some(bits);
    match dtype {
        DType::Fp16 => {
            let v = f16::from_f64(wide()?);
            fits(v.is_finite(), sign(u64::from(v.to_bits()), 15))
        }
        DType::Bf16 => {
            let v = bf16::from_f64(wide()?);
            fits(v.is_finite(), sign(u64::from(v.to_bits()), 15))
        }
        DType::Fp32 => {
            // A decimal is rounded once, not by way of `f64`.
            let decimal = finite && !magnitude.starts_with("0x") && !magnitude.starts_with("0X");
            let v = if decimal { magnitude.parse::<f32>().ok()? } else { wide()? as f32 };
            fits(v.is_finite(), sign(u64::from(v.to_bits()), 31))
        }
        DType::Fp64 => {
            let v = wide()?;
            fits(v.is_finite(), sign(v.to_bits(), 63))
        }
        _ => None,
    }
}

/// `1.8p+1` and its like: hexadecimal digits with a point, and a power of two.
fn hexadecimal(s: &str) -> Option<f64> {
    let (digits, exponent) = match s.split_once(['p', 'P']) {
        Some((d, e)) => (d, e.parse::<i64>().ok()?),
        None => (s, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut mantissa, mut power) = (0u64, exponent.clamp(-10_000, 10_000));
    for (i, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(c.to_digit(16)?);
        let is_fraction = i >= whole.len();
        if mantissa >> 58 == 0 {
            mantissa = mantissa << 4 | digit;
            power = power.saturating_sub(if is_fraction { 4 } else { 0 });
        } else {
            // More digits than a float holds: what is left tells only that there is something.
            mantissa |= u64::from(digit != 0);
            power = power.saturating_add(if is_fraction { 0 } else { 4 });
        }
    }
    if mantissa == 0 {
        return Some(0.0);
    }
    let mut v = mantissa as f64;
    while power != 0 {
        let step = power.clamp(-1000, 1000);
        v *= 2f64.powi(step as i32);
        power -= step;
        if v == 0.0 || v.is_infinite() {
            break;
        }
    }
    Some(v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hexadecimal_and_decimal_floats() {
        let f32_of = |s| float_bits(DType::Fp32, s).map(|b| f32::from_bits(b as u32));
        assert_eq!(f32_of("0x1.8p+1"), Some(3.0));
        assert_eq!(f32_of("-0x1p-149"), Some(-f32::from_bits(1)));
        assert_eq!(f32_of("0x1.921fb6p+1"), Some(std::f32::consts::PI));
        assert_eq!(f32_of("1e-5"), Some(1e-5));
        assert_eq!(f32_of("1e39"), None);
        assert_eq!(f32_of("-inf"), Some(f32::NEG_INFINITY));
        assert_eq!(f32_of("0x"), None);
        assert_eq!(f32_of("0x1p999999999999"), None);
        assert_eq!(f32_of("1x"), None);
        assert_eq!(float_bits(DType::Fp64, "0x0.0000000000001p-1022"), Some(1));
        assert_eq!(float_bits(DType::Fp16, "0x1p-24"), Some(1));
        assert_eq!(float_bits(DType::Fp16, "-0"), Some(0x8000));
        assert_eq!(integer("-0x10"), Some(-16));
        assert_eq!(integer("--1"), None);
    }
}
