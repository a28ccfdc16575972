//! Programs that are cut, damaged or made to mislead: an error that says what and where, and no panic.

mod common;

use bytes::Bytes;
use coremill_executorch::compile_spec::CompileSpecs;
use coremill_executorch::inmemory_fs::Directory;
use coremill_executorch::pte::program::{DataLocation, EValue, ScalarType};
use coremill_executorch::pte::{
    DelegateStorage, InputSpec, MethodSpec, OutputSpec, PteError, PteFile, TensorSpec, single_delegate,
};
use proptest::prelude::*;

const KINDS: [&[u8]; 3] = [
    include_bytes!("data/kinds_segments.pte"),
    include_bytes!("data/kinds_inline.pte"),
    include_bytes!("data/kinds_no_segments.pte"),
];

/// Reads, and where that works looks at everything and writes; nothing of it may panic.
fn use_all(bytes: Vec<u8>) {
    let Ok(mut file) = PteFile::read(&bytes.into()) else { return };
    let methods = file.methods().len();
    assert_eq!(methods, file.program.execution_plan.len());
    for delegate in file.delegates() {
        let _ = file.model_blob(&delegate);
        let _ = Directory::unflatten(&delegate.processed);
    }
    let written = file.write().expect("what is read can be written");
    let again = PteFile::read(&written.into()).expect("what is written can be read");
    // Not the programs: a NaN is not equal to itself.
    assert_eq!(again.program.segments.len(), file.program.segments.len());
    let names: Vec<String> = file.methods().iter().map(|method| method.name.to_owned()).collect();
    for name in names {
        let _ = file.replace_delegate(&name, 0, CompileSpecs::default(), Bytes::from_static(b"x"));
    }
    file.write().expect("a changed program can be written");
}

/// `bytes` with `new` in place of what was at `at`.
fn patched(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

fn refusal(bytes: Vec<u8>) -> String {
    PteFile::read(&bytes.into()).expect_err("it must be refused").to_string()
}

#[test]
fn a_cut_program_is_refused_wherever_it_is_cut() {
    let kv_cache = common::kv_cache();
    for whole in KINDS.into_iter().chain([&kv_cache[..]]) {
        for len in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
            assert!(PteFile::read(&Bytes::copy_from_slice(&whole[..len])).is_err(), "cut to {len} of {}", whole.len());
        }
    }
}

#[test]
fn bytes_may_be_anything() {
    for whole in KINDS {
        for (at, mask) in (0..whole.len()).zip([0x01, 0x80, 0xff, 0x04].into_iter().cycle()) {
            if at % 2 == 0 || whole[at] != 0 {
                use_all(patched(whole, at, &[whole[at] ^ mask]));
            }
        }
    }
}

proptest! {
    #[test]
    fn damage_is_taken_without_panic(
        which in 0usize..3,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..6),
    ) {
        let mut bytes = KINDS[which].to_vec();
        for (at, word) in damage {
            let at = at.index(bytes.len() / 4) * 4;
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        use_all(bytes);
    }

    #[test]
    fn any_bytes_are_taken_without_panic(tail in proptest::collection::vec(any::<u8>(), 0..400)) {
        let head = b"\x0c\0\0\0ET12".iter().copied();
        use_all(head.chain(tail).collect());
    }
}

#[test]
fn another_file_is_told_apart() {
    assert!(refusal(b"PK\x03\x04, a zip".to_vec()).contains("bytes 4 to 7 are \", a \", where a .pte has \"ET12\""));
    assert!(refusal(b"ET12".to_vec()).contains("ends at byte 4"));
    assert!(refusal(Vec::new()).contains("ends at byte 0"));
}

#[test]
fn a_header_that_claims_too_much_is_refused_by_field() {
    let file = common::kv_cache();
    let gigabytes = (2u64 << 30).to_le_bytes();
    assert!(refusal(patched(&file, 16, &gigabytes)).contains("header at byte 16: the program claims 2147483648 bytes"));
    assert!(refusal(patched(&file, 24, &gigabytes)).contains("header at byte 32: "));
    assert!(refusal(patched(&file, 32, &gigabytes)).contains("2147483648 bytes of segments"));
    assert!(refusal(patched(&file, 32, &u64::MAX.to_le_bytes())).contains("reach past the end"));
    assert!(refusal(patched(&file, 24, &64u64.to_le_bytes())).contains("inside the program"));
    assert!(refusal(patched(&file, 12, &1u32.to_le_bytes())).contains("header at byte 12: it claims 1 bytes"));
    // Without a base there is no segment data for the segments that the program lists.
    assert!(refusal(patched(&file, 24, &[0; 16])).contains("of the 0 bytes of segments"));
    // Without its magic the header is not there.
    assert!(refusal(patched(&file, 8, b"none")).contains("segment"));
}

/// Where the one occurrence of `needle` is.
fn position(bytes: &[u8], needle: &[u8]) -> usize {
    let found: Vec<usize> =
        bytes.windows(needle.len()).enumerate().filter(|(_, w)| *w == needle).map(|(i, _)| i).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn segments_outside_the_file_or_shared_are_refused() {
    let file = common::kv_cache();
    // Behind the header, which holds the same number.
    let size = 40 + position(&file[40..1792], &12_280u64.to_le_bytes());
    let message = refusal(patched(&file, size, &(2u64 << 30).to_le_bytes()));
    assert!(message.contains("segment 1 claims 2147483648 bytes at offset 0 of the 12280 bytes"), "{message}");
    assert!(refusal(patched(&file, size, &u64::MAX.to_le_bytes())).contains("segment 1 claims"));

    // The offset of the last segment, moved back into the one before.
    let program = PteFile::read(&Bytes::from_static(KINDS[0])).expect("the peer's program");
    let mut offset = 0u64;
    for segment in &program.program.segments {
        offset = offset.next_multiple_of(segment.alignment) + segment.data.len() as u64;
    }
    let last = offset - program.program.segments.last().map_or(0, |segment| segment.data.len() as u64);
    let at = position(KINDS[0], &last.to_le_bytes());
    assert!(refusal(patched(KINDS[0], at, &0u64.to_le_bytes())).contains("overlap at offset"));
}

#[test]
fn parts_of_a_newer_schema_are_not_dropped() {
    // A tensor of element type 99.
    let file = common::kv_cache();
    let mut strange = PteFile::read(&file).expect("the fixture");
    strange.program.execution_plan[0].non_const_buffer_sizes.push(0x0123_4567_89ab);
    let written = strange.write().expect("sound");
    assert!(PteFile::read(&written.into()).is_ok());
    let mut found = 0;
    for at in 40..1792 {
        let changed = Bytes::from(patched(&file, at, &[99]));
        if let Err(PteError::UnknownParts(parts)) = PteFile::read(&changed) {
            found += usize::from(parts == ["ScalarType 99"] || parts == ["value of kind 99"]);
        }
    }
    // Four tensors have a type each; the four values have a kind each.
    assert!(found >= 8, "{found}");
}

#[test]
fn wrong_methods_are_refused() {
    let tensor = |sizes: &[i32]| TensorSpec::new(ScalarType::Float, sizes);
    let build = |spec: MethodSpec| {
        let built = single_delegate(&spec, CompileSpecs::default(), Bytes::new(), DelegateStorage::Segment);
        built.map(|file| file.write().map(|_| ())).expect_err("it must be refused").to_string()
    };
    let method = |inputs: Vec<TensorSpec>| MethodSpec {
        name: "f".to_owned(),
        inputs: inputs.into_iter().map(InputSpec::from).collect(),
        ..MethodSpec::default()
    };
    assert!(build(method(vec![tensor(&[-1])])).contains("sizes [-1] are negative"));
    assert!(build(method(vec![tensor(&[i32::MAX; 4])])).contains("too large"));
    let half = tensor(&[i32::MAX, i32::MAX]);
    assert!(build(method(vec![half.clone(), half])).contains("do not fit into memory"));
    let mut order = tensor(&[1, 2]);
    order.dim_order = vec![0, 0];
    assert!(build(method(vec![order])).contains("no order of 2 dimensions"));
    assert!(build(method(vec![tensor(&[1; 256])])).contains("no order of 256 dimensions"));
    let mut spec = method(vec![tensor(&[1])]);
    spec.delegate_inputs = Some(vec![1]);
    assert!(build(spec).contains("the delegate's input 1 is not a tensor among the 1 inputs"));
    let mut spec = method(vec![tensor(&[1])]);
    spec.outputs = Some(vec![OutputSpec::Delegate(0)]);
    assert!(build(spec).contains("delegate output 0 is not among the 0"));
}

#[test]
fn a_damaged_reference_is_named() {
    let mut file = PteFile::read(&common::kv_cache()).expect("the fixture");
    for (blob, part) in [("CMJR{", "holds no model reference"), ("CMJR", "holds no model reference")] {
        file.replace_delegate("forward", 0, CompileSpecs::default(), blob.into()).expect("there");
        let delegate = file.delegate("forward", 0).expect("there");
        assert_eq!(delegate.location, DataLocation::Segment);
        assert!(file.model_blob(&delegate).expect_err("damaged").to_string().contains(part));
    }
    let blob = r#"CMJR{"version": 1, "key": "k", "functionName": "f"}"#;
    file.replace_delegate("forward", 0, CompileSpecs::default(), blob.into()).expect("there");
    let delegate = file.delegate("forward", 0).expect("there");
    assert!(matches!(file.model_blob(&delegate), Err(PteError::NoSuchNamedData { .. })));
}

/// A table may be listed many times, so a small file can claim a large program. ExecuTorch never does that.
#[test]
fn a_program_that_unfolds_without_bound_is_refused() {
    assert!(refusal(nested(1000)).contains("oo many tables"));
    // Few enough, and the same bytes are a program.
    let small = PteFile::read(&nested(3).into()).expect("well-formed");
    assert_eq!(small.program.execution_plan.len(), 3);
    assert_eq!(small.program.execution_plan[2].values, [EValue::Absent, EValue::Absent, EValue::Absent]);
}

/// By hand: `n` references to one method whose values are `n` references to one empty value.
fn nested(n: u32) -> Vec<u8> {
    let mut bytes = b"\x10\0\0\0ET12".to_vec();
    // Vtable of the root: itself and the object 8 bytes long, no version, execution_plan at 4.
    bytes.extend([8, 0, 8, 0, 0, 0, 4, 0]);
    // Root: distance back to the vtable, then the offset of the list.
    bytes.extend(8i32.to_le_bytes());
    bytes.extend(4u32.to_le_bytes());
    bytes.extend(n.to_le_bytes());
    let plan = 28 + 4 * n;
    (0..n).for_each(|index| bytes.extend((plan - (28 + 4 * index)).to_le_bytes()));
    // The method: vtable 12 bytes behind its start, values at 4.
    bytes.extend((-12i32).to_le_bytes());
    bytes.extend(20u32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend([10, 0, 8, 0, 0, 0, 0, 0, 4, 0, 0, 0]);
    // The list of values, which the method's field points at (20 bytes behind it).
    let list = bytes.len() as u32;
    assert_eq!(list, plan + 24);
    bytes.extend(n.to_le_bytes());
    let value = list + 4 + 4 * n;
    (0..n).for_each(|index| bytes.extend((value - (list + 4 + 4 * index)).to_le_bytes()));
    bytes.extend((-4i32).to_le_bytes());
    bytes.extend([4, 0, 4, 0]);
    bytes
}
