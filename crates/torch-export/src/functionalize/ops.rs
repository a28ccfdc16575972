//! What ATen's ops do to their inputs: write, show their elements in the result, or neither.

use super::alias::{can_view, same_geometry};
use crate::graph::{Argument, Graph, Node, ValueId};
use crate::types::ScalarType;

/// What a node does to its inputs.
pub(super) enum Effect {
    /// Its results have elements of their own.
    Fresh,
    /// Each of these results shows elements of the value beside it; `false`: or is a copy.
    Views(Vec<(ValueId, ValueId, bool)>),
    /// It only changes the shape that its input shows; the functional form.
    ShapeInPlace(String),
    /// It writes to one input; the functional form.
    Write(Functional),
    /// It can't be made functional; why, and what to do.
    Refused(String),
}

/// The functional form of an in-place op.
pub(super) struct Functional {
    /// The target.
    pub(super) target: String,
    /// The name of its first argument, where that is not `self`.
    pub(super) self_name: Option<&'static str>,
    /// Does it write to its argument `out`, which the functional form has not?
    pub(super) out: bool,
}

/// Ops whose results are always views of their first input.
const VIEWS: &[&str] = &[
    "_reshape_alias",
    "alias",
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "broadcast_to",
    "chunk",
    "detach",
    "diagonal",
    "dsplit",
    "expand",
    "expand_as",
    "hsplit",
    "imag",
    "lift_fresh",
    "linalg_diagonal",
    "mT",
    "meshgrid",
    "moveaxis",
    "movedim",
    "narrow",
    "numpy_T",
    "permute",
    "positive",
    "real",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "tensor_split",
    "transpose",
    "unbind",
    "unflatten",
    "unfold",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "vsplit",
];

/// Views that may show other numbers than their input holds: conjugates and negatives.
const CHANGING_VIEWS: &[&str] =
    &["_conj", "_neg_view", "adjoint", "conj", "mH", "matrix_H", "resolve_conj", "resolve_neg"];

/// Ops that are a view where the strides allow, else a copy.
const RESHAPES: &[&str] = &["flatten", "ravel", "reshape", "reshape_as"];

/// Ops that give their input back when it is already what they would make.
const CONVERSIONS: &[&str] = &[
    "_autocast_to_full_precision",
    "_autocast_to_reduced_precision",
    "contiguous",
    "cpu",
    "cuda",
    "pin_memory",
    "sum_to_size",
    "to",
    "type_as",
];

/// Ops that give their input back in evaluation.
const DROPOUTS: &[&str] = &["alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout"];

/// In-place ops that write no element.
const SHAPE_IN_PLACE: &[&str] =
    &["as_strided_", "detach_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"];

/// In-place ops without a functional form of the same meaning.
const NO_FUNCTIONAL: &[&str] = &[
    "_no_grad_fill_",
    "_no_grad_normal_",
    "_no_grad_uniform_",
    "_no_grad_zero_",
    "fill_diagonal_",
    "requires_grad_",
    "resize_",
    "resize_as_",
    "rrelu_with_noise_",
    "set_",
];

/// Ops that keep running statistics when they train.
const BATCH_NORMS: &[&str] =
    &["batch_norm", "_batch_norm_with_update", "_native_batch_norm_legit", "native_batch_norm", "instance_norm"];

/// The tensor that an in-place op works on.
pub(super) fn self_tensor(node: &Node) -> Option<ValueId> {
    node.inputs.first()?.arg.as_tensor()
}

/// What `node` does.
pub(super) fn effect(graph: &Graph, node: &Node) -> Effect {
    let Some((namespace, name, overload)) = node.op() else { return Effect::Fresh };
    let writes = name.ends_with('_') && !name.ends_with("__");
    if namespace != "aten" {
        let what = "is an in-place op that is not ATen's; give it a functional form, or decompose it before export";
        return if writes { Effect::Refused(what.to_owned()) } else { Effect::Fresh };
    }
    if let Some(refusal) = hidden_write(node, name) {
        return Effect::Refused(refusal);
    }
    if overload.ends_with("out") && node.input("out").is_some() {
        return write_out(graph, node, name, overload);
    }
    if SHAPE_IN_PLACE.contains(&name) {
        let overload = if name == "transpose_" { "int" } else { overload };
        return Effect::ShapeInPlace(target(name.trim_end_matches('_'), overload));
    }
    if writes || (name.starts_with("__i") && is_augmented(name)) {
        return write(name, overload);
    }
    let views = views(graph, node, name);
    if views.is_empty() { Effect::Fresh } else { Effect::Views(views) }
}

fn is_augmented(name: &str) -> bool {
    matches!(name, "__iand__" | "__ior__" | "__ixor__" | "__ilshift__" | "__irshift__")
}

fn target(name: &str, overload: &str) -> String {
    format!("torch.ops.aten.{name}.{overload}")
}

/// The functional form: the same name without `_` but for a few.
fn write(name: &str, overload: &str) -> Effect {
    if NO_FUNCTIONAL.contains(&name)
        || name.starts_with("_foreach_")
        || name.starts_with("_fused_")
        || name.starts_with("_amp_")
    {
        return Effect::Refused(format!("has no functional form; {}", super::ADVICE));
    }
    if is_augmented(name) {
        let target = target(&name.replacen("__i", "__", 1), overload);
        return Effect::Write(Functional { target, self_name: None, out: false });
    }
    let base = name.strip_suffix('_').unwrap_or(name);
    let (base, overload) = match (base, overload) {
        ("pow" | "float_power", "Tensor") => (base, "Tensor_Tensor"),
        ("pow", "Scalar") => (base, "Tensor_Scalar"),
        ("float_power", "Scalar") => (base, "Tensor_Scalar"),
        ("floor_divide", "Tensor") => (base, "default"),
        ("bernoulli", "float") => (base, "p"),
        ("normal", "default") => ("normal_functional", "default"),
        ("_index_put_impl", _) => ("index_put", "default"),
        other => other,
    };
    let self_name = match base {
        b if DROPOUTS.contains(&b) => Some("input"),
        _ => None,
    };
    Effect::Write(Functional { target: target(base, overload), self_name, out: false })
}

/// The functional form of an op that writes to its argument `out`.
fn write_out(graph: &Graph, node: &Node, name: &str, overload: &str) -> Effect {
    let overload = match (name, overload) {
        ("add" | "sub" | "subtract" | "mul" | "multiply" | "div" | "divide" | "copysign" | "ldexp", "out") => "Tensor",
        ("all" | "any" | "mean", "out") => "dim",
        ("max" | "min", "out") => "other",
        ("prod", "int_out") => "dim_int",
        (_, "out") => "default",
        (_, other) => other.strip_suffix("_out").unwrap_or(other),
    };
    let tensor = |v: Option<ValueId>| v.and_then(|v| graph.tensor(v));
    let out = tensor(node.input("out").and_then(Argument::as_tensor));
    let (input, result) = (tensor(self_tensor(node)), tensor(node.results().next()));
    let (Some(out), Some(input), Some(result)) = (out, input, result) else {
        return Effect::Refused(format!("writes to an `out` argument that is no single tensor; {}", super::ADVICE));
    };
    let knows_type = is_comparison(name) || is_promoting(name) || input.dtype == out.dtype;
    if !same_geometry(out, result) || !knows_type {
        return Effect::Refused(format!("changes the shape or type of its `out` argument; {}", super::ADVICE));
    }
    Effect::Write(Functional { target: target(name, overload), self_name: None, out: true })
}

/// Writes that the op's name does not show.
fn hidden_write(node: &Node, name: &str) -> Option<String> {
    if BATCH_NORMS.contains(&name) {
        let trains = ["training", "train", "use_input_stats"]
            .iter()
            .any(|n| node.input(n).and_then(Argument::as_bool) == Some(true));
        let keeps = node.input("running_mean").is_some_and(|a| !a.is_none());
        if (trains || name == "_batch_norm_with_update") && keeps {
            return Some("updates its running statistics; export the model in evaluation (`model.eval()`)".to_owned());
        }
    }
    None
}

/// The results that show elements of inputs: value, source, and whether that is sure.
fn views(graph: &Graph, node: &Node, name: &str) -> Vec<(ValueId, ValueId, bool)> {
    let Some(first) = node.inputs.first() else { return Vec::new() };
    let sources = first.arg.values();
    let [source, ..] = sources.as_slice() else { return Vec::new() };
    let results: Vec<ValueId> = node.results().collect();
    let of_first = |sure: bool| results.iter().map(|&v| (v, *source, sure)).collect();
    let meta = |v: ValueId| graph.tensor(v);
    let result_meta = results.first().and_then(|&v| meta(v));
    let (Some(source_meta), Some(result_meta)) = (meta(*source), result_meta) else { return Vec::new() };
    if VIEWS.contains(&name) {
        // Ops over several tensors give a view of each.
        return match sources.len() {
            1 => of_first(true),
            _ => results.iter().zip(&sources).map(|(&v, &s)| (v, s, true)).collect(),
        };
    }
    if CHANGING_VIEWS.contains(&name) {
        return of_first(false);
    }
    if RESHAPES.contains(&name) {
        return match can_view(source_meta, &result_meta.sizes) {
            Some(true) => of_first(true),
            Some(false) => Vec::new(),
            None => of_first(false),
        };
    }
    if CONVERSIONS.contains(&name) {
        let copies = node.input("copy").and_then(Argument::as_bool) == Some(true);
        let same = same_geometry(source_meta, result_meta) && source_meta.device == result_meta.device;
        return if same && !copies { of_first(true) } else { Vec::new() };
    }
    if DROPOUTS.contains(&name) {
        let trains = node.input("train").and_then(Argument::as_bool) != Some(false);
        let drops = node.input("p").and_then(Argument::as_float) != Some(0.0);
        return if trains && drops { Vec::new() } else { of_first(true) };
    }
    Vec::new()
}

/// Ops that give booleans when they do not work in place.
const COMPARISONS: &[&str] = &[
    "eq",
    "equal",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
    "not_equal",
];

/// Ops whose functional form promotes the types of its tensors.
const PROMOTING: &[&str] = &[
    "add",
    "arctan2",
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "div",
    "divide",
    "floor_divide",
    "fmod",
    "gcd",
    "hypot",
    "lcm",
    "mul",
    "multiply",
    "pow",
    "remainder",
    "sub",
    "subtract",
    "true_divide",
    "xlogy",
];

fn is_comparison(base: &str) -> bool {
    COMPARISONS.contains(&base)
}

fn is_promoting(base: &str) -> bool {
    PROMOTING.contains(&base)
}

/// The type that the functional form gives, where the in-place op keeps another.
pub(super) fn natural_dtype(graph: &Graph, node: &Node, y: ValueId) -> Option<ScalarType> {
    let (name, _) = node.aten()?;
    let name = name.strip_suffix('_').unwrap_or(name);
    let kept = graph.tensor(y)?.dtype;
    let natural = if is_comparison(name) {
        ScalarType::Bool
    } else if is_promoting(name) {
        let tensors = node.inputs.iter().filter_map(|i| graph.tensor(i.arg.as_tensor()?));
        let mut parts: [Option<ScalarType>; 2] = [None, None];
        for t in tensors {
            // Tensors without dimensions only count where they are of a higher kind.
            let part = &mut parts[usize::from(t.rank() == 0)];
            *part = Some(part.map_or(t.dtype, |p| promote(p, t.dtype)));
        }
        match parts {
            [Some(full), Some(scalar)] if kind(scalar) > kind(full) => promote(full, scalar),
            [Some(full), _] => full,
            [None, Some(scalar)] => scalar,
            [None, None] => kept,
        }
    } else {
        kept
    };
    (natural != kept).then_some(natural)
}

/// Boolean, integer, float, complex.
fn kind(t: ScalarType) -> u8 {
    use ScalarType as S;
    match t {
        S::Bool => 0,
        S::UInt8 | S::Int8 | S::Int16 | S::Int32 | S::Int64 | S::UInt16 | S::UInt32 | S::UInt64 => 1,
        S::ComplexHalf | S::Complex64 | S::Complex128 => 3,
        _ => 2,
    }
}

/// The type that holds both, as `torch.promote_types` has it.
fn promote(a: ScalarType, b: ScalarType) -> ScalarType {
    use ScalarType as S;
    if a == b {
        return a;
    }
    let (low, high) = if kind(a) <= kind(b) { (a, b) } else { (b, a) };
    match (kind(low), kind(high)) {
        (l, h) if l < h && !(l == 2 && h == 3) => high,
        (1, 1) if (low == S::UInt8) != (high == S::UInt8) => {
            let other = if low == S::UInt8 { high } else { low };
            if other == S::Int8 { S::Int16 } else { other }
        }
        (2, 2) if low.size() == high.size() => S::Float32,
        (2, 3) if low == S::Float64 => S::Complex128,
        (2, 3) if high == S::ComplexHalf => S::Complex64,
        (2, 3) => high,
        _ if low.size() > high.size() => low,
        _ => high,
    }
}
