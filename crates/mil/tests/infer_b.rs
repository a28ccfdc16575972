//! Type inference gives what coremltools gives, op by op: the table in `data/infer_b.txt` was recorded from it.

mod common;

use coremill_mil::Type;
use coremill_tensor::DType;

use common::{check_table, infer_line, parse_type};

#[test]
fn result_types_are_those_of_coremltools() {
    check_table(include_str!("data/infer_b.txt"));
}

/// Where the peer is wrong, gives up or lets nonsense pass, and why we do not follow.
#[test]
fn result_types_where_coremltools_is_not_followed() {
    let table = [
        // A 0 copies an extent, known or not; the peer takes it for an extent of 0 when `x` has symbols.
        ("ios15 reshape x=fp16[n,3,m] shape=int32[3]=0,0,-1", "fp16[n,3,m]"),
        ("ios15 reshape x=fp32[n,4] shape=int32[2]=0,-1", "fp32[n,4]"),
        ("ios15 reshape x=fp32[n,4] shape=int32[3]=0,0,0", "error"),
        ("ios15 reshape x=fp32[n,4] shape=int32[2]=-2,12", "error"),
        // The number says more than the symbol.
        ("ios15 concat values=fp32[n,3]|fp32[2,3] axis=int32[]=1", "fp32[2,6]"),
        // There are no negative extents.
        ("ios15 random_uniform shape=int32[2]=-1,2", "error"),
        ("ios15 range_1d start=int32[]=0 end=int32[]=5 step=int32[]=-1", "int32[0]"),
        ("ios15 sliding_windows x=fp32[4,6,8] axis=int32[]=1 size=int32[]=9", "error"),
        ("ios15 topk x=fp32[2,5] k=int32[]=-1", "fp32[2,5] int32[2,5]"),
        // Elements would be lost or made up.
        ("ios15 split x=fp32[6,8] axis=int32[]=1 split_sizes=int32[2]=2,4", "error"),
        ("ios15 depth_to_space x=fp32[1,12,4,6] block_size=int32[]=3", "error"),
        ("ios15 space_to_depth x=fp32[1,3,5,7] block_size=int32[]=2", "error"),
        ("ios15 transpose x=int32[2,6] perm=int32[2]=0,0", "error"),
        ("ios15 expand_dims x=fp32[2,3,4] axes=int32[2]=0,0", "error"),
        ("ios15 squeeze x=fp32[1,3,1] axes=int32[1]=1", "error"),
        ("ios15 complex_fftn data=fp32[8] shapes=int32[2]=4,6", "error"),
        ("ios15 complex_stft input=fp32[2,2,40] n_fft=int32[]=16", "error"),
        // Axes before `axis` only can be shared out to the batches.
        ("ios16 gather x=fp32[4,5,6] indices=int32[2,3] axis=int32[]=1 batch_dims=int32[]=2", "error"),
        // A symbolic extent may fit.
        ("ios15 scatter_along_axis data=fp16[n,5] indices=int32[4,2] updates=fp16[4,2] axis=int32[]=1", "fp16[n,5]"),
        ("ios17 crop_resize x=fp16[n,3,8,9] boxes=fp16[2,4] box_indices=int32[2]=0,7", "fp16[2,3,1,1]"),
        ("ios15 complex real_data=fp32[n,8] imag_data=fp32[2,8]", "complex64[n,8]"),
        // One element is as good as a scalar; the peer says so only where it is computed.
        ("ios15 range_1d start=int32[]=0 end=int32[1]=3 step=int32[]=1", "int32[3]"),
        // The peer takes the complex values that its own builder makes only.
        ("ios15 complex_shape x=complex64[2,8]", "int32[2]"),
        ("ios15 complex_abs x=complex64[2,8]", "fp32[2,8]"),
    ];
    for (op, want) in table {
        match infer_line(op) {
            Ok(types) => assert_eq!(types, want.split(' ').map(parse_type).collect::<Vec<_>>(), "{op}"),
            Err(e) => assert_eq!(want, "error", "{op}: {e}"),
        }
    }
}

/// The number of results, where the peer has a symbol for a shape of unknown rank.
#[test]
fn a_shape_of_unknown_length_gives_an_unknown_rank() {
    for op in ["reshape x=fp32[2,3,4] shape=int32[k]", "fill shape=int32[k]", "random_uniform shape=int32[k]"] {
        assert_eq!(infer_line(&format!("ios15 {op}")).unwrap(), [Type::Unranked(DType::Fp32)], "{op}");
    }
}
