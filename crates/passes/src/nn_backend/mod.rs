//! Passes that coremltools made for its older back end and runs for ML Programs too.

pub(crate) mod commingle_loop_vars;
pub(crate) mod decompose_conv1d;
pub(crate) mod handle_unused_inputs;
