//! Is a program valid MIL? One place that says so for the whole library.

use coremill_mil::Program;
use coremill_mil::text::PrintOptions;
use coremill_mil::verify::{Diagnostic, Stage, annotate, verify, verify_at};

/// How many problems of a program are told.
const SHOWN: usize = 20;

/// What keeps a program from being written, one sentence each, and at the end the ops concerned as MIL text with
/// their neighbours; empty when nothing is wrong.
pub fn problems(program: &Program) -> Vec<String> {
    let found = verify(program);
    let mut told = sentences(&found);
    if let Some(shown) = found.get(..found.len().min(SHOWN)).filter(|f| !f.is_empty()) {
        let options = PrintOptions { context: Some(2), ..PrintOptions::brief() };
        told.push(annotate(program, shown, &options));
    }
    told
}

/// What is wrong with a program between passes, where dialects and names that a later pass puts right are in order.
pub(crate) fn between_passes(program: &Program) -> Vec<String> {
    sentences(&verify_at(program, Stage::Passes))
}

fn sentences(found: &[Diagnostic]) -> Vec<String> {
    let mut told: Vec<String> = found.iter().take(SHOWN).map(ToString::to_string).collect();
    if found.len() > SHOWN {
        told.push(format!("and {} more", found.len() - SHOWN));
    }
    told
}
