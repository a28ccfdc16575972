//! Type inference gives what coremltools gives, op by op: the table in `data/infer_a.txt` was recorded from it.

mod common;

use coremill_mil::{OpKind, Opset, Type, schema};
use coremill_tensor::DType;

use common::{check_table, infer_line, parse_type};

#[test]
fn result_types_are_those_of_coremltools() {
    check_table(include_str!("data/infer_a.txt"));
}

/// Where the peer is wrong or gives up, and why we do not follow.
#[test]
fn result_types_where_coremltools_is_not_followed() {
    let table = [
        // An extent that broadcasts against 0 can only give 0; the peer makes up a symbol.
        ("ios16 add x=fp32[n] y=fp32[0]", "fp32[0]"),
        ("ios16 add x=fp32[m,n] y=fp32[0]", "fp32[m,0]"),
        // `cond` broadcasts as well; the peer leaves it out of the shape.
        ("ios15 select cond=bool[2,3] a=fp32[n,3] b=fp32[n,3]", "fp32[2,3]"),
        ("ios15 select cond=bool[2,3] a=fp32[3] b=fp32[3]", "fp32[2,3]"),
        // The row that a vector became is dropped; the peer drops the outermost extent.
        ("ios15 matmul x=fp32[4] y=fp32[10,4,3]", "fp32[10,3]"),
        // All axes are the default; the peer's own default is not accepted by it.
        ("ios15 layer_norm x=fp32[1,n,4]", "fp32[1,n,4]"),
        // An axis below -rank is an error; the peer counts it from the back a second time.
        ("ios16 reduce_sum x=fp32[2,n,4] axes=int32[1]=-4", "error"),
        ("ios16 reduce_sum x=fp32[2,n,4] axes=int32[2]=0,0", "error"),
        // A symbolic extent may fit.
        ("ios17 quantize input=fp32[n,3] scale=fp32[3]=0.5 output_dtype=string[]=int8 axis=int32[]=0", "int8[n,3]"),
        ("ios17 dequantize input=int8[n,3] scale=fp32[3]=0.5 axis=int32[]=0", "fp32[n,3]"),
        ("ios15 prelu x=fp32[1,n,4,4] alpha=fp32[3]=0.5", "fp32[1,n,4,4]"),
        ("ios15 einsum values=fp32[3,n,5]|fp32[5,4,6] equation=string[]=chw,whr->chr", "fp32[3,n,6]"),
        ("ios15 conv_transpose x=fp32[n,3,5] weight=fp32[3,4,3]=1 output_shape=int32[3]=1,4,7", "fp32[1,4,7]"),
        // `beta` is held to its own shape; the peer looks at that of `gamma`.
        ("ios15 layer_norm x=fp32[2,4] axes=int32[1]=1 gamma=fp32[4]=1 beta=fp32[2]=0", "error"),
        // Out of the range of `x`.
        ("ios15 softmax x=fp32[2,3] axis=int32[]=2", "error"),
        // The number of windows as an expression, where the peer makes up a symbol.
        ("ios15 conv x=fp32[1,3,n] weight=fp32[4,3,3]=1 pad_type=string[]=same", "fp32[1,4,n]"),
        ("ios15 conv x=fp32[1,3,n] weight=fp32[4,3,3]=1 pad_type=string[]=custom pad=int32[2]=1", "fp32[1,4,n]"),
    ];
    for (op, want) in table {
        match infer_line(op) {
            Ok(types) => assert_eq!(types, [parse_type(want)], "{op}"),
            Err(e) => assert_eq!(want, "error", "{op}: {e}"),
        }
    }
}

/// Numbers at the edge of what fits give an error or an unknown extent, and no panic.
#[test]
fn hostile_numbers_are_errors() {
    let (big, top) = (u64::MAX, i32::MAX);
    for line in [
        format!("ios16 conv x=fp32[1,3,{big}] weight=fp32[4,3,{big}]"),
        format!("ios16 conv x=fp32[1,3,{big}] weight=fp32[4,3,{big}] pad_type=string[]=same"),
        format!(
            "ios16 conv x=fp32[1,3,9] weight=fp32[4,3,{}] dilations=int32[1]={top} strides=int32[1]={top}",
            big / 2
        ),
        "ios16 conv x=fp32[1,3,9] weight=fp32[4,3,3]=1 strides=int32[1]=0".to_owned(),
        "ios16 conv x=fp32[1,3,9] weight=fp32[4,3,3]=1 dilations=int32[1]=-1".to_owned(),
        "ios16 conv x=fp32[1,3,9] weight=fp32[4,3,3]=1 groups=int32[]=0".to_owned(),
        "ios16 conv x=fp32[1,3,9] weight=fp32[4,3,0]".to_owned(),
        "ios16 conv x=fp32[1,3] weight=fp32[4,3]".to_owned(),
        format!("ios17 conv_transpose x=fp32[1,{big},9] weight=fp32[{big},{big},3] groups=int32[]={top}"),
        format!("ios17 conv_transpose x=fp32[1,3,{big}] weight=fp32[3,4,3] strides=int32[1]={top}"),
        "ios17 conv_transpose x=fp32[1,3,1] weight=fp32[3,4,1] pad_type=string[]=custom pad=int32[2]=9".to_owned(),
        "ios17 conv_transpose x=fp32[1,3,1] weight=fp32[3,4,1] output_shape=int32[3]=1,4,-1".to_owned(),
        format!("ios16 max_pool x=fp32[1,3,{big}] kernel_sizes=int32[1]=1 pad_type=string[]=valid ceil_mode=bool[]=1"),
        "ios16 max_pool x=fp32[1,3,9] kernel_sizes=int32[1]=0 pad_type=string[]=valid".to_owned(),
        "ios16 max_pool x=fp32[1,3,9] kernel_sizes=int32[1]=1 pad_type=string[]=valid strides=int32[1]=0".to_owned(),
        "ios16 constexpr_lut_to_dense indices=uint8[2]=0 lut=fp16[4]=1 shape=uint32[3]=4294967295".to_owned(),
        "ios18 constexpr_blockwise_shift_scale data=int8[4,6]=1 scale=fp16[0,1]=1".to_owned(),
        "ios18 constexpr_lut_to_dense indices=uint1[]=1 lut=fp16[2,1]=1".to_owned(),
        "ios18 constexpr_lut_to_dense indices=uint1[2]=1 lut=fp16[1,0,1]=1".to_owned(),
        "ios15 linear x=fp32[] weight=fp32[2,2]=1".to_owned(),
        "ios15 matmul x=fp32[] y=fp32[]".to_owned(),
        "ios15 einsum values=fp32[]|fp32[] equation=string[]=chw,whr->chr".to_owned(),
        "ios15 reduce_argmax x=fp32[]".to_owned(),
        "ios15 conv x=fp32[1,3,9]".to_owned(),
        "ios15 cast x=fp32[1]".to_owned(),
    ] {
        let ours = infer_line(&line);
        let vague = |t: &Type| t.shape().is_some_and(|s| !s.is_known());
        assert!(ours.is_err() || ours.as_ref().is_ok_and(|t| t.iter().any(vague)), "{line}: {ours:?}");
    }
}

#[test]
fn passes_can_ask_what_an_input_accepts() {
    let accepts = |kind, opset, input, dtype| schema::accepts(kind, opset, input, dtype);
    assert!(accepts(OpKind::Cast, Opset::Ios17, "x", DType::Int16));
    assert!(!accepts(OpKind::Cast, Opset::Ios16, "x", DType::Int16));
    assert!(accepts(OpKind::Add, Opset::Ios18, "x", DType::Int32));
    assert!(!accepts(OpKind::Add, Opset::Ios18, "x", DType::Bool));
    assert!(!accepts(OpKind::Add, Opset::Ios18, "z", DType::Fp32));
    assert!(!accepts(OpKind::Quantize, Opset::Ios16, "input", DType::Fp32));
}
