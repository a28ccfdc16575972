//! What each value of the graph became in MIL, and weights that become constants when first used.

use std::sync::Arc;

use coremill_mil::{Builder, Const, Origin, SourceNode, ValueId};
use coremill_tensor::{DType, Data, bf16};

use super::node::NodeError;
use crate::graph::{Graph, ValueId as GraphValue};

/// What a value of the graph is bound to.
#[derive(Clone)]
enum Binding {
    /// A value of the function.
    Value(ValueId),
    /// A weight that no op has used yet: its name, its elements.
    Weight(String, Data),
}

/// Bindings by graph value.
pub(crate) struct Env {
    bindings: Vec<Option<Binding>>,
}

impl Env {
    /// No bindings, for a graph of this many values.
    pub(crate) fn new(values: usize) -> Env {
        Env { bindings: vec![None; values] }
    }

    /// Binds a value of the graph to one of the function.
    pub(crate) fn bind(&mut self, v: GraphValue, to: ValueId) {
        if let Some(slot) = self.bindings.get_mut(v.index()) {
            *slot = Some(Binding::Value(to));
        }
    }

    /// Binds a value of the graph to a weight.
    pub(crate) fn bind_weight(&mut self, v: GraphValue, name: String, data: Data) {
        if let Some(slot) = self.bindings.get_mut(v.index()) {
            *slot = Some(Binding::Weight(name, data));
        }
    }

    /// The value of the function that a value of the graph is bound to; a weight becomes a `const` op here.
    pub(crate) fn value(&mut self, v: GraphValue, graph: &Graph, b: &mut Builder<'_>) -> Result<ValueId, NodeError> {
        match self.bindings.get(v.index()).cloned().flatten() {
            Some(Binding::Value(v)) => Ok(v),
            Some(Binding::Weight(name, data)) => {
                let data = to_mil(&data).map_err(|what| NodeError::unsupported(format!("weight `{name}`, {what},")))?;
                let source = SourceNode { name: name.clone(), target: "get_attr".to_owned(), ..SourceNode::default() };
                let used_by = b.origin().clone();
                b.set_origin(Origin::from_source(Arc::new(source)));
                let made = b.constant(graph.name(v), Const::Tensor(data));
                b.set_origin(used_by);
                self.bind(v, made);
                Ok(made)
            }
            None => Err(NodeError::unsupported(format!("`{}`, which no tensor was made for,", graph.name(v)))),
        }
    }
}

/// The element type that MIL programs have for one of torch: 64 bits become 32, `bf16` becomes `fp32`.
pub(crate) fn mil_dtype(d: DType) -> Option<DType> {
    Some(match d {
        DType::Int64 => DType::Int32,
        DType::Fp64 | DType::Bf16 => DType::Fp32,
        DType::Bool
        | DType::Fp16
        | DType::Fp32
        | DType::Int8
        | DType::Int16
        | DType::Int32
        | DType::UInt8
        | DType::UInt16
        | DType::UInt32 => d,
        _ => return None,
    })
}

/// A weight in the element type that MIL programs have for its own; shared where that is the same.
///
/// `int64` numbers outside `int32` are clamped to it: torch writes its "no limit" as the greatest `int64`.
fn to_mil(d: &Data) -> Result<Data, String> {
    let Some(to) = mil_dtype(d.dtype()) else { return Err(format!("which is {}", d.dtype())) };
    if to == d.dtype() {
        return Ok(d.clone());
    }
    let shape = d.shape();
    Ok(match d.dtype() {
        DType::Int64 => {
            let v = d.as_slice::<i64>().unwrap_or_default();
            let clamp = |&v: &i64| v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
            Data::from_vec(shape, v.iter().map(clamp).collect::<Vec<_>>())
        }
        DType::Fp64 => {
            let v = d.as_slice::<f64>().unwrap_or_default();
            Data::from_vec(shape, v.iter().map(|&v| v as f32).collect::<Vec<_>>())
        }
        _ => {
            let v = d.as_slice::<bf16>().unwrap_or_default();
            Data::from_vec(shape, v.iter().map(|v| v.to_f32()).collect::<Vec<_>>())
        }
    })
}
