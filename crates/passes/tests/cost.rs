//! What the default pipeline costs is linear in the program: counted in ops looked at, not in time.

#[path = "common/generate.rs"]
mod generate;

use coremill_mil::Program;
use coremill_passes::{Instrument, PassManager, StepInfo, StepOutcome, find_pass, preset};
use generate::{FAMILIES, Family, generate};

/// Ops looked at per step.
#[derive(Default)]
struct Visits(Vec<(String, u64)>);

impl Instrument for Visits {
    fn after_pass(&mut self, step: &StepInfo<'_>, _: &Program, outcome: &StepOutcome) {
        self.0.push((step.pass.to_owned(), outcome.visited));
    }
}

/// Ops looked at per op of the program, by step of the default pipeline.
fn visits_per_op(family: Family, ops: usize) -> Vec<(String, f64)> {
    let mut program = generate(family, ops);
    let mut pipeline = preset("default").unwrap();
    pipeline.steps.retain(|s| find_pass(&s.id).is_some());
    let mut visits = Visits::default();
    PassManager::new().instrument(&mut visits).run(&pipeline, &mut program).unwrap();
    visits.0.into_iter().map(|(pass, n)| (pass, n as f64 / ops as f64)).collect()
}

#[test]
fn the_default_pipeline_looks_at_each_op_equally_often_however_long_the_program() {
    let mut wrong = Vec::new();
    for family in FAMILIES {
        let (short, long) = (visits_per_op(family, 1_000), visits_per_op(family, 10_000));
        let sum = |v: &[(String, f64)]| v.iter().map(|s| s.1).sum::<f64>();
        if sum(&long) > 1.3 * sum(&short) {
            wrong.push(format!("{family:?}: {:.1} visits per op became {:.1}", sum(&short), sum(&long)));
        }
        // And no single step hides behind the others.
        for ((pass, a), (_, b)) in short.iter().zip(&long).filter(|((_, a), (_, b))| *b > 1.3 * a + 0.5) {
            wrong.push(format!("{family:?}, {pass}: {a:.1} visits per op became {b:.1}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
