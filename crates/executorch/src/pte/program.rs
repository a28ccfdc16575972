//! The program inside a `.pte` as plain data: every table and field of ExecuTorch's schema.
//!
//! The types mirror the FlatBuffer so that a program is written back as it was read. Two things differ: a list that
//! is absent and one that is empty are the same here where ExecuTorch treats them so, and bytes ([`Buffer`]) are
//! shared slices of the file. Indices are not checked by these types; [`super::PteFile::read`] checks those that
//! coremill follows.

use bytes::Bytes;

use crate::compile_spec::CompileSpecs;

/// The root of the FlatBuffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Schema version; 0 so far.
    pub version: u32,
    /// The methods.
    pub execution_plan: Vec<ExecutionPlan>,
    /// Constant tensors inside the FlatBuffer (files of 2024 and before).
    pub constant_buffer: Vec<Buffer>,
    /// Delegate blobs inside the FlatBuffer.
    pub backend_delegate_data: Vec<Buffer>,
    /// Data behind the FlatBuffer, in file order.
    pub segments: Vec<Segment>,
    /// Where in a segment the constant tensors are; entry 0 stands for no data.
    pub constant_segment: Option<SubsegmentOffsets>,
    /// Where initial values of mutable tensors are.
    pub mutable_data_segments: Option<Vec<SubsegmentOffsets>>,
    /// Segments with names.
    pub named_data: Option<Vec<NamedData>>,
}

/// Bytes inside the FlatBuffer, aligned to 16.
pub type Buffer = Bytes;

/// One run of bytes behind the FlatBuffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The bytes.
    pub data: Bytes,
    /// What its offset from the first segment is a multiple of, in bytes.
    pub alignment: u64,
}

impl Segment {
    /// Alignment of a segment that asks for none.
    pub const DEFAULT_ALIGNMENT: u64 = 128;

    /// A segment with the default alignment.
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self { data: data.into(), alignment: Self::DEFAULT_ALIGNMENT }
    }
}

/// Byte offsets into one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubsegmentOffsets {
    /// Index into [`Program::segments`].
    pub segment_index: u32,
    /// Offset of each item in bytes.
    pub offsets: Vec<u64>,
}

/// A name for a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedData {
    /// The name.
    pub key: String,
    /// Index into [`Program::segments`].
    pub segment_index: u32,
}

/// One method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionPlan {
    /// Name of the method, such as `forward`.
    pub name: String,
    /// How arguments and results nest.
    pub container_meta_type: Option<ContainerMetadata>,
    /// All values that the method uses.
    pub values: Vec<EValue>,
    /// Inputs, as indices into `values`.
    pub inputs: Vec<i32>,
    /// Outputs, as indices into `values`.
    pub outputs: Vec<i32>,
    /// Instruction lists.
    pub chains: Vec<Chain>,
    /// Kernels that are called.
    pub operators: Vec<Operator>,
    /// Delegates that are called.
    pub delegates: Vec<BackendDelegate>,
    /// Bytes of each planned buffer; entry 0 is not used.
    pub non_const_buffer_sizes: Vec<i64>,
    /// Devices of planned buffers, when not all are on the CPU.
    pub non_const_buffer_device: Option<Vec<NonConstBufferDevice>>,
}

/// Argument and result trees, as `torch.utils._pytree.treespec_dumps` writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerMetadata {
    /// The arguments: a tuple of positional arguments and a dict of keyword arguments.
    pub encoded_inp_str: String,
    /// The result.
    pub encoded_out_str: String,
}

/// A value of a method.
#[derive(Clone, Debug, PartialEq)]
pub enum EValue {
    /// The union has no member; ExecuTorch does not write this.
    Absent,
    /// Python's `None`.
    Null,
    /// A number.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A number.
    Double(f64),
    /// A tensor.
    Tensor(Box<Tensor>),
    /// A text.
    String(String),
    /// Indices into the method's values, each an `Int`.
    IntList(Vec<i64>),
    /// Numbers.
    DoubleList(Vec<f64>),
    /// Truth values.
    BoolList(Vec<bool>),
    /// Indices into the method's values.
    TensorList(Vec<i32>),
    /// Indices into the method's values, -1 for none.
    OptionalTensorList(Vec<i32>),
}

/// A tensor's type, layout and place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensor {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Elements before the first one; 0.
    pub storage_offset: i32,
    /// Sizes, outermost first; upper bounds for [`TensorShapeDynamism::DynamicBound`].
    pub sizes: Vec<i32>,
    /// Dimension numbers from the outermost to the innermost in memory.
    pub dim_order: Vec<u8>,
    /// For training.
    pub requires_grad: bool,
    /// Index of the stored data, 0 for none.
    pub data_buffer_idx: u32,
    /// Place in planned memory.
    pub allocation_info: Option<AllocationDetails>,
    /// Not used by ExecuTorch.
    pub layout: i8,
    /// What `sizes` says about the shape.
    pub shape_dynamism: TensorShapeDynamism,
    /// Rare facts.
    pub extra_tensor_info: Option<ExtraTensorInfo>,
}

/// A place in planned memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllocationDetails {
    /// Index into [`ExecutionPlan::non_const_buffer_sizes`].
    pub memory_id: u32,
    /// Offset in bytes.
    pub memory_offset: u64,
}

/// Facts that few tensors have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraTensorInfo {
    /// Index into [`Program::mutable_data_segments`].
    pub mutable_data_segments_idx: u64,
    /// Name in the exported module.
    pub fully_qualified_name: Option<String>,
    /// Where the data is.
    pub location: TensorDataLocation,
    /// Kind of device.
    pub device_type: DeviceType,
    /// Number of the device.
    pub device_index: i8,
}

/// The device of a planned buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonConstBufferDevice {
    /// Index into [`ExecutionPlan::non_const_buffer_sizes`].
    pub buffer_idx: i32,
    /// Kind of device.
    pub device_type: DeviceType,
    /// Number of the device.
    pub device_index: i8,
}

/// A list of instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Indices of values that come in.
    pub inputs: Vec<i32>,
    /// Indices of values that go out.
    pub outputs: Vec<i32>,
    /// What is done, in order.
    pub instructions: Vec<Instruction>,
    /// For each instruction where it came from.
    pub stacktrace: Option<Vec<Vec<Frame>>>,
}

/// One step of a method. `args` are indices into the method's values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields' names say it; indices are into the plan's tables of the same names")]
pub enum Instruction {
    /// The union has no member; ExecuTorch does not write this.
    Absent,
    /// Calls a kernel.
    KernelCall { op_index: i32, args: Vec<i32> },
    /// Calls a delegate: its inputs, then its outputs.
    DelegateCall { delegate_index: i32, args: Vec<i32> },
    /// Moves a value.
    MoveCall { move_from: i32, move_to: i32 },
    /// Jumps when a value is false.
    JumpFalseCall { cond_value_index: i32, destination_instruction: i32 },
    /// Frees a tensor's memory.
    FreeCall { value_index: i32 },
}

/// A line of a stack trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Source file.
    pub filename: String,
    /// Line number.
    pub lineno: i32,
    /// Function.
    pub name: String,
    /// Source line.
    pub context: String,
}

/// A kernel's registered name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// Name, such as `aten::add`.
    pub name: String,
    /// Overload, such as `out`.
    pub overload: String,
}

/// A part of a method that a backend runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendDelegate {
    /// The backend's registered name, such as `CoreMLBackend`.
    pub id: String,
    /// Where the processed blob is.
    pub processed: DelegateDataReference,
    /// The options it was made with.
    pub compile_specs: CompileSpecs,
}

/// The place of a delegate's blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegateDataReference {
    /// Which list `index` is into.
    pub location: DataLocation,
    /// Index into that list.
    pub index: u32,
}

/// Enums of the schema: variants with numbers, conversion both ways.
macro_rules! wire_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $number:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant = $number),+ }

        impl $name {
            /// The number on the wire.
            pub fn number(self) -> i8 {
                self as i8
            }

            /// The variant with this number.
            pub fn from_number(number: i8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

wire_enum! {
    /// Where a blob is.
    DataLocation {
        /// In [`Program::backend_delegate_data`].
        #[default]
        Inline = 0,
        /// In [`Program::segments`].
        Segment = 1,
    }
}
wire_enum! {
    /// What a tensor's sizes say.
    TensorShapeDynamism {
        /// They are the shape.
        #[default]
        Static = 0,
        /// They are upper bounds.
        DynamicBound = 1,
        /// Nothing.
        DynamicUnbound = 2,
    }
}
wire_enum! {
    /// Where a tensor's data is.
    TensorDataLocation {
        /// In this file.
        #[default]
        Segment = 0,
        /// In another file.
        External = 1,
    }
}
wire_enum! {
    /// A kind of device.
    DeviceType {
        /// The processor.
        #[default]
        Cpu = 0,
        /// A CUDA device.
        Cuda = 1,
    }
}
wire_enum! {
    /// Element types, with PyTorch's numbers.
    #[allow(missing_docs, reason = "the names are PyTorch's")]
    ScalarType {
        Byte = 0,
        Char = 1,
        Short = 2,
        Int = 3,
        Long = 4,
        Half = 5,
        #[default]
        Float = 6,
        Double = 7,
        Bool = 11,
        QInt8 = 12,
        QUInt8 = 13,
        QInt32 = 14,
        BFloat16 = 15,
        QUInt4x2 = 16,
        QUInt2x4 = 17,
        Bits16 = 22,
        Float8E5M2 = 23,
        Float8E4M3Fn = 24,
        Float8E5M2Fnuz = 25,
        Float8E4M3Fnuz = 26,
        UInt16 = 27,
        UInt32 = 28,
        UInt64 = 29,
    }
}

impl ScalarType {
    /// Bytes of one element.
    pub fn size(self) -> u64 {
        match self {
            Self::Long | Self::Double | Self::UInt64 => 8,
            Self::Int | Self::Float | Self::QInt32 | Self::UInt32 => 4,
            Self::Short | Self::Half | Self::BFloat16 | Self::Bits16 | Self::UInt16 => 2,
            Self::Byte | Self::Char | Self::Bool | Self::QInt8 | Self::QUInt8 | Self::QUInt4x2 | Self::QUInt2x4 => 1,
            Self::Float8E5M2 | Self::Float8E4M3Fn | Self::Float8E5M2Fnuz | Self::Float8E4M3Fnuz => 1,
        }
    }

    /// PyTorch's name of the type, such as `int64`.
    pub fn torch_name(self) -> &'static str {
        match self {
            Self::Byte => "uint8",
            Self::Char => "int8",
            Self::Short => "int16",
            Self::Int => "int32",
            Self::Long => "int64",
            Self::Half => "float16",
            Self::Float => "float32",
            Self::Double => "float64",
            Self::Bool => "bool",
            Self::QInt8 => "qint8",
            Self::QUInt8 => "quint8",
            Self::QInt32 => "qint32",
            Self::BFloat16 => "bfloat16",
            Self::QUInt4x2 => "quint4x2",
            Self::QUInt2x4 => "quint2x4",
            Self::Bits16 => "bits16",
            Self::Float8E5M2 => "float8_e5m2",
            Self::Float8E4M3Fn => "float8_e4m3fn",
            Self::Float8E5M2Fnuz => "float8_e5m2fnuz",
            Self::Float8E4M3Fnuz => "float8_e4m3fnuz",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
        }
    }
}
