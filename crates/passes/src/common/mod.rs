//! The passes that serve every front end: one file each.

pub(crate) mod add_fp16_cast;
pub(crate) mod add_int16_cast;
pub(crate) mod cast_optimization;
pub(crate) mod compose_conv1d;
pub(crate) mod const_deduplication;
pub(crate) mod const_elimination;
pub(crate) mod dead_code_elimination;
pub(crate) mod dedup_op_and_var_names;
pub(crate) mod divide_to_multiply;
pub(crate) mod fuse_gelu_exact;
pub(crate) mod fuse_gelu_tanh_approximation;
pub(crate) mod fuse_leaky_relu;
pub(crate) mod fuse_linear_bias;
pub(crate) mod fuse_prelu;
pub(crate) mod fuse_squeeze_expand_dims;
pub(crate) mod fuse_transpose_matmul;
pub(crate) mod loop_invariant_elimination;
pub(crate) mod merge_consecutive_paddings;
pub(crate) mod merge_consecutive_relus;
pub(crate) mod merge_consecutive_reshapes;
pub(crate) mod merge_consecutive_transposes;
pub(crate) mod noop_elimination;
pub(crate) mod prelu_to_lrelu;
pub(crate) mod remove_symbolic_reshape;
pub(crate) mod topological_reorder;
pub(crate) mod use_reflection_padding;
