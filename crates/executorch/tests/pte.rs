//! Programs that ExecuTorch wrote, read and written back, changed, and built anew.

mod common;

use bytes::Bytes;
use coremill_executorch::compile_spec::{CompileSpec, CompileSpecs, CoreMlOptions, DeploymentTarget};
use coremill_executorch::inmemory_fs::Directory;
use coremill_executorch::pte::program::{DataLocation, ScalarType, TensorShapeDynamism};
use coremill_executorch::pte::{
    DelegateStorage, MethodSpec, PteFile, TensorInfo, TensorSpec, ValueInfo, write_single_delegate,
};

#[test]
fn every_program_of_the_peer_comes_back_byte_for_byte() {
    let mut programs = common::shared_programs();
    programs.push(("kv_cache_seed.pte".into(), common::kv_cache()));
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
            TensorSpec::new(ScalarType::Float, [1, 3]),
            TensorSpec::new(ScalarType::Float, [1, 3]),
            TensorSpec::new(ScalarType::Long, [1]),
        ],
        outputs: vec![TensorSpec::new(ScalarType::Float, [8, 1])],
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
    let ours = write_single_delegate(&kv_cache_method(), specs, delegate.processed, DelegateStorage::Segment);
    let ours = ours.expect("a sound method");
    assert_eq!(ours, program);
    assert!(ours.write().expect("writable") == file);
}

/// The method of a program of the peer, as a description: no lifted constants, no pytree specs.
fn described(program: &PteFile) -> MethodSpec {
    let method = program.method("forward").expect("forward");
    let tensors = |values: &[ValueInfo<'_>]| {
        let tensors = values.iter().filter_map(|value| value.as_tensor());
        let spec = |tensor: &TensorInfo<'_>| TensorSpec {
            scalar_type: tensor.scalar_type,
            sizes: tensor.sizes.to_vec(),
            dim_order: tensor.dim_order.to_vec(),
            dynamic: tensor.dynamism == TensorShapeDynamism::DynamicBound,
        };
        tensors.map(spec).collect::<Vec<_>>()
    };
    let delegate = program.delegate("forward", 0).expect("a delegate");
    let args = delegate.call_args.expect("a call");
    let (given, made) = args.split_at(method.inputs.len());
    let among = |args: &[i32], values: &[i32]| {
        args.iter().map(|arg| values.iter().position(|value| value == arg).expect("of the method")).collect()
    };
    MethodSpec {
        name: "forward".to_owned(),
        inputs: tensors(&method.inputs),
        outputs: tensors(&method.outputs),
        delegate_inputs: Some(among(given, &method.plan.inputs)),
        delegate_outputs: Some(among(made, &method.plan.outputs)),
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
        let ours = write_single_delegate(&spec, specs, delegate.processed.clone(), DelegateStorage::Segment);
        let ours = ours.expect("a sound method");
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
        let program = write_single_delegate(&kv_cache_method(), specs, blob.clone(), DelegateStorage::Inline);
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
        inputs: vec![TensorSpec::upper_bound(ScalarType::Float, [8, 80, 100])],
        outputs: vec![TensorSpec::upper_bound(ScalarType::Float, [8, 50, 64])],
        ..MethodSpec::default()
    };
    let program =
        write_single_delegate(&method, CompileSpecs::default(), Bytes::from_static(b"x"), DelegateStorage::Segment)
            .expect("a sound method");
    assert_eq!(program.methods().first().map(|m| m.memory_planned_buffer_sizes.clone()), Some(vec![358_400]));
}
