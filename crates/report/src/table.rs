//! The record as text.

use std::fmt::Write;

use crate::record::RunReport;

impl RunReport {
    /// A line a step: what it changed, with the types of op whose number it changed.
    pub fn changes(&self) -> String {
        let mut out = String::new();
        let steps = self.pipelines.iter().flat_map(|p| &p.steps);
        let width = steps.map(|s| s.pass.len()).max().unwrap_or(0);
        for p in &self.pipelines {
            let _ = writeln!(out, "pipeline {}", p.name);
            for (i, s) in p.steps.iter().enumerate() {
                let (before, after) = s.op_counts();
                let what = match (s.ran, s.changed) {
                    (false, _) if s.error.is_some() => "failed".to_owned(),
                    (false, _) => "not run".to_owned(),
                    (true, false) => "no change".to_owned(),
                    (true, true) => format!("{} rewrites, {before} -> {after} ops", s.rewrites),
                };
                let _ = write!(out, "  {:>2}. {:<width$}  {what}", i + 1, s.pass);
                for (name, before, after) in s.differences() {
                    let _ = write!(out, ", {name} {before} -> {after}");
                }
                out.push('\n');
                for note in &s.notes {
                    let _ = writeln!(out, "      note: {note}");
                }
            }
        }
        out
    }

    /// Passes by time, longest first, each with its share. Empty for a record made without a clock.
    pub fn times(&self) -> String {
        let steps = self.pipelines.iter().flat_map(|p| p.steps.iter().map(move |s| (p, s)));
        let mut rows: Vec<_> = steps.filter_map(|(p, s)| s.seconds.map(|t| (t, p, s))).collect();
        let total: f64 = rows.iter().map(|r| r.0).sum();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut out = String::new();
        for (t, p, s) in &rows {
            let share = if total > 0.0 { 100.0 * t / total } else { 0.0 };
            let run = if s.run > 1 { format!(" (run {})", s.run) } else { String::new() };
            let _ = writeln!(out, "{:>10.3} ms {share:>5.1} %  {}{run}, {}", t * 1e3, s.pass, p.name);
        }
        if !rows.is_empty() {
            let _ = writeln!(out, "{:>10.3} ms 100.0 %  all passes", total * 1e3);
        }
        out
    }
}
