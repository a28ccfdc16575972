//! Edits of a pipeline: take a pass out, put one in, stop early.
//!
//! A step is named by the id of its pass, by `ID#N` for the N-th step of a pass that has several, or by its number in
//! the pipeline, from 1, as `coremill passes --pipeline NAME` shows it.

use std::fmt;
use std::str::FromStr;

use crate::pipeline::{PassSpec, Pipeline};

/// A step by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepRef {
    /// Every step of this pass.
    Pass(String),
    /// The N-th step of this pass, from 1.
    Nth(String, usize),
    /// The step of this number, from 1.
    Number(usize),
}

/// On which side of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Right before it.
    Before,
    /// Right after it.
    After,
}

/// A change of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipelineEdit {
    /// Takes the step out, or every step of the pass.
    Remove(StepRef),
    /// Puts a pass beside a step.
    Insert {
        /// Id of the new pass.
        pass: String,
        /// On which side.
        side: Side,
        /// The step.
        step: StepRef,
    },
    /// Puts a pass at the end.
    Append(String),
    /// Drops what comes after the step.
    StopAfter(StepRef),
}

/// An edit that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The pipeline has no such step.
    #[error("pipeline `{pipeline}` has no step `{step}`; {}", has(.steps))]
    NoSuchStep {
        /// The pipeline.
        pipeline: String,
        /// The step asked for.
        step: String,
        /// Its steps of the pass asked for, or all of them.
        steps: Vec<String>,
    },
    /// The pass stands at several steps and one is needed.
    #[error("pipeline `{pipeline}` has several steps `{pass}`, {}; say which, as `{pass}#1`", list(.steps))]
    Ambiguous {
        /// The pipeline.
        pipeline: String,
        /// The pass.
        pass: String,
        /// Numbers of its steps.
        steps: Vec<String>,
    },
}

/// Text that names no step or no edit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EditParseError(String);

fn list(items: &[String]) -> String {
    items.join(", ")
}

fn has(steps: &[String]) -> String {
    if steps.is_empty() { "it has none".to_owned() } else { format!("it has {}", list(steps)) }
}

impl FromStr for StepRef {
    type Err = EditParseError;

    fn from_str(text: &str) -> Result<StepRef, EditParseError> {
        let wrong = || {
            EditParseError(format!("`{text}` is no step; write a pass id, ID#N for its N-th step, or a number from 1"))
        };
        let positive = |n: &str| n.parse::<usize>().ok().filter(|&n| n > 0).ok_or_else(wrong);
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            return positive(text).map(StepRef::Number);
        }
        match text.split_once('#') {
            Some((id, n)) if !id.is_empty() => Ok(StepRef::Nth(id.to_owned(), positive(n)?)),
            None if !text.is_empty() => Ok(StepRef::Pass(text.to_owned())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for StepRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepRef::Pass(id) => f.write_str(id),
            StepRef::Nth(id, n) => write!(f, "{id}#{n}"),
            StepRef::Number(n) => write!(f, "{n}"),
        }
    }
}

impl PipelineEdit {
    /// Parses `ID@before:STEP` or `ID@after:STEP`.
    ///
    /// # Errors
    /// When it is neither, as a sentence.
    pub fn parse_insert(text: &str) -> Result<PipelineEdit, EditParseError> {
        let wrong = || {
            EditParseError(format!(
                "`{text}` says not where; write ID@before:STEP or ID@after:STEP, such as \
                 common::noop_elimination@before:common::add_fp16_cast"
            ))
        };
        let (pass, place) = text.split_once('@').ok_or_else(wrong)?;
        let (side, step) = place.split_once(':').ok_or_else(wrong)?;
        let side = match side {
            "before" => Side::Before,
            "after" => Side::After,
            _ => return Err(wrong()),
        };
        if pass.is_empty() {
            return Err(wrong());
        }
        Ok(PipelineEdit::Insert { pass: pass.to_owned(), side, step: step.parse()? })
    }
}

impl Pipeline {
    /// Makes the edits, one after the other; step numbers are those that the pipeline has at that point.
    ///
    /// # Errors
    /// When a step is not there, or one is needed and several are.
    pub fn edit(&mut self, edits: &[PipelineEdit]) -> Result<(), EditError> {
        for edit in edits {
            let new = |id: &String| PassSpec { id: id.clone(), ..PassSpec::default() };
            match edit {
                PipelineEdit::Remove(step) => {
                    let found = self.find(step)?;
                    let mut at = 0..;
                    self.steps.retain(|_| at.next().is_none_or(|i| !found.contains(&i)));
                }
                PipelineEdit::Append(id) => self.steps.push(new(id)),
                PipelineEdit::Insert { pass, side, step } => {
                    let at = self.find_one(step)?;
                    self.steps.insert(at + usize::from(*side == Side::After), new(pass));
                }
                PipelineEdit::StopAfter(step) => {
                    let at = self.find_one(step)?;
                    self.steps.truncate(at + 1);
                }
            }
        }
        Ok(())
    }

    /// Positions of the steps meant, at least one.
    fn find(&self, step: &StepRef) -> Result<Vec<usize>, EditError> {
        let of_pass = |id: &str| -> Vec<usize> { (0..self.steps.len()).filter(|&i| self.steps[i].id == id).collect() };
        let (all, found) = match step {
            StepRef::Pass(id) => (of_pass(id), of_pass(id)),
            StepRef::Nth(id, n) => (of_pass(id), of_pass(id).into_iter().skip(n - 1).take(1).collect()),
            StepRef::Number(n) => ((0..self.steps.len()).collect(), (n - 1..self.steps.len()).take(1).collect()),
        };
        if !found.is_empty() {
            return Ok(found);
        }
        let steps = match step {
            StepRef::Number(_) => match self.steps.len() {
                0 => Vec::new(),
                n => vec![format!("{n} steps")],
            },
            _ if all.is_empty() => {
                let mut ids: Vec<String> = self.ids().into_iter().map(|id| format!("`{id}`")).collect();
                ids.sort();
                ids.dedup();
                ids
            }
            _ => self.numbered(&all),
        };
        Err(EditError::NoSuchStep { pipeline: self.name.clone(), step: step.to_string(), steps })
    }

    fn find_one(&self, step: &StepRef) -> Result<usize, EditError> {
        match (self.find(step)?.as_slice(), step) {
            ([one], _) => Ok(*one),
            (many, StepRef::Pass(id) | StepRef::Nth(id, _)) => {
                Err(EditError::Ambiguous { pipeline: self.name.clone(), pass: id.clone(), steps: self.numbered(many) })
            }
            (_, StepRef::Number(_)) => {
                Err(EditError::NoSuchStep { pipeline: self.name.clone(), step: step.to_string(), steps: Vec::new() })
            }
        }
    }

    /// `ID#1 (step 3)` for each of these steps of one pass.
    fn numbered(&self, steps: &[usize]) -> Vec<String> {
        steps.iter().enumerate().map(|(n, &i)| format!("`{}#{}` (step {})", self.steps[i].id, n + 1, i + 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(edits: &[PipelineEdit]) -> Result<Vec<String>, String> {
        let mut p = Pipeline::from_ids("p", ["a::x", "a::y", "a::x", "a::z"]);
        p.edit(edits).map_err(|e| e.to_string())?;
        Ok(p.ids().into_iter().map(str::to_owned).collect())
    }

    fn step(text: &str) -> StepRef {
        text.parse().unwrap()
    }

    #[test]
    fn steps_go_in_and_out() {
        let insert = |text| PipelineEdit::parse_insert(text).unwrap();
        assert_eq!(edited(&[PipelineEdit::Remove(step("a::x"))]).unwrap(), ["a::y", "a::z"]);
        assert_eq!(edited(&[PipelineEdit::Remove(step("a::x#2"))]).unwrap(), ["a::x", "a::y", "a::z"]);
        assert_eq!(edited(&[PipelineEdit::Remove(step("4"))]).unwrap(), ["a::x", "a::y", "a::x"]);
        assert_eq!(edited(&[insert("b::n@before:a::y")]).unwrap(), ["a::x", "b::n", "a::y", "a::x", "a::z"]);
        assert_eq!(edited(&[insert("b::n@after:a::x#2")]).unwrap(), ["a::x", "a::y", "a::x", "b::n", "a::z"]);
        assert_eq!(edited(&[PipelineEdit::Append("b::n".into())]).unwrap().last().unwrap(), "b::n");
        assert_eq!(edited(&[PipelineEdit::StopAfter(step("2"))]).unwrap(), ["a::x", "a::y"]);
    }

    #[test]
    fn what_is_not_there_or_not_clear_is_told() {
        let ambiguous = edited(&[PipelineEdit::StopAfter(step("a::x"))]).unwrap_err();
        assert!(ambiguous.contains("`a::x#1` (step 1), `a::x#2` (step 3)"), "{ambiguous}");
        let none = edited(&[PipelineEdit::Remove(step("a::w"))]).unwrap_err();
        assert!(none.contains("no step `a::w`; it has `a::x`, `a::y`, `a::z`"), "{none}");
        assert!(edited(&[PipelineEdit::Remove(step("a::x#3"))]).unwrap_err().contains("`a::x#2` (step 3)"));
        assert!(edited(&[PipelineEdit::StopAfter(step("5"))]).unwrap_err().contains("it has 4 steps"));
        for wrong in ["0", "a::x#0", "a::x#n", "#1", ""] {
            assert!(wrong.parse::<StepRef>().is_err(), "{wrong}");
        }
        for wrong in ["a::x", "a::x@a::y", "a::x@beside:a::y", "@before:a::y"] {
            assert!(PipelineEdit::parse_insert(wrong).is_err(), "{wrong}");
        }
    }
}
