//! Type inference gives what coremltools gives, op by op: the table in `data/infer_a.txt` was recorded from it.

use coremill_mil::{Arg, Const, InferError, OpArgs, OpKind, Opset, Type, infer, schema, version_of};
use coremill_tensor::{DType, Data, Dim, Shape};
use indexmap::IndexMap;

/// `fp32[2,n,?]`.
fn parse_type(s: &str) -> Type {
    let (dtype, dims) = s.split_once('[').unwrap();
    let dims = dims.strip_suffix(']').unwrap().split(',').filter(|d| !d.is_empty());
    let shape: Shape = dims
        .map(|d| match d.parse::<u64>() {
            Ok(n) => Dim::Known(n),
            Err(_) if d == "?" => Dim::Unknown,
            Err(_) => Dim::symbol(d),
        })
        .collect();
    Type::tensor(dtype.parse().unwrap(), shape)
}

/// A constant of a type: one value for all elements or one for each.
fn constant(ty: &Type, values: &str) -> Const {
    let ty = ty.as_tensor().unwrap();
    if ty.dtype == DType::String {
        return Const::string(values);
    }
    let shape = ty.shape.to_known().unwrap();
    let count = shape.iter().product();
    let mut numbers: Vec<f64> = values.split(',').filter(|v| !v.is_empty()).map(|v| v.parse().unwrap()).collect();
    if let [one] = numbers[..] {
        numbers = vec![one; count];
    }
    let data = match ty.dtype {
        DType::Fp32 => Data::from_vec(&shape, numbers.iter().map(|&n| n as f32).collect()),
        DType::Fp16 => Data::from_vec(&shape, numbers.iter().map(|&n| half::f16::from_f64(n)).collect()),
        DType::Bool => Data::from_bools(&shape, &numbers.iter().map(|&n| n != 0.0).collect::<Vec<_>>()),
        other if other.is_sub_byte() => {
            Data::pack(other, &shape, &numbers.iter().map(|&n| n as i64).collect::<Vec<_>>()).unwrap()
        }
        other => {
            let width = other.bits() / 8;
            let bytes = numbers.iter().flat_map(|&n| (n as i64).to_le_bytes().into_iter().take(width));
            Data::new(other, &shape, bytes.collect::<Vec<u8>>()).unwrap()
        }
    };
    Const::Tensor(data)
}

/// Inference as a builder sees it: the arguments hold to the definition, also in what must be constant.
fn infer_checked(args: &OpArgs<'_>) -> Result<Vec<Type>, InferError> {
    let types = infer(args)?;
    schema::check_inputs(args).map_err(|e| e[0].clone())?;
    for spec in version_of(args.kind, args.opset).unwrap().inputs {
        if spec.constant && args.is_given(spec.name) && args.value(spec.name).is_none() {
            return Err(InferError::NotConstant(spec.name));
        }
    }
    Ok(types)
}

/// The type of an argument, and its value where it is constant.
type Given = (Type, Option<Const>);

/// The types of one line's op.
fn infer_line(line: &str) -> Result<Vec<Type>, InferError> {
    let mut words = line.split(' ').filter(|w| !w.is_empty());
    let opset: Opset = words.next().unwrap().parse().unwrap();
    let kind = OpKind::from_name(words.next().unwrap()).unwrap();
    let as_attributes = version_of(kind, opset).is_some_and(|v| v.as_attributes);
    let given: Vec<(&str, Vec<Given>)> = words
        .map(|w| {
            let (name, values) = w.split_once('=').unwrap();
            let parse = |v: &str| match v.split_once("]=") {
                Some((ty, values)) => {
                    let ty = parse_type(&format!("{ty}]"));
                    let value = constant(&ty, values);
                    (ty, Some(value))
                }
                None => (parse_type(v), None),
            };
            (name, values.split('|').map(parse).collect())
        })
        .collect();
    let mut attributes = IndexMap::new();
    let mut args = OpArgs::new(kind, opset);
    for (name, list) in &given {
        match &list[..] {
            [(_, Some(value))] if as_attributes => {
                attributes.insert((*name).to_owned(), value.clone());
            }
            _ => args.inputs.push((name, list.iter().map(|(ty, v)| Arg::new(ty, v.as_ref())).collect())),
        }
    }
    args.attributes = Some(&attributes);
    infer_checked(&args)
}

/// Is `ours` what the peer has? Where it makes up a symbol, an expression of ours says more.
fn agrees(ours: &Type, peer: &Type) -> bool {
    let (Some(a), Some(b)) = (ours.as_tensor(), peer.as_tensor()) else { return false };
    let dims = |(a, b): (&Dim, &Dim)| if *b == Dim::Unknown { !a.is_known() } else { a == b };
    a.dtype == b.dtype && a.rank() == b.rank() && a.shape.iter().zip(&b.shape).all(dims)
}

#[test]
fn result_types_are_those_of_coremltools() {
    let mut wrong = Vec::new();
    let lines = include_str!("data/infer_a.txt").lines().filter(|l| !l.starts_with('#'));
    for line in lines {
        let (op, want) = line.split_once(" -> ").unwrap();
        let ours = infer_line(op);
        let good = match &ours {
            Err(_) => want == "error",
            Ok(types) => {
                let peer: Vec<Type> =
                    if want == "error" { Vec::new() } else { want.split(' ').map(parse_type).collect() };
                types.len() == peer.len() && types.iter().zip(&peer).all(|(a, b)| agrees(a, b))
            }
        };
        if !good {
            wrong.push(match ours {
                Ok(t) => format!("{line}\n    ours: {}", t.iter().map(Type::to_string).collect::<Vec<_>>().join(" ")),
                Err(e) => format!("{line}\n    ours: {e}"),
            });
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
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
