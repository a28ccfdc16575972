//! The progress of pipelines on stderr, in the words of coremltools' bars.
//!
//! On a terminal a bar moves; elsewhere each pipeline gives one line when it ends. Both read
//! `Running MIL NAME pipeline: 100%|██████████| 9/9 [00:00<00:00, 512.34 passes/s]`.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use coremill_mil::Program;
use coremill_passes::{Instrument, PassError, StepInfo, StepOutcome};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output;

/// Shows how far pipelines are.
pub(crate) struct Progress {
    terminal: bool,
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
    started: Instant,
}

impl Progress {
    /// Progress on stderr.
    pub(crate) fn new() -> Progress {
        Progress { terminal: std::io::stderr().is_terminal(), bar: None, total: 0, done: 0, started: Instant::now() }
    }

    fn line(&self, name: &str) -> String {
        let elapsed = self.started.elapsed();
        if self.total == 0 {
            return format!("Running MIL {name} pipeline: 0 passes [{}, ? passes/s]", clock(elapsed));
        }
        format!(
            "Running MIL {name} pipeline: {:>3}%|{}| {}/{} [{}<{}, {}]",
            100 * self.done / self.total,
            blocks(self.done, self.total),
            self.done,
            self.total,
            clock(elapsed),
            clock(Duration::ZERO),
            rate(self.done, elapsed)
        )
    }
}

impl Instrument for Progress {
    fn before_pipeline(&mut self, name: &str, total: usize, _: &Program) {
        (self.total, self.done, self.started) = (total, 0, Instant::now());
        if self.terminal && total > 0 {
            let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let template = "Running MIL {msg} pipeline: {percent:>3}%|{bar:10}| {pos}/{len} [{spent}<{left}, {speed}]";
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(
                style
                    .progress_chars("█▉▊▋▌▍▎▏ ")
                    .with_key("spent", |s: &ProgressState, w: &mut dyn std::fmt::Write| {
                        let _ = w.write_str(&clock(s.elapsed()));
                    })
                    .with_key("left", |s: &ProgressState, w: &mut dyn std::fmt::Write| {
                        let _ = w.write_str(&clock(s.eta()));
                    })
                    .with_key("speed", |s: &ProgressState, w: &mut dyn std::fmt::Write| {
                        let _ = w.write_str(&rate(usize::try_from(s.pos()).unwrap_or(0), s.elapsed()));
                    }),
            );
            bar.set_message(name.to_owned());
            self.bar = Some(bar);
        }
    }

    fn after_pass(&mut self, _: &StepInfo<'_>, _: &Program, _: &StepOutcome) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
        }
    }

    fn pass_failed(&mut self, step: &StepInfo<'_>, _: &Program, _: &PassError) {
        match self.bar.take() {
            Some(bar) => bar.abandon(),
            None => output::say(&self.line(step.pipeline)),
        }
    }

    fn after_pipeline(&mut self, name: &str, _: &Program) {
        match self.bar.take() {
            Some(bar) => bar.finish(),
            None => output::say(&self.line(name)),
        }
    }
}

/// `MM:SS`, or `H:MM:SS`.
fn clock(t: Duration) -> String {
    let s = t.as_secs();
    let mut out = String::new();
    if s >= 3600 {
        let _ = write!(out, "{}:", s / 3600);
    }
    let _ = write!(out, "{:02}:{:02}", s / 60 % 60, s % 60);
    out
}

/// Passes a second, or seconds a pass where there is less than one a second.
fn rate(done: usize, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds <= 0.0 {
        return "? passes/s".to_owned();
    }
    let rate = done as f64 / seconds;
    if rate < 1.0 { format!("{:.2}s/ passes", 1.0 / rate) } else { format!("{rate:.2} passes/s") }
}

fn blocks(done: usize, total: usize) -> String {
    let full = 10 * done / total.max(1);
    "█".repeat(full) + &" ".repeat(10usize.saturating_sub(full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_as_those_of_coremltools() {
        let mut p = Progress { terminal: false, bar: None, total: 9, done: 9, started: Instant::now() };
        let line = p.line("executorch_user_pipeline");
        assert!(line.starts_with("Running MIL executorch_user_pipeline pipeline: 100%|██████████| 9/9 [00:00<00:00, "));
        assert!(line.ends_with(" passes/s]"));
        p.done = 4;
        assert!(p.line("x").starts_with("Running MIL x pipeline:  44%|████      | 4/9 [00:00<"));
        p.total = 0;
        assert_eq!(p.line("empty"), "Running MIL empty pipeline: 0 passes [00:00, ? passes/s]");
        assert_eq!(clock(Duration::from_secs(3725)), "1:02:05");
        assert_eq!(rate(1, Duration::from_secs(4)), "4.00s/ passes");
    }
}
