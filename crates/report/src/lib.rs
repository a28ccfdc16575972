//! The record of a run: which passes ran, what each changed, how long it took.
//!
//! [`Recorder`] is an instrument that fills a [`RunReport`]; [`RunReport`] prints as JSON, as a table of times or
//! as a summary of changes. Time comes from a clock that the caller hands in, so a record made without one is the
//! same on every run.
//!
//! It deliberately writes no files and prints nothing: it makes text.

mod dump;
mod histogram;
mod record;
mod table;

pub use dump::{Dump, DumpEvent, DumpWhen};
pub use histogram::{Histogram, op_histogram};
pub use record::{PipelineRecord, Recorder, RunReport, StepRecord};
