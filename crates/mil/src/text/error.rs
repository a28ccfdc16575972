//! What the parser found wrong, and where.

use std::fmt;

/// Text that is no MIL text: every problem found, the first first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The problems; at least one. A statement with a problem is left out, and reading goes on behind it.
    pub problems: Vec<Problem>,
}

/// One problem and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
    /// The line, or the part of it around the place when it is long.
    pub snippet: String,
    /// Characters of the snippet before the place.
    pub indent: usize,
    /// Characters that are wrong; at least 1.
    pub width: usize,
}

/// Characters of a long line to show before and after the place.
const AROUND: usize = 60;

impl Problem {
    /// A problem with the bytes `start..end` of a text.
    pub(super) fn at(text: &str, start: usize, end: usize, message: String) -> Problem {
        let floor = |mut i: usize| {
            i = i.min(text.len());
            while !text.is_char_boundary(i) {
                i -= 1;
            }
            i
        };
        let (start, end) = (floor(start), floor(end));
        let before = text.get(..start).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let head = before.get(line_start..).unwrap_or("");
        let rest = text.get(start..).unwrap_or("");
        let tail = rest.split(['\n', '\r']).next().unwrap_or("");
        let wrong = rest.get(..end.saturating_sub(start)).unwrap_or("").split('\n').next().unwrap_or("");

        let cut = head.char_indices().rev().nth(AROUND - 1).map_or(0, |(i, _)| i);
        let shown = head.get(cut..).unwrap_or("").replace('\t', " ");
        let (dots, indent) = if cut > 0 { ("...", 3) } else { ("", 0) };
        let after: String = tail.chars().take(AROUND).collect();
        let more = if after.len() < tail.len() { "..." } else { "" };
        Problem {
            line: before.matches('\n').count() + 1,
            column: head.chars().count() + 1,
            message,
            indent: indent + shown.chars().count(),
            width: wrong.chars().count().clamp(1, AROUND),
            snippet: format!("{dots}{shown}{after}{more}"),
        }
    }
}

impl fmt::Display for Problem {
    /// `line:column: message`, the line, and a caret under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.snippet.trim_end())?;
        write!(f, "{margin} | {}{}", " ".repeat(self.indent), "^".repeat(self.width))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, p) in self.problems.iter().enumerate() {
            write!(f, "{}{p}", if i > 0 { "\n\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}
