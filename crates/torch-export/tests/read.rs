//! What `torch.export.save` wrote, read back. Expected values are torch's own (see `data/make_fixtures.py`).

mod common;

use coremill_tensor::DType;
use coremill_torch_export::{Argument, InputKind, ScalarType, SymInt, read, read_bytes};
use zip::CompressionMethod;

#[test]
fn weights_of_every_kind() {
    let p = read(&common::path("weights")).unwrap();
    let f32s = |n: &str| p.weights[n].to_contiguous().unwrap().to_f64s().unwrap();
    let count = |from: u32, to: u32| (from..to).map(f64::from).collect::<Vec<_>>();
    assert_eq!(f32s("whole"), count(0, 24));
    assert_eq!(f32s("tail"), count(12, 24));
    assert_eq!(f32s("transposed"), [12., 16., 20., 13., 17., 21., 14., 18., 22., 15., 19., 23.]);
    assert_eq!(f32s("every_third"), [1., 4., 7., 10., 13., 16., 19., 22.]);
    assert_eq!(f32s("wide"), [1.5, 1.5, 1.5, 2.5, 2.5, 2.5]);
    assert_eq!(p.weights["empty"].to_contiguous().unwrap().shape(), [0, 4]);
    for t in ["half", "bf", "u8", "i8", "i32", "i64", "u16", "u32", "u64"] {
        assert_eq!(f32s(&format!("t_{t}")), [1., 2., 3.], "{t}");
    }
    assert_eq!(p.weights["t_c64"].to_contiguous().unwrap().dtype(), DType::Complex64);
    assert_eq!(p.weights["t_c128"].dtype, ScalarType::Complex128);
    assert!(p.weights["t_c128"].to_contiguous().unwrap_err().contains("complex128"));
    assert_eq!(p.weights["t_e4m3"].to_contiguous().unwrap().bytes().as_ref(), [0x38, 0x40, 0x44]);
    assert_eq!(p.weights["t_e5m2"].to_contiguous().unwrap().bytes().as_ref(), [0x3c, 0x40, 0x42]);
    assert_eq!(p.constants["lifted_tensor_0"].to_contiguous().unwrap().to_f64s().unwrap(), [1., 2., 3., 4.]);
    assert_eq!(p.constants["scratch"].to_contiguous().unwrap().to_i64s().unwrap(), [1, 0]);
    let scratch = p.inputs.iter().find(|i| p.graph.name(i.arg.as_tensor().unwrap()) == "b_scratch").unwrap();
    assert_eq!(scratch.kind, InputKind::Buffer { name: "scratch".into(), persistent: false });
    assert_eq!(p.data(scratch).unwrap().sizes, [2]);
}

#[test]
fn contiguous_weights_are_slices_of_the_file() {
    let file = bytes::Bytes::from(common::bytes("weights"));
    let p = read_bytes(file.clone()).unwrap();
    let inside = |b: &[u8]| file.as_ptr_range().contains(&b.as_ptr());
    assert!(inside(&p.weights["tail"].to_contiguous().unwrap().bytes()));
    assert!(!inside(&p.weights["transposed"].to_contiguous().unwrap().bytes()));
    assert_eq!(p.weights["tail"].bytes.as_ptr(), p.weights["whole"].bytes.as_ptr());
}

#[test]
fn infinities_none_and_constants() {
    let p = read(&common::path("weights")).unwrap();
    let node = |n: &str| p.graph.nodes.iter().find(|x| x.name == n).unwrap();
    assert_eq!(node("full_like").input("fill_value"), Some(&Argument::Float(f64::NEG_INFINITY)));
    assert_eq!(node("clamp").input("min"), Some(&Argument::None));
    assert_eq!(node("clamp").input("max"), Some(&Argument::Float(f64::INFINITY)));
    assert_eq!(p.graph.outputs[2..], [Argument::None, Argument::Int(3)]);
    assert_eq!(node("detach_").aten(), Some(("detach_", "default")));
    assert!(node("detach_").source_line().unwrap().starts_with("make_fixtures.py:"));
}

#[test]
fn symbols_are_expressions() {
    let p = read(&common::path("dynamic")).unwrap();
    let x = p.graph.find("x").unwrap();
    let shape = p.graph.tensor(x).unwrap().shape().to_string();
    let symbols: Vec<&str> = p.ranges.keys().map(String::as_str).filter(|k| !k.contains('*')).collect();
    assert_eq!(symbols.len(), 2, "{symbols:?}");
    assert!(symbols.iter().all(|s| shape.contains(&format!("2*{s}"))), "{shape}");
    let kinds: Vec<&InputKind> = p.inputs.iter().map(|i| &i.kind).collect();
    assert!(
        matches!(kinds[1..], [InputKind::Constant(_), InputKind::Constant(_), InputKind::Constant(_)]),
        "{kinds:?}"
    );
    assert_eq!(p.inputs[1].arg, Argument::Float(2.0));
    assert_eq!(p.inputs[2].arg, Argument::Bool(true));
    let z = p.graph.tensor(p.graph.find("upsample_nearest1d").unwrap()).unwrap();
    assert!(matches!(&z.sizes[2], SymInt::Opaque { text, hint: Some(7) } if text.starts_with("TruncToInt(")), "{z}");
    assert!(p.guards.iter().all(|g| !g.is_empty()));
}

#[test]
fn nested_graphs_have_their_own_values() {
    let p = read(&common::path("nested")).unwrap();
    let cond = p.graph.nodes.iter().find(|n| n.name == "cond").unwrap();
    let Argument::Graph(then) = &cond.inputs[1].arg else { panic!("{cond:?}") };
    assert_eq!(
        then.graph.to_string(),
        "input x: float32[4]\nsin: float32[4] = aten.sin.default(x)\n\
        add: float32[4] = aten.add.Tensor(sin, 1)\noutput add\n"
    );
    assert_eq!(p.nodes().len(), p.graph.nodes.len() + 4);
}

#[test]
fn prints_like_fx() {
    let text = read(&common::path("state")).unwrap().to_string();
    for line in [
        "  input b_count: float32[3] = buffer `count`\n",
        "  input i: int64[1]\n",
        "  index_put_: float32[4, 3] = aten.index_put_.default(b_cache, [i], x)\n",
        "  output mul_\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_rezipped_file_reads_the_same() {
    let stored = read(&common::path("weights")).unwrap();
    let deflated =
        read_bytes(common::archive(&common::entries("weights"), CompressionMethod::Deflated).into()).unwrap();
    assert_eq!(stored.graph, deflated.graph);
    assert_eq!(stored.weights, deflated.weights);
}
