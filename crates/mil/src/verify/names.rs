//! Names that a user sees, and outputs.

use std::collections::HashMap;

use super::{Port, Problem, Stage};
use crate::{Function, ValueId};

/// What is wrong with a function's signature.
pub(super) fn check(name: &str, f: &Function, stage: Stage) -> Vec<Problem> {
    let mut found = Vec::new();
    let inputs = f.inputs().iter().filter(|&&v| f.is_live_value(v));
    let inputs = inputs.enumerate().map(|(i, &v)| (Port::Input(i), f.value(v).name.as_str()));
    let outputs = f.output_names().iter().enumerate().map(|(i, n)| (Port::Output(i), n.as_str()));
    let ports: Vec<(Port, &str)> = inputs.chain(outputs).collect();
    let mut first: HashMap<&str, Port> = HashMap::new();
    for &(port, name) in &ports {
        if let Some(&first) = first.get(name) {
            // An input handed through under its own name is the business of `InputReturned`.
            if !is_handed_through(f, first, port) {
                found.push(Problem::SameName { name: name.to_owned(), first, second: port });
            }
        } else {
            first.insert(name, port);
        }
    }
    let (names, values) = (f.output_names().len(), f.outputs().len());
    if names != values {
        found.push(Problem::OutputNames { names, outputs: values });
    }
    if stage == Stage::Written {
        let all = std::iter::once((Port::Function, name)).chain(ports.iter().copied());
        let bad = all.filter(|(_, n)| !is_identifier(n));
        found.extend(bad.map(|(of, name)| Problem::BadName { of, name: name.to_owned() }));
        found.extend(shared_outputs(f));
    }
    found
}

fn is_handed_through(f: &Function, input: Port, output: Port) -> bool {
    match (input, output) {
        (Port::Input(i), Port::Output(o)) => f.outputs().nth(o).is_some_and(|v| f.inputs().get(i) == Some(&v)),
        _ => false,
    }
}

/// Outputs that are inputs, or one value with another.
fn shared_outputs(f: &Function) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut names: HashMap<ValueId, &str> = HashMap::new();
    let inputs: HashMap<ValueId, usize> = f.inputs().iter().enumerate().map(|(i, &v)| (v, i)).collect();
    for (v, name) in f.outputs().zip(f.output_names()) {
        if inputs.contains_key(&v) && f.is_live_value(v) {
            let input = f.value(v).name.clone();
            found.push(Problem::InputReturned { input, output: name.clone() });
        }
        match names.get(&v) {
            Some(&first) => found.push(Problem::OutputTwice { first: first.to_owned(), second: name.clone() }),
            None => {
                names.insert(v, name);
            }
        }
    }
    found
}

/// A name as the file format wants them: `[A-Za-z_][A-Za-z0-9_@]*`.
fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'@')
}
