//! The op table takes what coremltools takes: `data/specs_a.txt` was recorded from its registry.

use coremill_mil::schema::{Domain, Flags, InputSpec, OpSchema, OpVersion};
use coremill_mil::{OpKind, schema_of};
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
        Domain::Any => "TupleInputType".to_owned(),
        Domain::List | Domain::State => unreachable!("no such input in these families"),
    };
    let (constant, optional) = (if input.constant { "!" } else { "" }, if input.optional { "?" } else { "" });
    format!("{}{constant}{optional}={domain}", input.name)
}

fn spell(schema: &OpSchema, version: &OpVersion) -> String {
    let mut letters = Vec::new();
    let inputs: Vec<String> = version.inputs.iter().map(|i| spell_input(i, &mut letters)).collect();
    let folds = if schema.flags.has(Flags::FOLDABLE) { "fold" } else { "-" };
    format!("{} {} {folds} {}", schema.kind, version.since, inputs.join(" "))
}

#[test]
fn inputs_are_those_of_coremltools() {
    let lines: Vec<&str> = include_str!("data/specs_a.txt").lines().filter(|l| !l.starts_with('#')).collect();
    for line in &lines {
        let kind = OpKind::from_name(line.split(' ').next().unwrap()).unwrap();
        let schema = schema_of(kind).unwrap_or_else(|| panic!("the table has no {kind}"));
        let ours: Vec<String> = schema.versions.iter().map(|v| spell(schema, v)).collect();
        assert!(ours.iter().any(|o| o == line), "{line}\nours: {ours:#?}");
    }
}
