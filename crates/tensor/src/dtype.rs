//! Element types.

use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($($variant:ident $bits:literal $name:literal $doc:literal;)*) => {
        /// The type of one element.
        ///
        /// The names are those of MIL text (`fp16`, `int32`, `uint4`, ...). `bf16`, `complex64` and the
        /// `fp8` types occur in exported PyTorch programs or in the MIL format but in no ML Program op.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DType {
            $(#[doc = $doc] $variant,)*
        }

        impl DType {
            /// Every element type, in declaration order.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The spelling of MIL text.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// Bits of one element; 0 for strings, which have no fixed width.
            pub const fn bits(self) -> usize {
                match self { $(DType::$variant => $bits,)* }
            }
        }

        impl FromStr for DType {
            type Err = UnknownDType;
            fn from_str(s: &str) -> Result<Self, UnknownDType> {
                match s { $($name => Ok(DType::$variant),)* _ => Err(UnknownDType(s.to_owned())) }
            }
        }
    };
}

dtypes! {
    Bool 8 "bool" "A boolean, one byte, 0 or 1.";
    String 0 "string" "Text; never dense data.";
    Fp16 16 "fp16" "IEEE binary16.";
    Fp32 32 "fp32" "IEEE binary32.";
    Fp64 64 "fp64" "IEEE binary64.";
    Bf16 16 "bf16" "The upper half of a binary32.";
    Fp8E4M3 8 "fp8e4m3fn" "Eight bits: 4 of exponent, 3 of mantissa.";
    Fp8E5M2 8 "fp8e5m2" "Eight bits: 5 of exponent, 2 of mantissa.";
    Int8 8 "int8" "Signed, 8 bits.";
    Int16 16 "int16" "Signed, 16 bits.";
    Int32 32 "int32" "Signed, 32 bits.";
    Int64 64 "int64" "Signed, 64 bits.";
    Int4 4 "int4" "Signed, 4 bits, packed from the low bit up.";
    UInt8 8 "uint8" "Unsigned, 8 bits.";
    UInt16 16 "uint16" "Unsigned, 16 bits.";
    UInt32 32 "uint32" "Unsigned, 32 bits.";
    UInt64 64 "uint64" "Unsigned, 64 bits.";
    UInt6 6 "uint6" "Unsigned, 6 bits, packed from the low bit up.";
    UInt4 4 "uint4" "Unsigned, 4 bits, packed from the low bit up.";
    UInt3 3 "uint3" "Unsigned, 3 bits, packed from the low bit up.";
    UInt2 2 "uint2" "Unsigned, 2 bits, packed from the low bit up.";
    UInt1 1 "uint1" "Unsigned, 1 bit, packed from the low bit up.";
    Complex64 64 "complex64" "Two binary32: real part, imaginary part.";
}

/// A name that is no element type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an element type")]
pub struct UnknownDType(pub String);

impl DType {
    /// Is it a floating-point type (complex not counted)?
    pub const fn is_float(self) -> bool {
        matches!(self, DType::Fp16 | DType::Fp32 | DType::Fp64 | DType::Bf16 | DType::Fp8E4M3 | DType::Fp8E5M2)
    }

    /// Is it a signed or unsigned integer (bool not counted)?
    pub const fn is_int(self) -> bool {
        self.is_signed_int() || self.is_unsigned_int()
    }

    /// Is it a signed integer?
    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::Int4 | DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64)
    }

    /// Is it an unsigned integer?
    pub const fn is_unsigned_int(self) -> bool {
        matches!(
            self,
            DType::UInt1
                | DType::UInt2
                | DType::UInt3
                | DType::UInt4
                | DType::UInt6
                | DType::UInt8
                | DType::UInt16
                | DType::UInt32
                | DType::UInt64
        )
    }

    /// Are several elements packed into one byte, or across bytes?
    pub const fn is_sub_byte(self) -> bool {
        !self.bits().is_multiple_of(8)
    }

    /// Bytes of `count` elements stored densely, sub-byte types packed and padded to a whole byte.
    /// `None` on overflow and for strings.
    pub fn byte_len(self, count: usize) -> Option<usize> {
        match self.bits() {
            0 => None,
            bits => Some(count.checked_mul(bits)?.div_ceil(8)),
        }
    }

    /// The least and greatest value of an integer type (bool: 0 and 1).
    pub const fn int_range(self) -> Option<(i128, i128)> {
        let bits = self.bits() as u32;
        if self.is_signed_int() {
            Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1))
        } else if self.is_unsigned_int() {
            Some((0, (1i128 << bits) - 1))
        } else if matches!(self, DType::Bool) {
            Some((0, 1))
        } else {
            None
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_sizes_are_dense() {
        for &t in DType::ALL {
            assert_eq!(t.name().parse::<DType>().unwrap(), t);
        }
        assert_eq!(DType::UInt3.byte_len(3), Some(2));
        assert_eq!(DType::Int4.byte_len(5), Some(3));
        assert_eq!(DType::Fp32.byte_len(usize::MAX), None);
        assert_eq!(DType::String.byte_len(1), None);
        assert_eq!(DType::Int4.int_range(), Some((-8, 7)));
        assert_eq!(DType::UInt64.int_range(), Some((0, u64::MAX as i128)));
    }
}
