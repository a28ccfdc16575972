//! [`Program`] to FlatBuffer.
//!
//! Children are built in field order and fields are added in field order, as ExecuTorch's own serialiser does, so a
//! program that it wrote comes back byte for byte.

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Push, UnionWIPOffset, Vector, WIPOffset};

use super::PteError;
use super::program::*;
use crate::compile_spec::CompileSpec;
use crate::generated::fb;

/// Alignment of bytes inside the FlatBuffer, from its start.
const INLINE_ALIGNMENT: usize = 16;
/// FlatBuffer offsets are signed 32-bit numbers in places; leave room for the tables.
const MAX_INLINE: u64 = (1 << 31) - (1 << 24);

type Builder = FlatBufferBuilder<'static>;
type VectorOf<T> = WIPOffset<Vector<'static, ForwardsUOffset<T>>>;

/// The FlatBuffer of `program`, with `segments` (offset from the base, size) as its segment table.
pub(super) fn encode(program: &Program, segments: &[(u64, u64)]) -> Result<Vec<u8>, PteError> {
    let inline = program.constant_buffer.iter().chain(&program.backend_delegate_data);
    let size: u64 = inline.map(|bytes| bytes.len() as u64).sum();
    if size > MAX_INLINE {
        return Err(PteError::TooLarge { size });
    }
    let mut builder = Builder::with_capacity(size as usize + 1024);
    let root = encode_program(&mut builder, program, segments);
    builder.finish(root, Some("ET12"));
    let mut bytes = builder.finished_data().to_vec();
    if !program.constant_buffer.is_empty() || !program.backend_delegate_data.is_empty() {
        pad_to_inline_alignment(&mut bytes);
    }
    Ok(bytes)
}

/// A FlatBuffer is built from its end, so inline bytes are aligned from the end; this aligns them from the start.
fn pad_to_inline_alignment(bytes: &mut Vec<u8>) {
    let padding = bytes.len().next_multiple_of(INLINE_ALIGNMENT) - bytes.len();
    insert_after_identifier(bytes, &vec![0; padding]);
}

/// Puts `insert` between the identifier and the tables and moves the root along.
pub(super) fn insert_after_identifier(bytes: &mut Vec<u8>, insert: &[u8]) {
    if let Some(root) = bytes.first_chunk_mut::<4>() {
        *root = (u32::from_le_bytes(*root).wrapping_add(insert.len() as u32)).to_le_bytes();
        bytes.splice(8..8, insert.iter().copied());
    }
}

fn tables<'a, S: 'a, T: 'static>(
    builder: &mut Builder,
    items: impl IntoIterator<Item = &'a S>,
    mut encode: impl FnMut(&mut Builder, &'a S) -> WIPOffset<T>,
) -> VectorOf<T> {
    let offsets: Vec<WIPOffset<T>> = items.into_iter().map(|item| encode(builder, item)).collect();
    builder.create_vector(&offsets)
}

fn numbers<T: Push + Copy + 'static>(builder: &mut Builder, items: &[T]) -> WIPOffset<Vector<'static, T::Output>>
where
    T::Output: Push<Output = T::Output>,
{
    builder.create_vector(items)
}

/// Bytes whose first one is [`INLINE_ALIGNMENT`]-aligned from the buffer's end.
fn inline_bytes(builder: &mut Builder, bytes: &[u8]) -> WIPOffset<Vector<'static, u8>> {
    let used = builder.unfinished_data().len() + bytes.len();
    for _ in used..used.next_multiple_of(INLINE_ALIGNMENT) {
        builder.push(0u8);
    }
    builder.create_vector(bytes)
}

fn encode_program(b: &mut Builder, program: &Program, segments: &[(u64, u64)]) -> WIPOffset<fb::Program<'static>> {
    let plans = tables(b, &program.execution_plan, encode_plan);
    let constants = tables(b, &program.constant_buffer, |b, bytes| {
        let storage = inline_bytes(b, bytes);
        fb::Buffer::create(b, &fb::BufferArgs { storage: Some(storage) })
    });
    let delegate_data = tables(b, &program.backend_delegate_data, |b, bytes| {
        let data = inline_bytes(b, bytes);
        fb::BackendDelegateInlineData::create(b, &fb::BackendDelegateInlineDataArgs { data: Some(data) })
    });
    let segments = tables(b, segments, |b, (offset, size)| {
        let mut table = fb::DataSegmentBuilder::new(b);
        table.add_offset(*offset);
        table.add_size_(*size);
        table.finish()
    });
    let constant_segment = program.constant_segment.as_ref().map(|offsets| encode_offsets(b, offsets));
    let mutable_segments = program.mutable_data_segments.as_ref().map(|all| tables(b, all, encode_offsets));
    let named_data = program.named_data.as_ref().map(|all| {
        tables(b, all, |b, named| {
            let key = b.create_string(&named.key);
            let mut table = fb::NamedDataBuilder::new(b);
            table.add_key(key);
            table.add_segment_index(named.segment_index);
            table.finish()
        })
    });
    let mut table = fb::ProgramBuilder::new(b);
    table.add_version(program.version);
    table.add_execution_plan(plans);
    table.add_constant_buffer(constants);
    table.add_backend_delegate_data(delegate_data);
    table.add_segments(segments);
    constant_segment.into_iter().for_each(|offsets| table.add_constant_segment(offsets));
    mutable_segments.into_iter().for_each(|all| table.add_mutable_data_segments(all));
    named_data.into_iter().for_each(|all| table.add_named_data(all));
    table.finish()
}

fn encode_offsets(b: &mut Builder, offsets: &SubsegmentOffsets) -> WIPOffset<fb::SubsegmentOffsets<'static>> {
    let list = numbers(b, &offsets.offsets);
    let mut table = fb::SubsegmentOffsetsBuilder::new(b);
    table.add_segment_index(offsets.segment_index);
    table.add_offsets(list);
    table.finish()
}

fn encode_plan(b: &mut Builder, plan: &ExecutionPlan) -> WIPOffset<fb::ExecutionPlan<'static>> {
    let name = b.create_string(&plan.name);
    let container = plan.container_meta_type.as_ref().map(|meta| {
        let inputs = b.create_string(&meta.encoded_inp_str);
        let outputs = b.create_string(&meta.encoded_out_str);
        let mut table = fb::ContainerMetadataBuilder::new(b);
        table.add_encoded_inp_str(inputs);
        table.add_encoded_out_str(outputs);
        table.finish()
    });
    let values = tables(b, &plan.values, encode_value);
    let inputs = numbers(b, &plan.inputs);
    let outputs = numbers(b, &plan.outputs);
    let chains = tables(b, &plan.chains, encode_chain);
    let operators = tables(b, &plan.operators, |b, operator| {
        let name = b.create_string(&operator.name);
        let overload = b.create_string(&operator.overload);
        let mut table = fb::OperatorBuilder::new(b);
        table.add_name(name);
        table.add_overload(overload);
        table.finish()
    });
    let delegates = tables(b, &plan.delegates, encode_delegate);
    let sizes = numbers(b, &plan.non_const_buffer_sizes);
    let devices = plan.non_const_buffer_device.as_ref().map(|devices| {
        tables(b, devices, |b, device| {
            let mut table = fb::NonConstBufferDeviceBuilder::new(b);
            table.add_buffer_idx(device.buffer_idx);
            table.add_device_type(fb::DeviceType(device.device_type.number()));
            table.add_device_index(device.device_index);
            table.finish()
        })
    });
    let mut table = fb::ExecutionPlanBuilder::new(b);
    table.add_name(name);
    container.into_iter().for_each(|meta| table.add_container_meta_type(meta));
    table.add_values(values);
    table.add_inputs(inputs);
    table.add_outputs(outputs);
    table.add_chains(chains);
    table.add_operators(operators);
    table.add_delegates(delegates);
    table.add_non_const_buffer_sizes(sizes);
    devices.into_iter().for_each(|devices| table.add_non_const_buffer_device(devices));
    table.finish()
}

fn encode_delegate(b: &mut Builder, delegate: &BackendDelegate) -> WIPOffset<fb::BackendDelegate<'static>> {
    let id = b.create_string(&delegate.id);
    let processed = {
        let mut table = fb::BackendDelegateDataReferenceBuilder::new(b);
        table.add_location(fb::DataLocation(delegate.processed.location.number()));
        table.add_index(delegate.processed.index);
        table.finish()
    };
    let specs = tables(b, &delegate.compile_specs, |b, spec: &CompileSpec| {
        let key = b.create_string(&spec.key);
        let value = b.create_vector(&spec.value);
        let mut table = fb::CompileSpecBuilder::new(b);
        table.add_key(key);
        table.add_value(value);
        table.finish()
    });
    let mut table = fb::BackendDelegateBuilder::new(b);
    table.add_id(id);
    table.add_processed(processed);
    table.add_compile_specs(specs);
    table.finish()
}

fn encode_chain(b: &mut Builder, chain: &Chain) -> WIPOffset<fb::Chain<'static>> {
    let inputs = numbers(b, &chain.inputs);
    let outputs = numbers(b, &chain.outputs);
    let instructions = tables(b, &chain.instructions, encode_instruction);
    let stacktrace = chain.stacktrace.as_ref().map(|lists| {
        tables(b, lists, |b, frames| {
            let items = tables(b, frames, encode_frame);
            fb::FrameList::create(b, &fb::FrameListArgs { items: Some(items) })
        })
    });
    let mut table = fb::ChainBuilder::new(b);
    table.add_inputs(inputs);
    table.add_outputs(outputs);
    table.add_instructions(instructions);
    stacktrace.into_iter().for_each(|frames| table.add_stacktrace(frames));
    table.finish()
}

fn encode_frame(b: &mut Builder, frame: &Frame) -> WIPOffset<fb::Frame<'static>> {
    let filename = b.create_string(&frame.filename);
    let name = b.create_string(&frame.name);
    let context = b.create_string(&frame.context);
    let mut table = fb::FrameBuilder::new(b);
    table.add_filename(filename);
    table.add_lineno(frame.lineno);
    table.add_name(name);
    table.add_context(context);
    table.finish()
}

fn encode_instruction(b: &mut Builder, instruction: &Instruction) -> WIPOffset<fb::Instruction<'static>> {
    use fb::InstructionArguments as Kind;
    let (kind, arguments) = match instruction {
        Instruction::Absent => (Kind::NONE, None),
        Instruction::KernelCall { op_index, args } => {
            let args = numbers(b, args);
            let mut table = fb::KernelCallBuilder::new(b);
            table.add_op_index(*op_index);
            table.add_args(args);
            (Kind::KernelCall, Some(table.finish().as_union_value()))
        }
        Instruction::DelegateCall { delegate_index, args } => {
            let args = numbers(b, args);
            let mut table = fb::DelegateCallBuilder::new(b);
            table.add_delegate_index(*delegate_index);
            table.add_args(args);
            (Kind::DelegateCall, Some(table.finish().as_union_value()))
        }
        Instruction::MoveCall { move_from, move_to } => {
            let mut table = fb::MoveCallBuilder::new(b);
            table.add_move_from(*move_from);
            table.add_move_to(*move_to);
            (Kind::MoveCall, Some(table.finish().as_union_value()))
        }
        Instruction::JumpFalseCall { cond_value_index, destination_instruction } => {
            let mut table = fb::JumpFalseCallBuilder::new(b);
            table.add_cond_value_index(*cond_value_index);
            table.add_destination_instruction(*destination_instruction);
            (Kind::JumpFalseCall, Some(table.finish().as_union_value()))
        }
        Instruction::FreeCall { value_index } => {
            let table = fb::FreeCall::create(b, &fb::FreeCallArgs { value_index: *value_index });
            (Kind::FreeCall, Some(table.as_union_value()))
        }
    };
    let mut table = fb::InstructionBuilder::new(b);
    table.add_instr_args_type(kind);
    arguments.into_iter().for_each(|arguments| table.add_instr_args(arguments));
    table.finish()
}

fn encode_value(b: &mut Builder, value: &EValue) -> WIPOffset<fb::EValue<'static>> {
    let (kind, val) = encode_value_member(b, value);
    let mut table = fb::EValueBuilder::new(b);
    table.add_val_type(kind);
    val.into_iter().for_each(|val| table.add_val(val));
    table.finish()
}

fn encode_value_member(b: &mut Builder, value: &EValue) -> (fb::KernelTypes, Option<WIPOffset<UnionWIPOffset>>) {
    /// Builds a table of one field out of the value that the field gets.
    macro_rules! one_field {
        ($table:ident, $args:ident { $field:ident: $value:expr }) => {{
            let $field = $value;
            let table = fb::$table::create(b, &fb::$args { $field });
            (fb::KernelTypes::$table, Some(table.as_union_value()))
        }};
    }
    match value {
        EValue::Absent => (fb::KernelTypes::NONE, None),
        EValue::Null => {
            let table = fb::Null::create(b, &fb::NullArgs {});
            (fb::KernelTypes::Null, Some(table.as_union_value()))
        }
        EValue::Int(number) => one_field!(Int, IntArgs { int_val: *number }),
        EValue::Bool(truth) => one_field!(Bool, BoolArgs { bool_val: *truth }),
        EValue::Double(number) => {
            // A zero is left out as the default, and with it would go the sign of a negative one.
            b.force_defaults(*number == 0.0 && number.is_sign_negative());
            let member = one_field!(Double, DoubleArgs { double_val: *number });
            b.force_defaults(false);
            member
        }
        EValue::String(text) => one_field!(String, StringArgs { string_val: Some(b.create_string(text)) }),
        EValue::IntList(list) => one_field!(IntList, IntListArgs { items: Some(numbers(b, list)) }),
        EValue::DoubleList(list) => one_field!(DoubleList, DoubleListArgs { items: Some(numbers(b, list)) }),
        EValue::BoolList(list) => one_field!(BoolList, BoolListArgs { items: Some(numbers(b, list)) }),
        EValue::TensorList(list) => one_field!(TensorList, TensorListArgs { items: Some(numbers(b, list)) }),
        EValue::OptionalTensorList(list) => {
            one_field!(OptionalTensorList, OptionalTensorListArgs { items: Some(numbers(b, list)) })
        }
        EValue::Tensor(tensor) => {
            let table = encode_tensor(b, tensor);
            (fb::KernelTypes::Tensor, Some(table.as_union_value()))
        }
    }
}

fn encode_tensor(b: &mut Builder, tensor: &Tensor) -> WIPOffset<fb::Tensor<'static>> {
    let sizes = numbers(b, &tensor.sizes);
    let dim_order = numbers(b, &tensor.dim_order);
    let allocation = tensor.allocation_info.map(|info| {
        let mut table = fb::AllocationDetailsBuilder::new(b);
        table.add_memory_id(info.memory_id);
        table.add_memory_offset_low(info.memory_offset as u32);
        table.add_memory_offset_high((info.memory_offset >> 32) as u32);
        table.finish()
    });
    let extra = tensor.extra_tensor_info.as_ref().map(|info| {
        let name = info.fully_qualified_name.as_ref().map(|name| b.create_string(name));
        let mut table = fb::ExtraTensorInfoBuilder::new(b);
        table.add_mutable_data_segments_idx(info.mutable_data_segments_idx);
        name.into_iter().for_each(|name| table.add_fully_qualified_name(name));
        table.add_location(fb::TensorDataLocation(info.location.number()));
        table.add_device_type(fb::DeviceType(info.device_type.number()));
        table.add_device_index(info.device_index);
        table.finish()
    });
    let mut table = fb::TensorBuilder::new(b);
    table.add_scalar_type(fb::ScalarType(tensor.scalar_type.number()));
    table.add_storage_offset(tensor.storage_offset);
    table.add_sizes(sizes);
    table.add_dim_order(dim_order);
    table.add_requires_grad(tensor.requires_grad);
    table.add_data_buffer_idx(tensor.data_buffer_idx);
    allocation.into_iter().for_each(|info| table.add_allocation_info(info));
    table.add_layout(tensor.layout);
    table.add_shape_dynamism(fb::TensorShapeDynamism(tensor.shape_dynamism.number()));
    extra.into_iter().for_each(|info| table.add_extra_tensor_info(info));
    table.finish()
}
