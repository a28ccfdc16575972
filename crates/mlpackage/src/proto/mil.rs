//! The MIL program.

use std::collections::BTreeMap;

use bytes::Bytes;

/// A program: functions by name.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Program {
    /// Version of the program format; 1 so far.
    #[prost(int64, tag = "1")]
    pub version: i64,
    /// Functions by name.
    #[prost(btree_map = "string, message", tag = "2")]
    pub functions: BTreeMap<String, Function>,
    /// Free text.
    #[prost(string, tag = "3")]
    pub doc_string: String,
    /// Attributes (`buildInfo`).
    #[prost(btree_map = "string, message", tag = "4")]
    pub attributes: BTreeMap<String, Value>,
}

/// A function: inputs, and its body for one or several opsets.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Function {
    /// Inputs in order.
    #[prost(message, repeated, tag = "1")]
    pub inputs: Vec<NamedValueType>,
    /// The opset that is in force (`CoreML7`).
    #[prost(string, tag = "2")]
    pub opset: String,
    /// Bodies by opset.
    #[prost(btree_map = "string, message", tag = "3")]
    pub block_specializations: BTreeMap<String, Block>,
    /// Attributes.
    #[prost(btree_map = "string, message", tag = "4")]
    pub attributes: BTreeMap<String, Value>,
}

/// A block: ops in order.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Block {
    /// Inputs; a function's body has none of its own.
    #[prost(message, repeated, tag = "1")]
    pub inputs: Vec<NamedValueType>,
    /// Names of the values that are the block's outputs.
    #[prost(string, repeated, tag = "2")]
    pub outputs: Vec<String>,
    /// Ops.
    #[prost(message, repeated, tag = "3")]
    pub operations: Vec<Operation>,
    /// Attributes.
    #[prost(btree_map = "string, message", tag = "4")]
    pub attributes: BTreeMap<String, Value>,
}

/// An op.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Operation {
    /// The op type (`conv`).
    #[prost(string, tag = "1")]
    pub r#type: String,
    /// Arguments by parameter.
    #[prost(btree_map = "string, message", tag = "2")]
    pub inputs: BTreeMap<String, Argument>,
    /// Results.
    #[prost(message, repeated, tag = "3")]
    pub outputs: Vec<NamedValueType>,
    /// Nested blocks.
    #[prost(message, repeated, tag = "4")]
    pub blocks: Vec<Block>,
    /// Attributes: `name`, `val` of a `const`, and the like.
    #[prost(btree_map = "string, message", tag = "5")]
    pub attributes: BTreeMap<String, Value>,
}

/// What a parameter is given: one binding, or several where it takes a list.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Argument {
    /// The bindings in order.
    #[prost(message, repeated, tag = "1")]
    pub arguments: Vec<Binding>,
}

/// One argument.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Binding {
    /// A value by name, or a literal.
    #[prost(oneof = "Bound", tags = "1, 2")]
    pub binding: Option<Bound>,
}

/// A value by name, or a literal.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Bound {
    /// Name of a value.
    #[prost(string, tag = "1")]
    Name(String),
    /// A literal.
    #[prost(message, tag = "2")]
    Value(Value),
}

/// A name and its type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NamedValueType {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<ValueType>,
}

/// A type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueType {
    /// Which.
    #[prost(oneof = "TypeKind", tags = "1, 2, 3, 4, 5")]
    pub r#type: Option<TypeKind>,
}

/// The kinds of types.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TypeKind {
    /// A tensor; a scalar is a tensor of rank 0.
    #[prost(message, tag = "1")]
    Tensor(TensorType),
    /// A list.
    #[prost(message, boxed, tag = "2")]
    List(Box<ListType>),
    /// A tuple.
    #[prost(message, tag = "3")]
    Tuple(TupleType),
    /// A dictionary.
    #[prost(message, boxed, tag = "4")]
    Dictionary(Box<DictionaryType>),
    /// A state.
    #[prost(message, boxed, tag = "5")]
    State(Box<StateType>),
}

/// Element type and shape.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorType {
    /// Code of the element type, see [`crate::from_proto_code`].
    #[prost(int32, tag = "1")]
    pub data_type: i32,
    /// Number of dimensions; -1 where it is not known.
    #[prost(int64, tag = "2")]
    pub rank: i64,
    /// Dimensions.
    #[prost(message, repeated, tag = "3")]
    pub dimensions: Vec<Dimension>,
    /// Attributes; no known writer sets any.
    #[prost(btree_map = "string, message", tag = "4")]
    pub attributes: BTreeMap<String, Value>,
}

/// A tuple's types.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TupleType {
    /// Types in order.
    #[prost(message, repeated, tag = "1")]
    pub types: Vec<ValueType>,
}

/// A list's type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListType {
    /// Type of an element.
    #[prost(message, optional, tag = "1")]
    pub r#type: Option<ValueType>,
    /// Length.
    #[prost(message, optional, tag = "2")]
    pub length: Option<Dimension>,
}

/// A dictionary's types.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DictionaryType {
    /// Type of a key.
    #[prost(message, optional, tag = "1")]
    pub key_type: Option<ValueType>,
    /// Type of a value.
    #[prost(message, optional, tag = "2")]
    pub value_type: Option<ValueType>,
}

/// A state's type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StateType {
    /// Type of what it holds.
    #[prost(message, optional, tag = "1")]
    pub wrapped_type: Option<ValueType>,
}

/// One dimension.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Dimension {
    /// Known or not.
    #[prost(oneof = "Extent", tags = "1, 2")]
    pub dimension: Option<Extent>,
}

/// Known or not.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Extent {
    /// Known.
    #[prost(message, tag = "1")]
    Constant(ConstantDimension),
    /// Not known.
    #[prost(message, tag = "2")]
    Unknown(UnknownDimension),
}

/// A known extent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ConstantDimension {
    /// The extent.
    #[prost(uint64, tag = "1")]
    pub size: u64,
}

/// An extent that is not known.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UnknownDimension {
    /// Does it stand for any number of dimensions?
    #[prost(bool, tag = "1")]
    pub variadic: bool,
}

/// A compile-time value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Value {
    /// Free text.
    #[prost(string, tag = "1")]
    pub doc_string: String,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<ValueType>,
    /// Inline, or in a weight file.
    #[prost(oneof = "ValueKind", tags = "3, 5")]
    pub value: Option<ValueKind>,
}

/// Where a value is.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ValueKind {
    /// Inline.
    #[prost(message, tag = "3")]
    Immediate(ImmediateValue),
    /// In a weight file.
    #[prost(message, tag = "5")]
    BlobFile(BlobFileValue),
}

/// An inline value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ImmediateValue {
    /// Which.
    #[prost(oneof = "Immediate", tags = "1, 2, 3, 4")]
    pub value: Option<Immediate>,
}

/// The kinds of inline values.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Immediate {
    /// A tensor.
    #[prost(message, tag = "1")]
    Tensor(TensorValue),
    /// A tuple.
    #[prost(message, tag = "2")]
    Tuple(Values),
    /// A list.
    #[prost(message, tag = "3")]
    List(Values),
    /// A dictionary.
    #[prost(message, tag = "4")]
    Dictionary(DictionaryValue),
}

/// A value's place in a weight file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BlobFileValue {
    /// The file; `@model_path` stands for the folder of the model file.
    #[prost(string, tag = "1")]
    pub file_name: String,
    /// Offset of the blob's record in bytes.
    #[prost(uint64, tag = "2")]
    pub offset: u64,
}

/// Elements of a tensor in row-major order.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorValue {
    /// Which field holds them follows from the element type, see `read`.
    #[prost(oneof = "Elements", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub value: Option<Elements>,
}

/// The ways elements are kept.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Elements {
    /// `fp32`.
    #[prost(message, tag = "1")]
    Floats(Floats),
    /// `int32`, `int16`, `uint16`.
    #[prost(message, tag = "2")]
    Ints(Ints),
    /// `bool`.
    #[prost(message, tag = "3")]
    Bools(Bools),
    /// `string`.
    #[prost(message, tag = "4")]
    Strings(Strings),
    /// `int64`, `uint64`.
    #[prost(message, tag = "5")]
    LongInts(LongInts),
    /// `fp64`.
    #[prost(message, tag = "6")]
    Doubles(Doubles),
    /// `fp16`, `int8`, `uint8`, `uint32` and the sub-byte types, little-endian, packed.
    #[prost(message, tag = "7")]
    Bytes(RawBytes),
}

macro_rules! repeated {
    ($($(#[$doc:meta])* $name:ident, $rust:ty, $kind:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, PartialEq, prost::Message)]
        pub struct $name {
            /// The elements.
            #[prost($kind, repeated, tag = "1")]
            pub values: Vec<$rust>,
        }
    )* };
}

repeated! {
    /// `fp32` elements.
    Floats, f32, float;
    /// `fp64` elements.
    Doubles, f64, double;
    /// 32-bit integers.
    Ints, i32, int32;
    /// 64-bit integers.
    LongInts, i64, int64;
    /// Booleans.
    Bools, bool, bool;
    /// Strings.
    Strings, String, string;
    /// Values of a list or tuple.
    Values, Value, message;
    /// Entries of a dictionary.
    DictionaryValue, KeyValuePair, message;
}

/// Raw bytes of elements.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RawBytes {
    /// The bytes, shared with the file they were decoded from.
    #[prost(bytes = "bytes", tag = "1")]
    pub values: Bytes,
}

/// An entry of a dictionary.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValuePair {
    /// Key.
    #[prost(message, optional, tag = "1")]
    pub key: Option<Value>,
    /// Value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<Value>,
}
