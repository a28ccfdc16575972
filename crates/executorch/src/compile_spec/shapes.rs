//! The value of the `enumerated_shapes` compile spec.
//!
//! It lists, for each symbolic shape of a program's inputs, the shapes it may take and the inputs that have it. This
//! module reads and writes that; whether the shapes fit the program is for the lowering to say.

use serde_json::{Value, json};

/// One dimension of a symbolic shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeDim {
    /// A known size.
    Fixed(i64),
    /// A symbol, with the range the export gave it; an absent bound is an infinite one.
    Symbol {
        /// The symbol's name in the exported program, such as `s0`.
        name: String,
        /// Smallest size.
        low: Option<i64>,
        /// Largest size.
        high: Option<i64>,
    },
}

/// One entry: a symbolic shape, the shapes it may take, and the inputs it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumeratedShapes {
    /// The symbolic shape, outermost dimension first.
    pub symbolic: Vec<ShapeDim>,
    /// The shapes it may take, each of the rank of `symbolic`.
    pub shapes: Vec<Vec<i64>>,
    /// Names of the inputs that have this shape.
    pub inputs: Vec<String>,
}

/// Reads the list of entries; the error says what is wrong and where.
pub(super) fn from_json(value: &Value) -> Result<Vec<EnumeratedShapes>, String> {
    let entries = value.as_array().ok_or("a JSON list of pairs is wanted")?;
    let read = |(i, entry): (usize, &Value)| entry_from_json(entry).map_err(|e| format!("entry {i}: {e}"));
    entries.iter().enumerate().map(read).collect()
}

fn entry_from_json(entry: &Value) -> Result<EnumeratedShapes, String> {
    let pair = entry.as_array().map(Vec::as_slice);
    let Some([symbolic, Value::Array(values)]) = pair else {
        return Err("a pair of a shape and its values is wanted".to_owned());
    };
    let fields = symbolic.as_object().filter(|fields| fields.len() == 1);
    let dims = fields.and_then(|fields| fields.get("shape")).and_then(Value::as_array);
    let dims = dims.ok_or("the shape is an object with the one field 'shape', a list")?;
    let symbolic = dims.iter().map(dim_from_json).collect::<Result<Vec<_>, _>>()?;
    let [Value::Array(shapes), Value::Array(inputs)] = values.as_slice() else {
        return Err("the values are a list of shapes and a list of input names".to_owned());
    };
    let shapes = shapes.iter().map(|shape| sizes_from_json(shape, symbolic.len())).collect::<Result<_, _>>()?;
    let name = |name: &Value| name.as_str().map(str::to_owned).ok_or("an input name is a string");
    let inputs = inputs.iter().map(name).collect::<Result<_, _>>()?;
    Ok(EnumeratedShapes { symbolic, shapes, inputs })
}

fn dim_from_json(dim: &Value) -> Result<ShapeDim, String> {
    if let Some(size) = dim.as_i64() {
        return Ok(ShapeDim::Fixed(size));
    }
    let problem = || format!("{dim} is no dimension: an integer, or an object with key_name, low and high, is wanted");
    let fields = dim.as_object().filter(|fields| fields.len() == 3).ok_or_else(problem)?;
    let bound = |name: &str| match fields.get(name) {
        Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(problem),
        None => Err(problem()),
    };
    let name = fields.get("key_name").and_then(Value::as_str).ok_or_else(problem)?;
    Ok(ShapeDim::Symbol { name: name.to_owned(), low: bound("low")?, high: bound("high")? })
}

fn sizes_from_json(shape: &Value, rank: usize) -> Result<Vec<i64>, String> {
    let sizes = shape.as_array().and_then(|sizes| sizes.iter().map(Value::as_i64).collect::<Option<Vec<_>>>());
    sizes.filter(|sizes| sizes.len() == rank).ok_or_else(|| format!("{shape} is no list of {rank} sizes"))
}

/// Writes the list of entries.
pub(super) fn to_json(entries: &[EnumeratedShapes]) -> Value {
    let dim = |dim: &ShapeDim| match dim {
        ShapeDim::Fixed(size) => json!(size),
        ShapeDim::Symbol { name, low, high } => json!({"key_name": name, "low": low, "high": high}),
    };
    let entry = |entry: &EnumeratedShapes| {
        let symbolic: Vec<Value> = entry.symbolic.iter().map(dim).collect();
        json!([{ "shape": symbolic }, [entry.shapes, entry.inputs]])
    };
    entries.iter().map(entry).collect()
}
