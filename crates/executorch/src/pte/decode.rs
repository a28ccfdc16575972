//! FlatBuffer to [`Program`].
//!
//! Runs on verified bytes only. What the verifier does not know (numbers outside an enum, fields and variants of a
//! newer schema) is collected here, so that one reading reports all of it.

use bytes::Bytes;
use flatbuffers::{Follow, ForwardsUOffset, Table, Vector, VerifierOptions};

use super::PteError;
use super::program::*;
use crate::compile_spec::{CompileSpec, CompileSpecs};
use crate::generated::fb;

/// Where in the file the segments lie, as the FlatBuffer lists them: offset from the base, size.
pub(super) type SegmentTable = Vec<(u64, u64)>;

/// Reads the FlatBuffer in the first `program_size` bytes of `file`. Segments are left out of the program.
pub(super) fn decode(file: &Bytes, program_size: usize) -> Result<(Program, SegmentTable), PteError> {
    let bytes = file.slice(..program_size);
    // Every table takes at least four bytes of its own. What goes beyond these bounds is made of shared tables, a way
    // to make a small file fill the memory; ExecuTorch shares only the tables' descriptions.
    let options = VerifierOptions {
        max_tables: bytes.len() / 4,
        max_apparent_size: bytes.len().saturating_mul(16).saturating_add(1 << 16),
        ..VerifierOptions::default()
    };
    let root = flatbuffers::root_with_opts::<fb::Program<'_>>(&options, &bytes).map_err(|error| {
        PteError::Flatbuffer { end: program_size as u64, problem: error.to_string().replace('\n', "; ") }
    })?;
    let mut decoder = Decoder { file, problems: Vec::new(), unknown: Vec::new() };
    let program = decoder.program(root);
    let segments = decoder.segment_table(root);
    if !decoder.unknown.is_empty() {
        decoder.unknown.sort_unstable();
        decoder.unknown.dedup();
        return Err(PteError::UnknownParts(decoder.unknown));
    }
    if !decoder.problems.is_empty() {
        return Err(PteError::Invalid(decoder.problems));
    }
    Ok((program, segments))
}

struct Decoder<'f> {
    file: &'f Bytes,
    problems: Vec<String>,
    unknown: Vec<String>,
}

/// A vector of tables, as the generated code returns it.
type Tables<'a, T> = Option<Vector<'a, ForwardsUOffset<T>>>;

fn text(text: Option<&str>) -> String {
    text.unwrap_or_default().to_owned()
}

fn numbers<'a, T: Follow<'a> + 'a>(vector: Option<Vector<'a, T>>) -> Vec<T::Inner> {
    vector.map(|vector| vector.iter().collect()).unwrap_or_default()
}

impl Decoder<'_> {
    /// Notes fields that `table` has beyond those of the schema.
    fn known(&mut self, table: Table<'_>, name: &str, fields: usize) {
        let vtable = table.vtable();
        let present = (vtable.num_bytes() / 2).saturating_sub(2);
        if (fields..present).any(|field| vtable.get_field(field) != 0) {
            self.unknown.push(format!("field {fields} of {name}"));
        }
    }

    /// An enum's variant, or a note that the number has none.
    fn variant<T: Default>(&mut self, found: Option<T>, what: &str, number: i8) -> T {
        if found.is_none() {
            self.unknown.push(format!("{what} {number}"));
        }
        found.unwrap_or_default()
    }

    fn bytes(&self, vector: Option<Vector<'_, u8>>) -> Bytes {
        vector.map(|vector| self.file.slice_ref(vector.bytes())).unwrap_or_default()
    }

    fn list<'a, T: Follow<'a> + 'a, R>(
        &mut self,
        tables: Tables<'a, T>,
        mut read: impl FnMut(&mut Self, T::Inner) -> R,
    ) -> Vec<R> {
        tables.map(|tables| tables.iter().map(|table| read(self, table)).collect()).unwrap_or_default()
    }

    fn program(&mut self, table: fb::Program<'_>) -> Program {
        self.known(table._tab, "Program", 8);
        Program {
            version: table.version(),
            execution_plan: self.list(table.execution_plan(), Self::plan),
            constant_buffer: self.list(table.constant_buffer(), |this, buffer: fb::Buffer<'_>| {
                this.known(buffer._tab, "Buffer", 1);
                this.bytes(buffer.storage())
            }),
            backend_delegate_data: self.list(
                table.backend_delegate_data(),
                |this, data: fb::BackendDelegateInlineData<'_>| {
                    this.known(data._tab, "BackendDelegateInlineData", 1);
                    this.bytes(data.data())
                },
            ),
            segments: Vec::new(),
            constant_segment: table.constant_segment().map(|offsets| self.offsets(offsets)),
            mutable_data_segments: table.mutable_data_segments().map(|all| self.list(Some(all), Self::offsets)),
            named_data: table.named_data().map(|all| self.list(Some(all), Self::named_data)),
        }
    }

    fn segment_table(&mut self, table: fb::Program<'_>) -> SegmentTable {
        self.list(table.segments(), |this, segment: fb::DataSegment<'_>| {
            this.known(segment._tab, "DataSegment", 2);
            (segment.offset(), segment.size_())
        })
    }

    fn offsets(&mut self, table: fb::SubsegmentOffsets<'_>) -> SubsegmentOffsets {
        self.known(table._tab, "SubsegmentOffsets", 2);
        SubsegmentOffsets { segment_index: table.segment_index(), offsets: numbers(table.offsets()) }
    }

    fn named_data(&mut self, table: fb::NamedData<'_>) -> NamedData {
        self.known(table._tab, "NamedData", 2);
        NamedData { key: text(table.key()), segment_index: table.segment_index() }
    }

    fn plan(&mut self, table: fb::ExecutionPlan<'_>) -> ExecutionPlan {
        self.known(table._tab, "ExecutionPlan", 10);
        ExecutionPlan {
            name: text(table.name()),
            container_meta_type: table.container_meta_type().map(|meta| {
                self.known(meta._tab, "ContainerMetadata", 2);
                ContainerMetadata {
                    encoded_inp_str: text(meta.encoded_inp_str()),
                    encoded_out_str: text(meta.encoded_out_str()),
                }
            }),
            values: self.list(table.values(), Self::value),
            inputs: numbers(table.inputs()),
            outputs: numbers(table.outputs()),
            chains: self.list(table.chains(), Self::chain),
            operators: self.list(table.operators(), |this, operator: fb::Operator<'_>| {
                this.known(operator._tab, "Operator", 2);
                Operator { name: text(operator.name()), overload: text(operator.overload()) }
            }),
            delegates: self.list(table.delegates(), Self::delegate),
            non_const_buffer_sizes: numbers(table.non_const_buffer_sizes()),
            non_const_buffer_device: table
                .non_const_buffer_device()
                .map(|devices| self.list(Some(devices), Self::buffer_device)),
        }
    }

    fn buffer_device(&mut self, table: fb::NonConstBufferDevice<'_>) -> NonConstBufferDevice {
        self.known(table._tab, "NonConstBufferDevice", 3);
        NonConstBufferDevice {
            buffer_idx: table.buffer_idx(),
            device_type: self.device_type(table.device_type()),
            device_index: table.device_index(),
        }
    }

    fn device_type(&mut self, device: fb::DeviceType) -> DeviceType {
        self.variant(DeviceType::from_number(device.0), "DeviceType", device.0)
    }

    fn delegate(&mut self, table: fb::BackendDelegate<'_>) -> BackendDelegate {
        self.known(table._tab, "BackendDelegate", 3);
        let processed = match table.processed() {
            Some(reference) => {
                self.known(reference._tab, "BackendDelegateDataReference", 2);
                let location = reference.location().0;
                let location = self.variant(DataLocation::from_number(location), "DataLocation", location);
                DelegateDataReference { location, index: reference.index() }
            }
            None => {
                self.problems.push(format!("delegate '{}' has no reference to its data", text(table.id())));
                DelegateDataReference { location: DataLocation::Inline, index: 0 }
            }
        };
        let specs = self.list(table.compile_specs(), |this, spec: fb::CompileSpec<'_>| {
            this.known(spec._tab, "CompileSpec", 2);
            CompileSpec { key: text(spec.key()), value: this.bytes(spec.value()) }
        });
        BackendDelegate { id: text(table.id()), processed, compile_specs: CompileSpecs::from(specs) }
    }

    fn chain(&mut self, table: fb::Chain<'_>) -> Chain {
        self.known(table._tab, "Chain", 4);
        Chain {
            inputs: numbers(table.inputs()),
            outputs: numbers(table.outputs()),
            instructions: self.list(table.instructions(), Self::instruction),
            stacktrace: table.stacktrace().map(|frames| {
                self.list(Some(frames), |this, list: fb::FrameList<'_>| {
                    this.known(list._tab, "FrameList", 1);
                    this.list(list.items(), Self::frame)
                })
            }),
        }
    }

    fn frame(&mut self, table: fb::Frame<'_>) -> Frame {
        self.known(table._tab, "Frame", 4);
        Frame {
            filename: text(table.filename()),
            lineno: table.lineno(),
            name: text(table.name()),
            context: text(table.context()),
        }
    }

    fn instruction(&mut self, table: fb::Instruction<'_>) -> Instruction {
        self.known(table._tab, "Instruction", 2);
        if let Some(call) = table.instr_args_as_kernel_call() {
            self.known(call._tab, "KernelCall", 2);
            Instruction::KernelCall { op_index: call.op_index(), args: numbers(call.args()) }
        } else if let Some(call) = table.instr_args_as_delegate_call() {
            self.known(call._tab, "DelegateCall", 2);
            Instruction::DelegateCall { delegate_index: call.delegate_index(), args: numbers(call.args()) }
        } else if let Some(call) = table.instr_args_as_move_call() {
            self.known(call._tab, "MoveCall", 2);
            Instruction::MoveCall { move_from: call.move_from(), move_to: call.move_to() }
        } else if let Some(call) = table.instr_args_as_jump_false_call() {
            self.known(call._tab, "JumpFalseCall", 2);
            Instruction::JumpFalseCall {
                cond_value_index: call.cond_value_index(),
                destination_instruction: call.destination_instruction(),
            }
        } else if let Some(call) = table.instr_args_as_free_call() {
            self.known(call._tab, "FreeCall", 1);
            Instruction::FreeCall { value_index: call.value_index() }
        } else {
            self.no_variant("instruction", table.instr_args_type().0);
            Instruction::Absent
        }
    }

    /// A union that none of the readers took: either empty, which is kept, or of a newer schema.
    fn no_variant(&mut self, what: &str, number: u8) {
        if number != 0 {
            self.unknown.push(format!("{what} of kind {number}"));
        }
    }

    fn value(&mut self, table: fb::EValue<'_>) -> EValue {
        self.known(table._tab, "EValue", 2);
        match table.val_type() {
            fb::KernelTypes::Null => Some(EValue::Null),
            fb::KernelTypes::Int => table.val_as_int().map(|v| EValue::Int(v.int_val())),
            fb::KernelTypes::Bool => table.val_as_bool().map(|v| EValue::Bool(v.bool_val())),
            fb::KernelTypes::Double => table.val_as_double().map(|v| EValue::Double(v.double_val())),
            fb::KernelTypes::Tensor => table.val_as_tensor().map(|v| EValue::Tensor(Box::new(self.tensor(v)))),
            fb::KernelTypes::String => table.val_as_string().map(|v| EValue::String(text(v.string_val()))),
            fb::KernelTypes::IntList => table.val_as_int_list().map(|v| EValue::IntList(numbers(v.items()))),
            fb::KernelTypes::DoubleList => table.val_as_double_list().map(|v| EValue::DoubleList(numbers(v.items()))),
            fb::KernelTypes::BoolList => table.val_as_bool_list().map(|v| EValue::BoolList(numbers(v.items()))),
            fb::KernelTypes::TensorList => table.val_as_tensor_list().map(|v| EValue::TensorList(numbers(v.items()))),
            fb::KernelTypes::OptionalTensorList => {
                table.val_as_optional_tensor_list().map(|v| EValue::OptionalTensorList(numbers(v.items())))
            }
            other => {
                self.no_variant("value", other.0);
                Some(EValue::Absent)
            }
        }
        .unwrap_or(EValue::Absent)
    }

    fn tensor(&mut self, table: fb::Tensor<'_>) -> Tensor {
        self.known(table._tab, "Tensor", 10);
        let scalar = table.scalar_type().0;
        let dynamism = table.shape_dynamism().0;
        Tensor {
            scalar_type: self.variant(ScalarType::from_number(scalar), "ScalarType", scalar),
            storage_offset: table.storage_offset(),
            sizes: numbers(table.sizes()),
            dim_order: numbers(table.dim_order()),
            requires_grad: table.requires_grad(),
            data_buffer_idx: table.data_buffer_idx(),
            allocation_info: table.allocation_info().map(|info| {
                self.known(info._tab, "AllocationDetails", 3);
                let offset = u64::from(info.memory_offset_high()) << 32 | u64::from(info.memory_offset_low());
                AllocationDetails { memory_id: info.memory_id(), memory_offset: offset }
            }),
            layout: table.layout(),
            shape_dynamism: self.variant(TensorShapeDynamism::from_number(dynamism), "TensorShapeDynamism", dynamism),
            extra_tensor_info: table.extra_tensor_info().map(|info| self.extra_info(info)),
        }
    }

    fn extra_info(&mut self, table: fb::ExtraTensorInfo<'_>) -> ExtraTensorInfo {
        self.known(table._tab, "ExtraTensorInfo", 5);
        let location = table.location().0;
        ExtraTensorInfo {
            mutable_data_segments_idx: table.mutable_data_segments_idx(),
            fully_qualified_name: table.fully_qualified_name().map(str::to_owned),
            location: self.variant(TensorDataLocation::from_number(location), "TensorDataLocation", location),
            device_type: self.device_type(table.device_type()),
            device_index: table.device_index(),
        }
    }
}
