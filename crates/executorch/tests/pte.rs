//! Programs that ExecuTorch wrote, read and written back, changed, and built anew.

mod common;

use bytes::Bytes;
use coremill_executorch::compile_spec::{CompileSpec, CompileSpecs, CoreMlOptions, DeploymentTarget};
use coremill_executorch::inmemory_fs::Directory;
use coremill_executorch::pte::program::{DataLocation, EValue, Instruction, ScalarType, TensorShapeDynamism};
use coremill_executorch::pte::{
    DelegateStorage, InputSpec, MethodSpec, OutputSpec, PteFile, TensorInfo, TensorSpec, ValueInfo, single_delegate,
};

#[test]
fn every_program_of_the_peer_comes_back_byte_for_byte() {
    let mut programs = common::shared_programs();
    programs.push(("kv_cache_seed.pte".into(), common::kv_cache()));
    programs.push(("handed_through.pte".into(), common::handed_through()));
    for (path, file) in programs {
        let program = PteFile::read(&file).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = program.write().expect("a program that was read can be written");
        assert!(written == file, "{} differs", path.display());
        for delegate in program.delegates() {
            assert!(delegate.is_core_ml());
            CoreMlOptions::decode(delegate.compile_specs).expect("the peer's options");
            let unflattened = Directory::unflatten(&delegate.processed).expect("the peer's blob");
            assert_eq!(unflattened.root_name, "lowered_module");
            let flattened = unflattened.root.flatten(&unflattened.root_name).expect("a tree that was read");
            assert!(flattened == delegate.processed, "{}: the blob differs", path.display());
        }
    }
}

#[test]
fn a_program_describes_its_methods() {
    let file = common::kv_cache();
    let program = PteFile::read(&file).expect("the fixture");
    let methods = program.methods();
    let [method] = methods.as_slice() else { panic!("one method") };
    assert_eq!(method.name, "forward");
    assert_eq!(method.memory_planned_buffer_sizes, [80]);
    assert_eq!(method.backends, ["CoreMLBackend"]);
    let inputs: Vec<_> = method.inputs.iter().filter_map(|value| value.as_tensor()).collect();
    let facts: Vec<_> = inputs.iter().map(|t| (t.scalar_type, t.sizes, t.dim_order, t.nbytes)).collect();
    assert_eq!(
        facts,
        [
            (ScalarType::Float, &[1, 3][..], &[0, 1][..], Some(12)),
            (ScalarType::Float, &[1, 3], &[0, 1], Some(12)),
            (ScalarType::Long, &[1], &[0], Some(8)),
        ]
    );
    let delegate = program.delegate("forward", 0).expect("the one delegate");
    assert_eq!(delegate.call_args, Some(&[2, 1, 0, 3][..]));
    assert_eq!(delegate.location, DataLocation::Segment);
    let options = CoreMlOptions::decode(delegate.compile_specs).expect("options");
    assert_eq!(options.min_deployment_target, Some(DeploymentTarget::Ios18));
    assert_eq!(options.pass_pipeline.map(|ids| ids.len()), Some(9));
    // The blob is the file's own memory.
    assert!(file.as_ptr_range().contains(&delegate.processed.as_ptr()));
}

#[test]
fn another_pipeline_keeps_everything_else() {
    let file = common::kv_cache();
    let mut program = PteFile::read(&file).expect("the fixture");
    let before = program.clone();
    let mut specs = program.delegate("forward", 0).expect("a delegate").compile_specs.clone();
    specs.set(CompileSpec::pass_pipeline(&["common::noop_elimination"]));
    program.replace_delegate("forward", 0, specs.clone(), Bytes::from_static(b"another")).expect("it is there");
    let written = Bytes::from(program.write().expect("writable"));
    let again = PteFile::read(&written).expect("readable");
    let delegate = again.delegate("forward", 0).expect("still there");
    assert_eq!(delegate.processed, "another");
    assert_eq!(delegate.compile_specs, &specs);
    let mut undone = again.clone();
    let old = before.delegate("forward", 0).expect("a delegate");
    undone.replace_delegate("forward", 0, old.compile_specs.clone(), old.processed.clone()).expect("it is there");
    assert_eq!(undone.write().expect("writable"), file);
}

/// The kv_cache program of ExecuTorch, as a description.
fn kv_cache_method() -> MethodSpec {
    MethodSpec {
        name: "forward".to_owned(),
        inputs: vec![
            TensorSpec::new(ScalarType::Float, [1, 3]).into(),
            TensorSpec::new(ScalarType::Float, [1, 3]).into(),
            TensorSpec::new(ScalarType::Long, [1]).into(),
        ],
        delegate_outputs: vec![TensorSpec::new(ScalarType::Float, [8, 1])],
        delegate_inputs: Some(vec![2, 1, 0]),
        ..MethodSpec::default()
    }
}

#[test]
fn a_new_program_is_what_the_peer_writes() {
    let file = common::kv_cache();
    let program = PteFile::read(&file).expect("the fixture");
    let delegate = program.delegate("forward", 0).expect("a delegate");
    let specs = CoreMlOptions::decode(delegate.compile_specs).expect("options").encode();
    assert_eq!(&specs, delegate.compile_specs);
    let ours = single_delegate(&kv_cache_method(), specs, delegate.processed, DelegateStorage::Segment);
    let ours = ours.expect("a sound method");
    assert_eq!(ours, program);
    assert!(ours.write().expect("writable") == file);
}

/// The method of a program of the peer, as a description: no lifted constants, no pytree specs.
fn described(program: &PteFile) -> MethodSpec {
    let method = program.method("forward").expect("forward");
    let spec = |tensor: &TensorInfo<'_>| TensorSpec {
        scalar_type: tensor.scalar_type,
        sizes: tensor.sizes.to_vec(),
        dim_order: tensor.dim_order.to_vec(),
        dynamic: tensor.dynamism == TensorShapeDynamism::DynamicBound,
    };
    let delegate = program.delegate("forward", 0).expect("a delegate");
    let args = delegate.call_args.expect("a call");
    let is_input = |value: &i32| method.plan.inputs.iter().position(|input| input == value);
    let (given, made): (Vec<i32>, Vec<i32>) = args.iter().partition(|value| is_input(value).is_some());
    let output = |value: &i32| match is_input(value) {
        Some(input) => OutputSpec::Input(input),
        None => OutputSpec::Delegate(made.iter().position(|made| made == value).expect("of the delegate")),
    };
    let made_tensor = |value: &i32| {
        let at = method.plan.outputs.iter().position(|output| output == value).expect("an output");
        method.outputs[at].as_tensor().map(spec).expect("a tensor")
    };
    MethodSpec {
        name: "forward".to_owned(),
        inputs: method
            .inputs
            .iter()
            .map(|value| match value {
                ValueInfo::Tensor(tensor) => spec(tensor).into(),
                ValueInfo::Other(constant) => InputSpec::Constant((*constant).clone()),
            })
            .collect(),
        delegate_inputs: Some(given.iter().filter_map(is_input).collect()),
        delegate_outputs: made.iter().map(made_tensor).collect(),
        outputs: Some(method.plan.outputs.iter().map(output).collect()),
        container: None,
    }
}

#[test]
fn every_method_of_the_peer_can_be_built_anew() {
    for (path, file) in common::shared_programs() {
        let program = PteFile::read(&file).expect("the peer's program");
        let delegate = program.delegate("forward", 0).expect("a delegate");
        let spec = described(&program);
        let specs = delegate.compile_specs.clone();
        let ours = single_delegate(&spec, specs, delegate.processed.clone(), DelegateStorage::Segment);
        let ours = ours.expect("a sound method");
        let lifted = program.program.execution_plan[0].values.iter();
        if !lifted.into_iter().any(|value| matches!(value, EValue::Tensor(tensor) if tensor.data_buffer_idx != 0)) {
            assert!(ours.write().expect("writable") == file, "{} is not made anew", path.display());
        }
        let (theirs, ours) = (program.method("forward").expect("forward"), ours.method("forward").expect("forward"));
        assert_eq!(ours.inputs, theirs.inputs, "{}", path.display());
        assert_eq!(ours.outputs, theirs.outputs, "{}", path.display());
        assert_eq!(ours.memory_planned_buffer_sizes, theirs.memory_planned_buffer_sizes, "{}", path.display());
        assert_eq!(ours.plan.container_meta_type, theirs.plan.container_meta_type, "{}", path.display());
    }
}

#[test]
fn inline_data_is_aligned_and_comes_back() {
    for len in [0, 1, 15, 16, 17, 1000] {
        let blob = Bytes::from(vec![0xa5; len]);
        let specs = CompileSpecs::default();
        let program = single_delegate(&kv_cache_method(), specs, blob.clone(), DelegateStorage::Inline);
        let program = program.expect("a sound method");
        let written = Bytes::from(program.write().expect("writable"));
        let again = PteFile::read(&written).expect("readable");
        assert_eq!(again, program);
        let delegate = again.delegate("forward", 0).expect("a delegate");
        assert_eq!(delegate.processed, blob);
        assert_eq!(delegate.location, DataLocation::Inline);
        if len > 0 {
            assert_eq!((delegate.processed.as_ptr() as usize - written.as_ptr() as usize) % 16, 0);
        }
    }
}

#[test]
fn a_dynamic_method_has_its_largest_memory() {
    let method = MethodSpec {
        name: "forward".to_owned(),
        inputs: vec![TensorSpec::upper_bound(ScalarType::Float, [8, 80, 100]).into()],
        delegate_outputs: vec![TensorSpec::upper_bound(ScalarType::Float, [8, 50, 64])],
        ..MethodSpec::default()
    };
    let program = single_delegate(&method, CompileSpecs::default(), Bytes::from_static(b"x"), DelegateStorage::Segment)
        .expect("a sound method");
    assert_eq!(program.methods().first().map(|m| m.memory_planned_buffer_sizes.clone()), Some(vec![358_400]));
}

/// `f(x, n: int, y, unused)` that returns `(x + n, y, x + n)`: the number is a value of its own, `y` is handed through,
/// the sum is one value that is returned twice, and the unused input lends its memory to the sum.
#[test]
fn numbers_and_inputs_handed_through_are_values_too() {
    let tensor = |sizes: &[i32]| TensorSpec::new(ScalarType::Float, sizes);
    let method = MethodSpec {
        name: "forward".to_owned(),
        inputs: vec![
            tensor(&[2, 2]).into(),
            InputSpec::Constant(EValue::Int(3)),
            tensor(&[3]).into(),
            tensor(&[1]).into(),
        ],
        delegate_inputs: Some(vec![0]),
        delegate_outputs: vec![tensor(&[2, 2])],
        outputs: Some(vec![OutputSpec::Delegate(0), OutputSpec::Input(2), OutputSpec::Delegate(0)]),
        container: None,
    };
    let theirs = common::handed_through();
    let program = PteFile::read(&theirs).expect("the fixture");
    let delegate = program.delegate("forward", 0).expect("a delegate");
    let specs = delegate.compile_specs.clone();
    let file = single_delegate(&method, specs, delegate.processed, DelegateStorage::Segment).expect("sound");
    assert!(file.write().expect("writable") == theirs);
    let plan = &file.program.execution_plan[0];
    assert_eq!(plan.inputs, [0, 1, 2, 3]);
    assert_eq!(plan.outputs, [4, 2, 4]);
    assert_eq!(plan.values[1], EValue::Int(3));
    assert_eq!(plan.chains[0].instructions, [Instruction::DelegateCall { delegate_index: 0, args: vec![0, 4] }]);
    assert_eq!(plan.non_const_buffer_sizes, [0, 48]);
}
