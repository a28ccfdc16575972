//! Element types: codes of the protobuf and of weight files.

use coremill_tensor::DType;

/// Element type, code in the protobuf, code in a weight file (0: none).
const CODES: &[(DType, i32, u32)] = &[
    (DType::Bool, 1, 0),
    (DType::String, 2, 0),
    (DType::Fp16, 10, 1),
    (DType::Fp32, 11, 2),
    (DType::Fp64, 12, 0),
    (DType::Bf16, 13, 5),
    (DType::Int8, 21, 4),
    (DType::Int16, 22, 6),
    (DType::Int32, 23, 14),
    (DType::Int64, 24, 0),
    (DType::Int4, 25, 8),
    (DType::UInt8, 31, 3),
    (DType::UInt16, 32, 7),
    (DType::UInt32, 33, 15),
    (DType::UInt64, 34, 0),
    (DType::UInt4, 35, 11),
    (DType::UInt2, 36, 10),
    (DType::UInt1, 37, 9),
    (DType::UInt6, 38, 13),
    (DType::UInt3, 39, 12),
    (DType::Fp8E4M3, 40, 16),
    (DType::Fp8E5M2, 41, 17),
];

/// The code of an element type in the protobuf; `None` for types MIL files do not have (`complex64`).
pub fn proto_code(dtype: DType) -> Option<i32> {
    CODES.iter().find(|c| c.0 == dtype).map(|c| c.1)
}

/// The element type of a code of the protobuf.
pub fn from_proto_code(code: i32) -> Option<DType> {
    CODES.iter().find(|c| c.1 == code).map(|c| c.0)
}

/// The code of an element type in a weight file; `None` where weight files can't hold it.
pub fn blob_code(dtype: DType) -> Option<u32> {
    CODES.iter().find(|c| c.0 == dtype).map(|c| c.2).filter(|&c| c != 0)
}

/// The element type of a code of a weight file.
pub fn from_blob_code(code: u32) -> Option<DType> {
    CODES.iter().find(|c| c.2 == code && code != 0).map(|c| c.0)
}
