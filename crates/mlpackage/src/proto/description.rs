//! The model's description of its interface, as far as this crate makes or looks into it.

use std::collections::BTreeMap;

/// The interface of a model, and what people wrote about it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelDescription {
    /// Inputs of a model with one function.
    #[prost(message, repeated, tag = "1")]
    pub input: Vec<FeatureDescription>,
    /// Outputs of a model with one function.
    #[prost(message, repeated, tag = "10")]
    pub output: Vec<FeatureDescription>,
    /// The output that holds the predicted class.
    #[prost(string, tag = "11")]
    pub predicted_feature_name: String,
    /// The output that holds the probabilities of the classes.
    #[prost(string, tag = "12")]
    pub predicted_probabilities_name: String,
    /// States of a model with one function.
    #[prost(message, repeated, tag = "13")]
    pub state: Vec<FeatureDescription>,
    /// The functions of a model with several.
    #[prost(message, repeated, tag = "20")]
    pub functions: Vec<FunctionDescription>,
    /// Name of the function that runs when none is chosen.
    #[prost(string, tag = "21")]
    pub default_function_name: String,
    /// What people wrote about it.
    #[prost(message, optional, tag = "100")]
    pub metadata: Option<Metadata>,
}

/// The interface of one function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionDescription {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Inputs.
    #[prost(message, repeated, tag = "2")]
    pub input: Vec<FeatureDescription>,
    /// Outputs.
    #[prost(message, repeated, tag = "3")]
    pub output: Vec<FeatureDescription>,
    /// The output that holds the predicted class.
    #[prost(string, tag = "4")]
    pub predicted_feature_name: String,
    /// The output that holds the probabilities of the classes.
    #[prost(string, tag = "5")]
    pub predicted_probabilities_name: String,
    /// States.
    #[prost(message, repeated, tag = "6")]
    pub state: Vec<FeatureDescription>,
}

/// What people wrote about a model.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    /// One sentence.
    #[prost(string, tag = "1")]
    pub short_description: String,
    /// Version of the model.
    #[prost(string, tag = "2")]
    pub version_string: String,
    /// Author.
    #[prost(string, tag = "3")]
    pub author: String,
    /// Licence.
    #[prost(string, tag = "4")]
    pub license: String,
    /// Anything else, by key.
    #[prost(btree_map = "string, string", tag = "100")]
    pub user_defined: BTreeMap<String, String>,
}

/// An input, output or state.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FeatureDescription {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// One sentence.
    #[prost(string, tag = "2")]
    pub short_description: String,
    /// Type.
    #[prost(message, optional, tag = "3")]
    pub r#type: Option<FeatureType>,
}

/// The type of a feature.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FeatureType {
    /// May it be left out?
    #[prost(bool, tag = "1000")]
    pub is_optional: bool,
    /// Which.
    #[prost(oneof = "FeatureKind", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub r#type: Option<FeatureKind>,
}

/// The kinds of features.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum FeatureKind {
    /// A 64-bit integer.
    #[prost(message, tag = "1")]
    Int64(Empty),
    /// A double.
    #[prost(message, tag = "2")]
    Double(Empty),
    /// A string.
    #[prost(message, tag = "3")]
    String(Empty),
    /// An image.
    #[prost(message, tag = "4")]
    Image(ImageFeatureType),
    /// A multi-dimensional array.
    #[prost(message, tag = "5")]
    MultiArray(ArrayFeatureType),
    /// A dictionary.
    #[prost(message, tag = "6")]
    Dictionary(DictionaryFeatureType),
    /// A sequence.
    #[prost(message, tag = "7")]
    Sequence(Empty),
    /// A state.
    #[prost(message, tag = "8")]
    State(StateFeatureType),
}

/// A message whose fields are not looked into.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Empty {}

/// An image.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageFeatureType {
    /// Width in pixels.
    #[prost(int64, tag = "1")]
    pub width: i64,
    /// Height in pixels.
    #[prost(int64, tag = "2")]
    pub height: i64,
    /// 10 grey, 20 RGB, 30 BGR, 40 grey in 16-bit floats.
    #[prost(int32, tag = "3")]
    pub color_space: i32,
}

/// A multi-dimensional array.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ArrayFeatureType {
    /// The default shape; empty where it is not known.
    #[prost(int64, repeated, tag = "1")]
    pub shape: Vec<i64>,
    /// Code of the element type, see the constants of [`array_dtype`].
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// The shapes it may have, where there are several.
    #[prost(oneof = "ShapeFlexibility", tags = "21, 31")]
    pub flexibility: Option<ShapeFlexibility>,
}

/// Codes of the element types of arrays.
pub mod array_dtype {
    /// 32-bit floats.
    pub const FLOAT32: i32 = 0x10000 | 32;
    /// 64-bit floats.
    pub const DOUBLE: i32 = 0x10000 | 64;
    /// 16-bit floats.
    pub const FLOAT16: i32 = 0x10000 | 16;
    /// 32-bit integers.
    pub const INT32: i32 = 0x20000 | 32;
    /// 8-bit integers.
    pub const INT8: i32 = 0x20000 | 8;
}

/// The shapes an array may have.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ShapeFlexibility {
    /// These.
    #[prost(message, tag = "21")]
    Enumerated(EnumeratedShapes),
    /// All in a range.
    #[prost(message, tag = "31")]
    Range(ShapeRange),
}

/// A list of shapes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EnumeratedShapes {
    /// The shapes.
    #[prost(message, repeated, tag = "1")]
    pub shapes: Vec<ArrayShape>,
}

/// A shape.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ArrayShape {
    /// Extents.
    #[prost(int64, repeated, tag = "1")]
    pub shape: Vec<i64>,
}

/// A range of shapes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ShapeRange {
    /// One range per dimension.
    #[prost(message, repeated, tag = "1")]
    pub size_ranges: Vec<SizeRange>,
}

/// A range of extents.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SizeRange {
    /// The least.
    #[prost(uint64, tag = "1")]
    pub lower_bound: u64,
    /// The greatest; -1 for no bound.
    #[prost(int64, tag = "2")]
    pub upper_bound: i64,
}

/// A dictionary.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DictionaryFeatureType {
    /// Type of its keys.
    #[prost(oneof = "KeyKind", tags = "1, 2")]
    pub key: Option<KeyKind>,
}

/// Types of keys.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum KeyKind {
    /// 64-bit integers.
    #[prost(message, tag = "1")]
    Int64(Empty),
    /// Strings.
    #[prost(message, tag = "2")]
    String(Empty),
}

/// A state.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StateFeatureType {
    /// What it holds.
    #[prost(oneof = "StateKind", tags = "1")]
    pub r#type: Option<StateKind>,
}

/// What a state may hold.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum StateKind {
    /// An array.
    #[prost(message, tag = "1")]
    Array(ArrayFeatureType),
}
