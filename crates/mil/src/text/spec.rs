//! Specification files for passes: programs before and after, many to a file.
//!
//! ```text
//! // case: two transposes become one
//! // opts: {"max_chain": 2}
//! func main<ios17>(tensor<fp32, [2, 3]> x) {
//!         tensor<fp32, [3, 2]> a = transpose(x = x, perm = tensor<int32, [2]>([1, 0]));
//!         ...
//!     } -> (b);
//! // after
//! func main<ios17>(tensor<fp32, [2, 3]> x) {
//!     } -> (b = x);
//!
//! // case: a transpose that is needed stays
//! func main<ios17>(...) {...} -> (a);
//! // unchanged
//! ```
//!
//! A case begins at its `// case:` line. `// opts:` is optional, on one line. The program before ends at `// after`,
//! with the program after behind it, or at `// unchanged`. Lines before the first case are the file's own comments.
//! What "the same program" means is the caller's to say: names and the order of parameters are not part of it.

use crate::{Function, OpKind, infer_op};

/// One case of a specification file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecCase {
    /// What stands behind `// case:`.
    pub name: String,
    /// What stands behind `// opts:`, JSON by convention.
    pub opts: Option<String>,
    /// Text of the program before. Lines are kept where they are (blank lines go before it), so that the place of a
    /// parse error is the place in the file.
    pub before: String,
    /// Text of the program after, likewise; `None` where the pass is to change nothing.
    pub after: Option<String>,
    /// Line of `// case:`, from 1.
    pub line: usize,
}

/// A specification file that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SpecError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Splits a specification file into its cases.
///
/// # Errors
/// When there is no case, a case lacks its program or its `// after` or `// unchanged`, or has one of them twice.
pub fn parse_spec(text: &str) -> Result<Vec<SpecCase>, SpecError> {
    let mut cases: Vec<Draft> = Vec::new();
    for (i, raw) in text.lines().enumerate() {
        let line = i + 1;
        let comment = raw.trim().strip_prefix("//").map(str::trim);
        if let Some(name) = comment.and_then(|c| c.strip_prefix("case:")) {
            cases.push(Draft { name: name.trim().to_owned(), line, ..Draft::default() });
            continue;
        }
        let Some(case) = cases.last_mut() else {
            if comment.is_none() && !raw.trim().is_empty() {
                return Err(SpecError {
                    line,
                    message: "expected `// case: NAME` before the first program".to_owned(),
                });
            }
            continue;
        };
        case.line_of_text(line, raw, comment).map_err(|message| SpecError { line, message })?;
    }
    if cases.is_empty() {
        return Err(SpecError { line: 1, message: "there is no `// case: NAME`".to_owned() });
    }
    cases.into_iter().map(Draft::finish).collect()
}

/// A case while it is read.
#[derive(Default)]
struct Draft {
    name: String,
    line: usize,
    opts: Option<String>,
    before: Vec<(usize, String)>,
    after: Option<Vec<(usize, String)>>,
    unchanged: bool,
}

impl Draft {
    fn line_of_text(&mut self, line: usize, raw: &str, comment: Option<&str>) -> Result<(), String> {
        let has_end = self.unchanged || self.after.is_some();
        match comment {
            Some("after" | "unchanged") if has_end => {
                return Err("this case has its `// after` or `// unchanged` already".to_owned());
            }
            Some("after") => self.after = Some(Vec::new()),
            Some("unchanged") => self.unchanged = true,
            Some(c) if c.starts_with("opts:") => {
                if self.opts.is_some() || has_end || is_program(&self.before) {
                    return Err("`// opts:` stands once, before the program".to_owned());
                }
                self.opts = c.strip_prefix("opts:").map(|o| o.trim().to_owned());
            }
            None if self.unchanged && !raw.trim().is_empty() => {
                return Err("there is a program behind `// unchanged`; begin a case with `// case: NAME`".to_owned());
            }
            _ => self.after.as_mut().unwrap_or(&mut self.before).push((line, raw.to_owned())),
        }
        Ok(())
    }

    fn finish(self) -> Result<SpecCase, SpecError> {
        let error =
            |message: &str| Err(SpecError { line: self.line, message: format!("case `{}`: {message}", self.name) });
        if !is_program(&self.before) {
            return error("it has no program");
        }
        if self.after.is_none() && !self.unchanged {
            return error("it has neither `// after` nor `// unchanged`");
        }
        if self.after.as_ref().is_some_and(|a| !is_program(a)) {
            return error("it has no program behind `// after`");
        }
        let (before, after) = (in_place(&self.before), self.after.as_deref().map(in_place));
        Ok(SpecCase { name: self.name, opts: self.opts, before, after, line: self.line })
    }
}

/// Is there anything but comments and blank lines?
fn is_program(lines: &[(usize, String)]) -> bool {
    lines.iter().any(|(_, l)| !l.trim().is_empty() && !l.trim().starts_with("//"))
}

/// The lines at their places in the file, which costs a line break for each line before.
fn in_place(lines: &[(usize, String)]) -> String {
    let mut out = String::new();
    let mut at = 1;
    for (line, text) in lines {
        out.extend(std::iter::repeat_n('\n', line.saturating_sub(at)));
        out.push_str(text);
        at = *line;
    }
    out.push('\n');
    out
}

/// Where the types that a text states are not those that inference gives, one line each: a check on hand-written
/// programs. Ops that the table does not have are passed over.
pub fn type_problems(f: &Function) -> Vec<String> {
    let mut found = Vec::new();
    for id in f.all_ops() {
        let op = f.op(id);
        if op.kind == OpKind::Unknown || crate::schema_of(op.kind).is_none() {
            continue;
        }
        let label = op.outputs().first().map_or(op.type_name(), |&v| f.value(v).name.as_str());
        match infer_op(f, id) {
            Err(why) => found.push(format!("`{label}` ({}): {why}", op.type_name())),
            Ok(types) => {
                if types.len() != op.outputs().len() {
                    let (n, m) = (op.outputs().len(), types.len());
                    found.push(format!("`{label}` ({}): {n} results are stated, {m} follow", op.type_name()));
                }
                for (&v, ty) in op.outputs().iter().zip(&types) {
                    if !f.ty(v).compatible(ty) {
                        let (name, stated) = (&f.value(v).name, f.ty(v));
                        found.push(format!("`{name}` ({}): {stated} is stated, {ty} follows", op.type_name()));
                    }
                }
            }
        }
    }
    found
}
