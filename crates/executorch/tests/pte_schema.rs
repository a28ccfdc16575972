//! Every table of the schema, in programs that ExecuTorch serialised.

use bytes::Bytes;
use coremill_executorch::compile_spec::CompileSpecs;
use coremill_executorch::pte::program::{
    AllocationDetails, DataLocation, DeviceType, EValue, Instruction, TensorDataLocation,
};
use coremill_executorch::pte::{ModelReference, PteError, PteFile};

const SEGMENTS: &[u8] = include_bytes!("data/kinds_segments.pte");
const INLINE: &[u8] = include_bytes!("data/kinds_inline.pte");
const NO_SEGMENTS: &[u8] = include_bytes!("data/kinds_no_segments.pte");

fn read(bytes: &'static [u8]) -> PteFile {
    PteFile::read(&Bytes::from_static(bytes)).expect("the peer's program")
}

#[test]
fn programs_come_back_byte_for_byte() {
    for (name, bytes) in [("segments", SEGMENTS), ("inline", INLINE), ("no segments", NO_SEGMENTS)] {
        let written = read(bytes).write().expect("it was read");
        assert!(written == bytes, "{name}");
    }
}

#[test]
fn values_and_instructions_are_read_as_they_are() {
    let file = read(SEGMENTS);
    let plan = &file.program.execution_plan[1];
    let EValue::Tensor(first) = &plan.values[0] else { panic!("a tensor") };
    assert_eq!(first.allocation_info, Some(AllocationDetails { memory_id: 1, memory_offset: 3 << 32 | 16 }));
    let EValue::Tensor(fourth) = &plan.values[3] else { panic!("a tensor") };
    let extra = fourth.extra_tensor_info.as_ref().expect("present");
    assert_eq!(
        (extra.location, extra.device_type, extra.device_index),
        (TensorDataLocation::External, DeviceType::Cuda, 1)
    );
    assert_eq!(
        plan.values[4..],
        [
            EValue::Null,
            EValue::Int(-7),
            EValue::Int(0),
            EValue::Bool(true),
            EValue::Double(1.5),
            EValue::Double(f64::INFINITY),
            EValue::Double(f64::NEG_INFINITY),
            EValue::String("h\u{e9}".to_owned()),
            EValue::IntList(vec![5, 6]),
            EValue::DoubleList(vec![0.0, 2.5]),
            EValue::BoolList(vec![true, false, true]),
            EValue::TensorList(vec![0, 1]),
            EValue::OptionalTensorList(vec![-1, 0]),
            EValue::IntList(vec![]),
        ]
    );
    let chain = &plan.chains[0];
    assert_eq!(
        chain.instructions,
        [
            Instruction::KernelCall { op_index: 0, args: vec![0, 5, 1] },
            Instruction::DelegateCall { delegate_index: 0, args: vec![0, 3] },
            Instruction::MoveCall { move_from: 0, move_to: 1 },
            Instruction::JumpFalseCall { cond_value_index: 7, destination_instruction: 2 },
            Instruction::FreeCall { value_index: 0 },
        ]
    );
    let frames = chain.stacktrace.as_ref().expect("present");
    assert_eq!((frames.len(), frames[0][0].lineno), (2, 3));
    assert_eq!(file.methods()[1].operators, ["aten::add.out", "aten::mul"]);
    let devices = plan.non_const_buffer_device.as_ref().expect("present");
    assert_eq!((devices[0].buffer_idx, devices[0].device_type), (1, DeviceType::Cuda));
}

#[test]
fn the_sign_of_a_zero_is_kept() {
    let mut file = read(NO_SEGMENTS);
    file.program.execution_plan[0].values[8] = EValue::Double(-0.0);
    let again = PteFile::read(&file.write().expect("sound").into()).expect("sound");
    let EValue::Double(zero) = again.program.execution_plan[0].values[8] else { panic!("a double") };
    assert!(zero == 0.0 && zero.is_sign_negative());
}

#[test]
fn a_reference_leads_to_named_data() {
    for bytes in [SEGMENTS, INLINE] {
        let mut file = read(bytes);
        let delegate = file.delegate("prefill", 0).expect("it has two");
        let (blob, reference) = file.model_blob(&delegate).expect("the reference is sound");
        let reference = reference.expect("it is a reference");
        let wanted = ModelReference { version: 1, key: "coreml_x".into(), function_name: "prefill".into() };
        assert_eq!(reference, wanted);
        assert_eq!(reference.to_bytes(), delegate.processed);
        assert_eq!(blob, "model".repeat(9));
        let other = file.delegate("forward", 1).expect("it has two");
        assert_eq!(other.reference().expect("no reference"), None);

        file.replace_named_data("coreml_x", Bytes::from_static(b"new")).expect("it is there");
        assert_eq!(file.named_data("coreml_x"), Some(Bytes::from_static(b"new")));
        assert!(matches!(file.replace_named_data("none", Bytes::new()), Err(PteError::NoSuchNamedData { .. })));
        let again = PteFile::read(&file.write().expect("sound").into()).expect("sound");
        assert_eq!(again.named_data("coreml_x"), Some(Bytes::from_static(b"new")));
        assert_eq!(again.named_data("more"), Some(Bytes::from_static(b"zz")));
    }
}

#[test]
fn a_shared_blob_is_replaced_for_one_delegate_only() {
    for (bytes, location) in [(SEGMENTS, DataLocation::Segment), (INLINE, DataLocation::Inline)] {
        let mut file = read(bytes);
        // Both methods' second delegate have the same blob.
        file.replace_delegate("forward", 1, CompileSpecs::default(), Bytes::from_static(b"new")).expect("there");
        let again = PteFile::read(&file.write().expect("sound").into()).expect("sound");
        let [new, old] = ["forward", "prefill"].map(|method| again.delegate(method, 1).expect("there"));
        assert_eq!((new.processed, new.location), (Bytes::from_static(b"new"), location));
        assert_eq!(old.processed, "other".repeat(5));
        assert_eq!(again.delegate("prefill", 0).expect("there").compile_specs.len(), 2);
    }
}

#[test]
fn what_is_not_there_is_named() {
    let mut file = read(SEGMENTS);
    let error = file.method("decode").expect_err("no such method").to_string();
    assert_eq!(error, "the program has no method 'decode'; it has forward, prefill");
    let error = file.replace_delegate("forward", 2, CompileSpecs::default(), Bytes::new()).expect_err("only two");
    assert_eq!(error.to_string(), "method 'forward' has 2 delegates, so there is no delegate 2");
}

#[test]
fn a_program_with_wrong_indices_is_not_written() {
    let mut file = read(SEGMENTS);
    file.program.execution_plan[0].inputs.push(99);
    file.program.execution_plan[1].delegates[0].processed.index = 1000;
    let error = file.write().expect_err("two wrong indices").to_string();
    assert!(error.contains("an input of 'forward' is value 99"), "{error}");
    assert!(error.contains("delegate 0 of 'prefill' is in segment 1000"), "{error}");
}
