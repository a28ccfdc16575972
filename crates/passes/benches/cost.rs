//! Time of the default pipeline per op, for programs of 1,000 to 100,000 ops: it stays flat.
//!
//! `cargo bench -p coremill-passes --bench cost` prints, for each family of programs and each length, the time of the
//! whole pipeline, the time per op and the ops looked at per op, and for the longest the costliest steps.

#![allow(clippy::print_stdout, reason = "a benchmark says what it measured")]

#[path = "../tests/common/generate.rs"]
mod generate;

use std::time::{Duration, Instant};

use coremill_mil::Program;
use coremill_passes::{Instrument, PassManager, StepInfo, StepOutcome, find_pass, preset};
use generate::{FAMILIES, generate};

#[derive(Default)]
struct Steps {
    started: Option<Instant>,
    steps: Vec<(String, Duration, u64)>,
}

impl Instrument for Steps {
    fn before_pass(&mut self, _: &StepInfo<'_>, _: &Program) {
        self.started = Some(Instant::now());
    }

    fn after_pass(&mut self, step: &StepInfo<'_>, _: &Program, outcome: &StepOutcome) {
        let spent = self.started.map_or(Duration::ZERO, |s| s.elapsed());
        self.steps.push((format!("{}. {}", step.index + 1, step.pass), spent, outcome.visited));
    }
}

fn main() {
    let lengths = [1_000, 10_000, 100_000];
    println!("{:<10} {:>8} {:>10} {:>10} {:>14}", "program", "ops", "ms", "us/op", "visits/op");
    for family in FAMILIES {
        for ops in lengths {
            // The fastest of several runs of the short ones: they are over before the machine has warmed up.
            let runs = (100_000 / ops).min(5);
            let mut best: Option<(Duration, Steps)> = None;
            for _ in 0..runs {
                let mut program = generate(family, ops);
                let mut pipeline = preset("default").expect("there is a default pipeline");
                pipeline.steps.retain(|s| find_pass(&s.id).is_some());
                let mut steps = Steps::default();
                let start = Instant::now();
                PassManager::new().instrument(&mut steps).run(&pipeline, &mut program).expect("it runs");
                let spent = start.elapsed();
                if best.as_ref().is_none_or(|(b, _)| spent < *b) {
                    best = Some((spent, steps));
                }
            }
            let Some((spent, mut steps)) = best else { continue };
            let visited: u64 = steps.steps.iter().map(|s| s.2).sum();
            let (ms, n) = (spent.as_secs_f64() * 1e3, ops as f64);
            let name = format!("{family:?}");
            println!("{name:<10} {ops:>8} {ms:>10.1} {:>10.2} {:>14.1}", ms * 1e3 / n, visited as f64 / n);
            if Some(&ops) == lengths.last() {
                steps.steps.sort_by_key(|s| std::cmp::Reverse(s.1));
                for (pass, spent, visited) in steps.steps.iter().take(5) {
                    println!(
                        "    {:>8.1} ms, {:>5.1} visits/op  {pass}",
                        spent.as_secs_f64() * 1e3,
                        *visited as f64 / n
                    );
                }
            }
        }
    }
}
