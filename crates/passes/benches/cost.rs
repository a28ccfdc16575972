//! Time of the default pipeline per op, for programs of 1,000 to 100,000 ops: it stays flat.
//!
//! `cargo bench -p coremill-passes --bench cost` prints, for each family of programs and each length, the time of the
//! whole pipeline per op, the same against programs of 1,000 ops, and the ops looked at per op; for the longest the
//! costliest steps too. Every line is of 100,000 ops in all, in programs of the length given that live side by side: a hundred
//! short ones need as much fresh memory as a long one, and only the length differs. `ROUNDS=9` takes the best of more rounds.

#![allow(clippy::print_stdout, reason = "a benchmark says what it measured")]

#[path = "../tests/common/generate.rs"]
mod generate;

use std::time::{Duration, Instant};

use coremill_mil::Program;
use coremill_passes::{Instrument, PassManager, StepInfo, StepOutcome, preset};
use generate::{FAMILIES, Family, generate};

/// The allocator of the `coremill` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Ops of each line.
const TOTAL: usize = 100_000;

const LENGTHS: [usize; 3] = [1_000, 10_000, TOTAL];

/// Time and ops looked at by step.
#[derive(Default, Clone)]
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
        match self.steps.get_mut(step.index) {
            Some((_, time, visited)) => (*time, *visited) = (*time + spent, *visited + outcome.visited),
            None => self.steps.push((format!("{}. {}", step.index + 1, step.pass), spent, outcome.visited)),
        }
    }
}

impl Steps {
    fn time(&self) -> Duration {
        self.steps.iter().map(|s| s.1).sum()
    }

    fn visited(&self) -> u64 {
        self.steps.iter().map(|s| s.2).sum()
    }
}

fn run(family: Family, length: usize) -> Steps {
    let pipeline = preset("default").expect("there is a default pipeline");
    let mut programs: Vec<Program> = (0..TOTAL / length).map(|_| generate(family, length)).collect();
    let mut steps = Steps::default();
    for program in &mut programs {
        PassManager::new().instrument(&mut steps).run(&pipeline, program).expect("it runs");
    }
    steps
}

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    println!("{:<10} {:>8} {:>10} {:>12} {:>14}", "program", "ops", "us/op", "to 1,000", "visits/op");
    for family in FAMILIES {
        // The best of several rounds, each of all lengths, so that a busy moment does not strike one length alone.
        let mut best: Vec<Option<Steps>> = vec![None; LENGTHS.len()];
        for _ in 0..rounds {
            for (best, length) in best.iter_mut().zip(LENGTHS) {
                let steps = run(family, length);
                if best.as_ref().is_none_or(|b| steps.time() < b.time()) {
                    *best = Some(steps);
                }
            }
        }
        let best: Vec<Steps> = best.into_iter().flatten().collect();
        let per_op = |s: &Steps| s.time().as_secs_f64() * 1e6 / TOTAL as f64;
        for (steps, length) in best.iter().zip(LENGTHS) {
            let (ratio, visits) = (per_op(steps) / per_op(&best[0]), steps.visited() as f64 / TOTAL as f64);
            println!("{:<10} {length:>8} {:>10.2} {ratio:>12.2} {visits:>14.1}", format!("{family:?}"), per_op(steps));
        }
        let mut longest = best.into_iter().last().unwrap_or_default().steps;
        longest.sort_by_key(|s| std::cmp::Reverse(s.1));
        for (pass, spent, visited) in longest.iter().take(5) {
            let visits = *visited as f64 / TOTAL as f64;
            println!("    {:>8.1} ms, {visits:>5.1} visits/op  {pass}", spent.as_secs_f64() * 1e3);
        }
    }
}
