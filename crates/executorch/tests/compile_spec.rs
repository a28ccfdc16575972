//! Compile specs against the bytes that ExecuTorch's own generators return.

use bytes::Bytes;
use coremill_executorch::compile_spec::{
    CompileSpec, CompileSpecs, ComputePrecision, ComputeUnits, CoreMlOptions, DeploymentTarget, ModelType, ShapeDim,
    WeightSharing, keys, to_python_json,
};
use serde_json::json;

/// The recorded `(key, value)` pairs, in the order of the recording.
fn recorded() -> Vec<CompileSpec> {
    let rows: Vec<(String, String)> = serde_json::from_str(include_str!("data/compile_specs.json")).expect("JSON");
    rows.into_iter().map(|(key, value)| CompileSpec::new(key, value.into_bytes())).collect()
}

#[test]
fn every_recorded_spec_is_written_back_byte_for_byte() {
    for spec in recorded() {
        let specs = CompileSpecs::from(vec![spec.clone()]);
        let options = CoreMlOptions::decode(&specs).expect("the peer wrote it");
        let written = options.encode();
        // A default strategy is not written, because the peer's own list of specs does not have it.
        if spec.value != "positional" {
            assert_eq!(written.get(&spec.key), Some(&spec));
        }
    }
}

#[test]
fn the_list_is_that_of_the_peer() {
    let recorded = recorded();
    let options =
        CoreMlOptions { pass_pipeline: Some(vec!["common::noop_elimination".to_owned()]), ..CoreMlOptions::default() };
    // The recording's `generate_compile_specs(pass_names=["common::noop_elimination"])`.
    let at = recorded.iter().rposition(|spec| spec.key == keys::COMPUTE_UNITS).expect("recorded");
    assert_eq!(options.encode().as_slice(), &recorded[at..at + 5]);
}

#[test]
fn absent_keys_mean_defaults_and_the_first_of_a_key_counts() {
    let options = CoreMlOptions::decode(&CompileSpecs::default()).expect("nothing to misread");
    assert_eq!(options, CoreMlOptions::default());
    assert_eq!(options.compute_units, ComputeUnits::All);
    assert_eq!(options.model_compute_precision, ComputePrecision::Float16);
    assert_eq!(options.model_type, ModelType::Model);
    assert_eq!(options.multimethod_weight_sharing_strategy, WeightSharing::Positional);

    let mut specs: CompileSpecs = [
        CompileSpec::new(keys::COMPUTE_UNITS, "CPU_ONLY"),
        CompileSpec::new("mine", &b"\xff\x00"[..]),
        CompileSpec::new(keys::COMPUTE_UNITS, "no such units"),
        CompileSpec::new("mine", "again"),
    ]
    .into_iter()
    .collect();
    let options = CoreMlOptions::decode(&specs).expect("the bad one is shadowed");
    assert_eq!(options.compute_units, ComputeUnits::CpuOnly);
    assert_eq!(specs.unknown_keys(), ["mine"]);
    specs.set(CompileSpec::new(keys::COMPUTE_UNITS, "all"));
    specs.set(CompileSpec::new(keys::MIN_DEPLOYMENT_TARGET, "8"));
    let order: Vec<(&str, &[u8])> = specs.iter().map(|spec| (spec.key.as_str(), &spec.value[..])).collect();
    assert_eq!(
        order,
        [
            (keys::COMPUTE_UNITS, &b"all"[..]),
            ("mine", b"\xff\x00"),
            (keys::COMPUTE_UNITS, b"no such units"),
            ("mine", b"again"),
            (keys::MIN_DEPLOYMENT_TARGET, b"8"),
        ]
    );
    assert!(specs.remove("mine"));
    assert_eq!(specs.len(), 3);
}

#[test]
fn every_bad_value_is_named_with_its_bytes() {
    let specs: CompileSpecs = [
        CompileSpec::new(keys::COMPUTE_UNITS, "gpu"),
        CompileSpec::new(keys::MIN_DEPLOYMENT_TARGET, "17"),
        CompileSpec::new(keys::MODEL_COMPUTE_PRECISION, &b"\xff16"[..]),
        CompileSpec::new(keys::MODEL_TYPE, ""),
        CompileSpec::new(keys::OP_LINEAR_QUANTIZER_CONFIG, "[]"),
        CompileSpec::new(keys::ENUMERATED_SHAPES, r#"[[{"shape": [1]}, [[[1, 2]], ["x"]]]]"#),
        CompileSpec::new(keys::PASS_PIPELINE, r#"["a", 1]"#),
        CompileSpec::new(keys::MULTIMETHOD_WEIGHT_SHARING_STRATEGY, "Positional"),
    ]
    .into_iter()
    .collect();
    let errors = CoreMlOptions::decode(&specs).expect_err("all are wrong");
    let named: Vec<&str> = errors.0.iter().map(|error| error.key.as_str()).collect();
    let mut all = keys::ALL.to_vec();
    all.sort_unstable();
    let mut sorted = named.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, all);
    let text = errors.to_string();
    assert!(
        text.contains(r#"compile spec 'model_compute_precision': it is not UTF-8; its value is b"\xff16""#),
        "{text}"
    );
    assert!(text.contains("one of all, cpu_only, cpu_and_gpu, cpu_and_ne is wanted"), "{text}");
}

#[test]
fn key_and_value_are_split_at_the_first_equals_sign() {
    let spec = CompileSpec::parse("a=b=c").expect("well-formed");
    assert_eq!(spec, CompileSpec::new("a", "b=c"));
    assert_eq!(CompileSpec::parse("a=").expect("an empty value").value, Bytes::new());
    for bad in ["", "a", "=b"] {
        let error = CompileSpec::parse(bad).expect_err("no key or no sign");
        assert!(error.to_string().contains("KEY=VALUE"));
    }
}

#[test]
fn enumerated_shapes_are_typed() {
    let specs: CompileSpecs = recorded().into_iter().filter(|spec| spec.key == keys::ENUMERATED_SHAPES).collect();
    let entries = CoreMlOptions::decode(&specs).expect("recorded").enumerated_shapes.expect("present");
    let [x, y] = entries.as_slice() else { panic!("two inputs") };
    assert_eq!(x.shapes, [[8, 9], [24, 10]]);
    assert_eq!(x.inputs, ["x"]);
    assert_eq!(y.symbolic.first(), Some(&ShapeDim::Fixed(1)));
    assert!(matches!(&y.symbolic[1], ShapeDim::Symbol { low: Some(2), high: None, .. }));
}

#[test]
fn targets_are_specification_versions() {
    for version in 4..=10 {
        let target = DeploymentTarget::from_specification_version(version).expect("known");
        assert_eq!(target.specification_version(), version);
    }
    assert_eq!(DeploymentTarget::from_specification_version(9).map(DeploymentTarget::name), Some("ios18"));
    assert_eq!(DeploymentTarget::from_specification_version(11), None);
}

/// Expected texts are what Python 3.11's `json.dumps` returns.
#[test]
fn json_is_spelled_as_python_spells_it() {
    let cases = [
        (json!([1, -2, 18_446_744_073_709_551_615_u64]), "[1, -2, 18446744073709551615]"),
        (
            json!([1e15, 1e16, 1.5e16, 1.5e300, 123_456_789_012_345_680.0]),
            "[1000000000000000.0, 1e+16, 1.5e+16, 1.5e+300, 1.2345678901234568e+17]",
        ),
        (json!([0.0001, 0.00012, 0.00001, -2.5e-7, -0.0]), "[0.0001, 0.00012, 1e-05, -2.5e-07, -0.0]"),
        (
            json!("\u{0}\u{8}\u{c}\n\r\t\"\\/\u{1f}\u{7f}\u{e9}\u{1f600}"),
            r#""\u0000\b\f\n\r\t\"\\/\u001f\u007f\u00e9\ud83d\ude00""#,
        ),
        (json!({"b": null, "a": [true, false], "": {}}), r#"{"b": null, "a": [true, false], "": {}}"#),
    ];
    for (value, text) in cases {
        assert_eq!(to_python_json(&value), text);
    }
}
