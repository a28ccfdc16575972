//! Graph passes, the pipelines that name them, and the manager that runs them.
//!
//! A pass is one file under `src/<namespace>/`, one spec under `specs/<namespace>/` and one line in
//! `registry.rs`. Most passes are [`Rewrite`]s: they look at an op and give back a [`Patch`]; the driver
//! applies it and looks again where something changed, so a pass costs what the program is long.
//!
//! The manager knows nothing of progress bars, timing or dumps: those are [`Instrument`]s.
//!
//! It deliberately reads no files, prints nothing and takes no time: callers do.

mod common;
mod conv_fusion;
mod edit_pipeline;
mod index_ops;
mod instrument;
mod known;
mod manager;
mod matching;
mod mil_backend;
mod names;
mod narrow;
mod nn_backend;
mod options;
mod pass;
mod patch;
mod peer_passes;
mod pipeline;
mod presets;
mod quantization;
mod range;
mod registry;
mod rewrite;
mod selection;
mod state_ops;
mod torch;

pub use edit_pipeline::{EditError, EditParseError, PipelineEdit, Side, StepRef};
pub use instrument::{Instrument, StepInfo, StepOutcome};
pub use manager::{Limits, PassManager, PipelineError, RunSummary};
pub use options::{OptionError, OptionKind, OptionSpec, Options};
pub use pass::{Pass, PassContext, PassError, PassInfo};
pub use patch::{NewPatchOp, Patch, PatchValue};
pub use pipeline::{PassSpec, Pipeline, PipelineParseError, ResolveError};
pub use presets::{PRESETS, Preset, backend_for, frontend_for, preset};
pub use registry::{RegisterError, Registry, all_passes, find_pass};
pub use rewrite::{Rewrite, rewrite, rewrite_function};
