//! The opsets of ML Programs.

use std::fmt;
use std::str::FromStr;

/// A version of the op definitions, tied to an OS release and to a specification version of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opset {
    /// iOS 15, macOS 12: the first with ML Programs.
    Ios15,
    /// iOS 16, macOS 13.
    Ios16,
    /// iOS 17, macOS 14.
    Ios17,
    /// iOS 18, macOS 15: state, sub-byte weights, fused attention.
    Ios18,
}

/// A name or number that is no known opset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an opset that is known here: there are ios15, ios16, ios17 and ios18")]
pub struct UnknownOpset(pub String);

impl Opset {
    /// Every opset, oldest first.
    pub const ALL: [Opset; 4] = [Opset::Ios15, Opset::Ios16, Opset::Ios17, Opset::Ios18];

    /// The spelling of MIL text and of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Opset::Ios15 => "ios15",
            Opset::Ios16 => "ios16",
            Opset::Ios17 => "ios17",
            Opset::Ios18 => "ios18",
        }
    }

    /// The spelling of the protobuf (`Function.opset`).
    pub const fn proto_name(self) -> &'static str {
        match self {
            Opset::Ios15 => "CoreML5",
            Opset::Ios16 => "CoreML6",
            Opset::Ios17 => "CoreML7",
            Opset::Ios18 => "CoreML8",
        }
    }

    /// `Model.specificationVersion` of the first format version with this opset.
    pub const fn specification_version(self) -> i32 {
        match self {
            Opset::Ios15 => 6,
            Opset::Ios16 => 7,
            Opset::Ios17 => 8,
            Opset::Ios18 => 9,
        }
    }

    /// The opset of a specification version.
    pub fn from_specification_version(v: i32) -> Option<Opset> {
        Opset::ALL.into_iter().find(|o| o.specification_version() == v)
    }

    /// The opset of the protobuf's spelling.
    pub fn from_proto_name(s: &str) -> Option<Opset> {
        Opset::ALL.into_iter().find(|o| o.proto_name() == s)
    }
}

impl FromStr for Opset {
    type Err = UnknownOpset;
    fn from_str(s: &str) -> Result<Opset, UnknownOpset> {
        let lower = s.to_ascii_lowercase();
        Opset::ALL.into_iter().find(|o| o.name() == lower).ok_or_else(|| UnknownOpset(s.to_owned()))
    }
}

impl fmt::Display for Opset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
