//! The op table has every op once, and takes what coremltools takes: `data/specs_b.txt` was recorded from its registry.

use std::collections::BTreeMap;

use coremill_mil::schema::{Domain, Flags, InputSpec, OpSchema, OpVersion};
use coremill_mil::{OpKind, Opset, all_schemas, schema_of};
use coremill_tensor::DType;

/// An input as the table file spells it; letters are renamed in order of appearance.
fn spell_input(input: &InputSpec, letters: &mut Vec<char>) -> String {
    let names = |dtypes: &[DType]| {
        let mut names: Vec<&str> = dtypes.iter().map(|d| d.name()).collect();
        names.sort_unstable();
        names.join(",")
    };
    let domain = match input.domain {
        Domain::Tensor(dtypes) => names(dtypes),
        Domain::SameTensor(letter, dtypes) => {
            let at = letters.iter().position(|&l| l == letter).unwrap_or_else(|| {
                letters.push(letter);
                letters.len() - 1
            });
            format!("{}:{}", char::from(b'A' + at as u8), names(dtypes))
        }
        Domain::Any => "any".to_owned(),
        Domain::List => "list".to_owned(),
        Domain::State => "state".to_owned(),
    };
    let (constant, optional) = (if input.constant { "!" } else { "" }, if input.optional { "?" } else { "" });
    format!("{}{constant}{optional}={domain}{}", input.name, if input.variadic { "*" } else { "" })
}

/// The words of a version, its inputs in alphabetical order: the order in which they are declared means nothing.
fn spell(schema: &OpSchema, version: &OpVersion) -> Vec<String> {
    let mut letters = Vec::new();
    let mut inputs: Vec<String> = version.inputs.iter().map(|i| spell_input(i, &mut letters)).collect();
    inputs.sort_unstable();
    let folds = if schema.flags.has(Flags::FOLDABLE) { "fold" } else { "-" };
    let head = [schema.kind.to_string(), version.since.to_string(), folds.to_owned()];
    head.into_iter().chain(inputs).collect()
}

#[test]
fn inputs_are_those_of_coremltools() {
    let lines = include_str!("data/specs_b.txt").lines().filter(|l| !l.starts_with('#'));
    let mut wrong = Vec::new();
    let mut versions: BTreeMap<OpKind, usize> = BTreeMap::new();
    for line in lines {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        words[3..].sort_unstable();
        let schema = schema_of(OpKind::from_name(&words[0]).unwrap()).unwrap();
        let ours: Vec<Vec<String>> = schema.versions.iter().map(|v| spell(schema, v)).collect();
        *versions.entry(schema.kind).or_default() += 1;
        if !ours.contains(&words) {
            wrong.push(format!("{line}\n    ours: {ours:?}"));
        }
    }
    for (kind, count) in versions {
        let ours = schema_of(kind).map_or(0, |s| s.versions.len());
        if ours != count {
            wrong.push(format!("{kind} has {ours} versions, and {count} in coremltools"));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_kind_has_one_entry() {
    for &kind in OpKind::ALL {
        assert_eq!(all_schemas().filter(|s| s.kind == kind).count(), 1, "{kind}");
    }
    assert_eq!(all_schemas().count(), OpKind::ALL.len());
    assert!(schema_of(OpKind::Unknown).is_none());
}

#[test]
fn entries_are_well_formed() {
    for schema in all_schemas() {
        let kind = schema.kind;
        assert!(!schema.summary.is_empty() && schema.summary.ends_with('.'), "{kind}: {:?}", schema.summary);
        assert!(schema.versions.is_sorted_by(|a, b| a.since < b.since), "{kind}: versions out of order");
        assert!(!schema.versions.is_empty(), "{kind} has no version");
        for version in schema.versions {
            let mut names: Vec<&str> = version.inputs.iter().map(|i| i.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|w| w[0] != w[1]), "{kind}: an input twice");
        }
    }
}

/// The versions of `coremltools` are found by opset: `pixel_unshuffle` came with ios16, `topk` changed twice.
#[test]
fn versions_follow_the_opset() {
    assert!(coremill_mil::version_of(OpKind::PixelUnshuffle, Opset::Ios15).is_none());
    let inputs = |opset| coremill_mil::version_of(OpKind::Topk, opset).map(|v| v.inputs.len());
    assert_eq!(Opset::ALL.map(inputs), [Some(4), Some(6), Some(7), Some(7)]);
}
