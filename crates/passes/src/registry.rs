//! The one list of passes.

use crate::pass::PassInfo;
use crate::{common, mil_backend, nn_backend};

/// Every pass, by namespace, then in the order of the pipelines that use it.
const PASSES: &[&PassInfo] = &[
    &common::const_elimination::PASS,
    &common::const_deduplication::PASS,
    &common::remove_symbolic_reshape::PASS,
    &common::noop_elimination::PASS,
    &common::merge_consecutive_relus::PASS,
    &common::merge_consecutive_reshapes::PASS,
    &common::merge_consecutive_transposes::PASS,
    &common::dedup_op_and_var_names::PASS,
    &common::dead_code_elimination::PASS,
    &common::cast_optimization::PASS,
    &common::loop_invariant_elimination::PASS,
    &common::divide_to_multiply::PASS,
    &common::fuse_gelu_exact::PASS,
    &common::fuse_gelu_tanh_approximation::PASS,
    &common::fuse_leaky_relu::PASS,
    &common::fuse_linear_bias::PASS,
    &common::fuse_squeeze_expand_dims::PASS,
    &common::fuse_transpose_matmul::PASS,
    &common::topological_reorder::PASS,
    &common::add_fp16_cast::PASS,
    &common::add_int16_cast::PASS,
    &mil_backend::adjust_io_to_supported_types::PASS,
    &mil_backend::fuse_activation_silu::PASS,
    &mil_backend::fuse_pow2_sqrt::PASS,
    &mil_backend::sanitize_name_strings::PASS,
    &nn_backend::handle_unused_inputs::PASS,
];

/// Every pass there is.
pub fn all_passes() -> impl Iterator<Item = &'static PassInfo> {
    PASSES.iter().copied()
}

/// The pass of this id.
pub fn find_pass(id: &str) -> Option<&'static PassInfo> {
    all_passes().find(|p| p.id == id)
}
