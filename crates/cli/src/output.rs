//! Writing to the two streams, and files that appear whole.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::Failure;

/// Where the last panic was.
static PANIC_PLACE: Mutex<String> = Mutex::new(String::new());

/// Keeps the place of a panic.
pub(crate) fn note_panic_place(place: String) {
    *PANIC_PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
}

/// The place of the last panic.
pub(crate) fn panic_place() -> String {
    PANIC_PLACE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A line to stderr. A stream that is gone is nobody's loss.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// An error, to stderr.
pub(crate) fn error(message: &str) {
    say(&format!("error: {message}"));
}

/// A note or warning of the library, to stderr.
pub(crate) fn note(note: &coremill::Note) {
    say(&format!("{}: {note}", if note.is_warning() { "warning" } else { "note" }));
}

/// Data, to stdout. A reader that has gone away (`| head`) ends the output and is no failure.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes a text file that appears whole or not at all.
pub(crate) fn file(path: &Path, text: &str) -> Result<(), Failure> {
    Ok(coremill::write_text(path, text)?)
}
