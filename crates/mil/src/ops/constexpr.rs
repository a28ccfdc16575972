//! Compressed weights that the runtime expands. Type inference stands in `constexpr_infer.rs`.
//!
//! The ops of ios16 carry their inputs as attributes in every opset; those of ios18 take inputs, which may be
//! results of other ops of this family.

use coremill_tensor::DType::{self, Fp16, Fp32, Int4, Int8, UInt1, UInt2, UInt3, UInt4, UInt6, UInt8, UInt32};

use super::common::{FLOATS, int_spec, string_spec};
use super::constexpr_infer as infer;
use crate::OpKind;
use crate::Opset::{Ios16, Ios18};
use crate::schema::{Flags, InferFn, InputSpec, OpSchema, OpVersion};

/// Affine data, and its zero points where they are integers.
const QUANTIZED: &[DType] = &[Int4, UInt4, Int8, UInt8, Fp16, Fp32];
const INDICES: &[DType] = &[UInt1, UInt2, UInt3, UInt4, UInt6, UInt8];
const PALETTE: &[DType] = &[Int8, UInt8, Fp16, Fp32];

const fn c(name: &'static str, dtypes: &'static [DType]) -> InputSpec {
    InputSpec::tensor(name, dtypes).constant()
}

const fn same(name: &'static str, letter: char, dtypes: &'static [DType]) -> InputSpec {
    InputSpec::same(name, letter, dtypes).constant()
}

const fn def(kind: OpKind, summary: &'static str, versions: &'static [OpVersion], infer: InferFn) -> OpSchema {
    OpSchema { kind, summary, versions, flags: Flags::PURE.and(Flags::CONSTEXPR), infer }
}

const VECTOR_AXIS: InputSpec = int_spec("vector_axis").optional();
const CAST: &[InputSpec] = &[c("source_val", &[Fp16]), string_spec("output_dtype")];

pub(super) const OPS: &[OpSchema] = &[
    def(
        OpKind::ConstexprAffineDequantize,
        "`scale * (quantized_data - zero_point)`, per tensor or along `axis`.",
        &[OpVersion::attributes(
            Ios16,
            &[
                same("quantized_data", 'S', &[UInt8, Int8]),
                same("zero_point", 'Z', &[UInt8, Int8, Fp32]),
                same("scale", 'D', FLOATS),
                int_spec("axis"),
            ],
        )],
        infer::affine_dequantize,
    ),
    def(
        OpKind::ConstexprCast,
        "`source_val` as `output_dtype`, which must be fp32.",
        &[OpVersion::attributes(Ios16, CAST), OpVersion::new(Ios18, CAST)],
        infer::cast,
    ),
    def(
        OpKind::ConstexprLutToDense,
        "Entries of a table, `lut[indices]`; from ios18 with a table per block and with vectors as entries.",
        &[
            OpVersion::attributes(Ios16, &[c("indices", &[UInt8]), same("lut", 'T', PALETTE), c("shape", &[UInt32])]),
            OpVersion::new(Ios18, &[same("indices", 'I', INDICES), same("lut", 'T', PALETTE), VECTOR_AXIS]),
        ],
        infer::lut_to_dense,
    ),
    def(
        OpKind::ConstexprSparseToDense,
        "`nonzero_data` where `mask` is set, 0 elsewhere.",
        &[
            OpVersion::attributes(
                Ios16,
                &[same("nonzero_data", 'T', PALETTE), c("mask", &[UInt8]), c("shape", &[UInt32])],
            ),
            OpVersion::new(Ios18, &[same("nonzero_data", 'T', QUANTIZED), c("mask", &[UInt1])]),
        ],
        infer::sparse_to_dense,
    ),
    def(
        OpKind::ConstexprBlockwiseShiftScale,
        "`scale * (data - offset)`, with one scale and offset per block.",
        &[OpVersion::new(
            Ios18,
            &[same("data", 'S', QUANTIZED), same("scale", 'D', FLOATS), same("offset", 'O', QUANTIZED).optional()],
        )],
        infer::blockwise_shift_scale,
    ),
    def(
        OpKind::ConstexprLutToSparse,
        "`constexpr_lut_to_dense` on the elements that `indices_mask` has; gives the mask and the elements.",
        &[OpVersion::new(
            Ios18,
            &[
                c("indices_mask", &[UInt1]),
                same("indices_nonzero_data", 'I', INDICES),
                same("lut", 'T', PALETTE),
                VECTOR_AXIS,
            ],
        )],
        infer::lut_to_sparse,
    ),
    def(
        OpKind::ConstexprSparseBlockwiseShiftScale,
        "`constexpr_blockwise_shift_scale` on the elements that `data_mask` has; gives the mask and the elements.",
        &[OpVersion::new(
            Ios18,
            &[
                c("data_mask", &[UInt1]),
                same("nonzero_data", 'S', QUANTIZED),
                same("scale", 'D', FLOATS),
                same("offset", 'O', QUANTIZED).optional(),
            ],
        )],
        infer::sparse_blockwise_shift_scale,
    ),
];
