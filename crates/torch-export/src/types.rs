//! The codes of `torch.export`'s schema: scalar types, layouts, memory formats, devices.

use std::fmt;

use coremill_tensor::DType;

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $code:literal, $text:literal, $vdoc:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = $vdoc] $variant = $code,)*
        }

        impl $name {
            /// Every code, in the schema's order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The value that a code of the schema stands for.
            pub const fn from_code(code: i64) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }

            /// The schema's code.
            pub const fn code(self) -> i64 {
                self as i64
            }

            /// Torch's name for it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

codes! {
    /// `torch.dtype`, by the codes of the export schema (which are not those of c10).
    ScalarType {
        Unknown = 0, "unknown", "None that the schema names.";
        UInt8 = 1, "uint8", "Unsigned, 8 bits (`Byte`).";
        Int8 = 2, "int8", "Signed, 8 bits (`Char`).";
        Int16 = 3, "int16", "Signed, 16 bits (`Short`).";
        Int32 = 4, "int32", "Signed, 32 bits (`Int`).";
        Int64 = 5, "int64", "Signed, 64 bits (`Long`).";
        Float16 = 6, "float16", "IEEE binary16 (`Half`).";
        Float32 = 7, "float32", "IEEE binary32 (`Float`).";
        Float64 = 8, "float64", "IEEE binary64 (`Double`).";
        ComplexHalf = 9, "complex32", "Two binary16.";
        Complex64 = 10, "complex64", "Two binary32.";
        Complex128 = 11, "complex128", "Two binary64.";
        Bool = 12, "bool", "A boolean, one byte.";
        BFloat16 = 13, "bfloat16", "The upper half of a binary32.";
        UInt16 = 28, "uint16", "Unsigned, 16 bits.";
        Float8E4M3Fn = 29, "float8_e4m3fn", "Eight bits, no infinities.";
        Float8E5M2 = 30, "float8_e5m2", "Eight bits, IEEE-like.";
        Float8E4M3Fnuz = 31, "float8_e4m3fnuz", "Eight bits, no negative zero.";
        Float8E5M2Fnuz = 32, "float8_e5m2fnuz", "Eight bits, no negative zero.";
        Float8E8M0Fnu = 33, "float8_e8m0fnu", "Eight bits of exponent.";
        UInt32 = 34, "uint32", "Unsigned, 32 bits.";
        UInt64 = 35, "uint64", "Unsigned, 64 bits.";
    }
}

impl ScalarType {
    /// The element type of dense data, where coremill has one.
    pub const fn dtype(self) -> Option<DType> {
        Some(match self {
            ScalarType::UInt8 => DType::UInt8,
            ScalarType::Int8 => DType::Int8,
            ScalarType::Int16 => DType::Int16,
            ScalarType::Int32 => DType::Int32,
            ScalarType::Int64 => DType::Int64,
            ScalarType::Float16 => DType::Fp16,
            ScalarType::Float32 => DType::Fp32,
            ScalarType::Float64 => DType::Fp64,
            ScalarType::Complex64 => DType::Complex64,
            ScalarType::Bool => DType::Bool,
            ScalarType::BFloat16 => DType::Bf16,
            ScalarType::UInt16 => DType::UInt16,
            ScalarType::Float8E4M3Fn => DType::Fp8E4M3,
            ScalarType::Float8E5M2 => DType::Fp8E5M2,
            ScalarType::UInt32 => DType::UInt32,
            ScalarType::UInt64 => DType::UInt64,
            ScalarType::Unknown
            | ScalarType::ComplexHalf
            | ScalarType::Complex128
            | ScalarType::Float8E4M3Fnuz
            | ScalarType::Float8E5M2Fnuz
            | ScalarType::Float8E8M0Fnu => return None,
        })
    }

    /// Bytes of one element; `None` for [`ScalarType::Unknown`].
    pub const fn size(self) -> Option<usize> {
        Some(match self {
            ScalarType::Unknown => return None,
            ScalarType::UInt8
            | ScalarType::Int8
            | ScalarType::Bool
            | ScalarType::Float8E4M3Fn
            | ScalarType::Float8E5M2
            | ScalarType::Float8E4M3Fnuz
            | ScalarType::Float8E5M2Fnuz
            | ScalarType::Float8E8M0Fnu => 1,
            ScalarType::Int16 | ScalarType::UInt16 | ScalarType::Float16 | ScalarType::BFloat16 => 2,
            ScalarType::Int32 | ScalarType::UInt32 | ScalarType::Float32 | ScalarType::ComplexHalf => 4,
            ScalarType::Int64 | ScalarType::UInt64 | ScalarType::Float64 | ScalarType::Complex64 => 8,
            ScalarType::Complex128 => 16,
        })
    }
}

codes! {
    /// `torch.layout`.
    Layout {
        Unknown = 0, "unknown", "None that the schema names.";
        SparseCoo = 1, "sparse_coo", "Coordinates.";
        SparseCsr = 2, "sparse_csr", "Compressed rows.";
        SparseCsc = 3, "sparse_csc", "Compressed columns.";
        SparseBsr = 4, "sparse_bsr", "Compressed rows of blocks.";
        SparseBsc = 5, "sparse_bsc", "Compressed columns of blocks.";
        Mkldnn = 6, "_mkldnn", "oneDNN's own.";
        Strided = 7, "strided", "Dense, with strides.";
    }
}

codes! {
    /// `torch.memory_format`.
    MemoryFormat {
        Unknown = 0, "unknown", "None that the schema names.";
        Contiguous = 1, "contiguous_format", "Row-major.";
        ChannelsLast = 2, "channels_last", "NHWC.";
        ChannelsLast3d = 3, "channels_last_3d", "NDHWC.";
        Preserve = 4, "preserve_format", "That of the input.";
    }
}

/// `torch.device`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Device {
    /// `cpu`, `cuda`, `meta`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// Which of that kind.
    #[serde(default)]
    pub index: Option<i64>,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(i) => write!(f, "{}:{i}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}
