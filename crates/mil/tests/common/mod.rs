//! Tables of ops and the types that coremltools infers for them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use coremill_mil::{Arg, Attributes, Const, InferError, OpArgs, OpKind, Opset, Type, infer, schema, version_of};
use coremill_tensor::{DType, Data, Dim, Shape};

/// `fp32[2,n,?]`.
pub fn parse_type(s: &str) -> Type {
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
pub fn infer_line(line: &str) -> Result<Vec<Type>, InferError> {
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
    let mut attributes = Attributes::new();
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

/// Fails unless every line of a table gives the types it tells.
#[track_caller]
pub fn check_table(table: &str) {
    let mut wrong = Vec::new();
    for line in table.lines().filter(|l| !l.starts_with('#')) {
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
