//! The passes there are: the one list of coremill's own, and those that a library user adds.

use crate::pass::PassInfo;
use crate::peer_passes::PEER_PASSES;
use crate::{common, mil_backend, nn_backend, torch};

/// Every pass, by namespace, then in the order of the pipelines that use it.
const PASSES: &[&PassInfo] = &[
    &common::const_elimination::PASS,
    &common::const_deduplication::PASS,
    &common::remove_symbolic_reshape::PASS,
    &common::noop_elimination::PASS,
    &common::merge_consecutive_paddings::PASS,
    &common::merge_consecutive_relus::PASS,
    &common::merge_consecutive_reshapes::PASS,
    &common::merge_consecutive_transposes::PASS,
    &common::reduce_transposes::PASS,
    &common::dedup_op_and_var_names::PASS,
    &common::dead_code_elimination::PASS,
    &common::cast_optimization::PASS,
    &common::loop_invariant_elimination::PASS,
    &common::lower_complex_dialect_ops::PASS,
    &common::compose_conv1d::PASS,
    &common::divide_to_multiply::PASS,
    &common::fuse_gelu_exact::PASS,
    &common::fuse_gelu_tanh_approximation::PASS,
    &common::fuse_leaky_relu::PASS,
    &common::fuse_linear_bias::PASS,
    &common::fuse_dilated_conv::PASS,
    &common::fuse_pad_conv::PASS,
    &common::fuse_prelu::PASS,
    &common::prelu_to_lrelu::PASS,
    &common::fuse_squeeze_expand_dims::PASS,
    &common::fuse_transpose_matmul::PASS,
    &common::topological_reorder::PASS,
    &common::use_reflection_padding::PASS,
    &common::add_conv_transpose_output_shape::PASS,
    &common::fuse_conv_scale::PASS,
    &common::fuse_conv_bias::PASS,
    &common::fuse_conv_batchnorm::PASS,
    &common::fuse_elementwise_to_batchnorm::PASS,
    &common::sanitize_input_output_names::PASS,
    &common::update_output_dtypes::PASS,
    &common::int_op_canonicalization::PASS,
    &common::nullify_redundant_quantization_zero_point::PASS,
    &common::dequantize_quantize_pair_elimination::PASS,
    &common::dequantize_to_constexpr::PASS,
    &common::merge_affine_dequantize_with_consecutive_ops::PASS,
    &common::remove_redundant_ops::PASS,
    &common::expand_high_rank_reshape_and_transpose::PASS,
    &common::replace_stack_reshape::PASS,
    &common::fuse_stack_split::PASS,
    &common::concat_to_pixel_shuffle::PASS,
    &common::detect_concat_interleave::PASS,
    &common::canonicalize_inplace_pattern::PASS,
    &common::prefer_state_in_downstream::PASS,
    &common::fuse_matmul_weight_bias::PASS,
    &common::select_optimization::PASS,
    &common::fuse_layernorm_or_instancenorm::PASS,
    &common::fuse_reduce_mean::PASS,
    &common::rank0_expand_dims_swap::PASS,
    &common::fuse_gelu_sigmoid_approximation::PASS,
    &common::fuse_onehot_matmul_to_gather::PASS,
    &common::expand_dynamic_linear::PASS,
    &common::add_fp16_cast::PASS,
    &common::add_int16_cast::PASS,
    &common::guard_negative_gather_indices::PASS,
    &mil_backend::adjust_io_to_supported_types::PASS,
    &common::distributive_quantized_binary_op_scale_normalization::PASS,
    &common::canonicalize_quantized_lut_pattern::PASS,
    &common::image_input_preprocess::PASS,
    &common::reorder_lut_per_channel_scale::PASS,
    &common::materialize_symbolic_shape_program::PASS,
    &common::scaled_dot_product_attention_sliced_q::PASS,
    &mil_backend::decompose_const_base2_pow::PASS,
    &mil_backend::fuse_activation_silu::PASS,
    &mil_backend::fuse_pow2_sqrt::PASS,
    &mil_backend::insert_image_preprocessing_ops::PASS,
    &mil_backend::sanitize_name_strings::PASS,
    &nn_backend::commingle_loop_vars::PASS,
    &nn_backend::decompose_conv1d::PASS,
    &nn_backend::handle_unused_inputs::PASS,
    &torch::torch_tensor_assign_to_core::PASS,
    &torch::torch_upsample_to_core_upsample::PASS,
];

/// Every pass of coremill's own.
pub fn all_passes() -> impl Iterator<Item = &'static PassInfo> {
    PASSES.iter().copied()
}

/// The pass of coremill's own of this id.
pub fn find_pass(id: &str) -> Option<&'static PassInfo> {
    all_passes().find(|p| p.id == id)
}

/// The passes that a pipeline may name: coremill's own and a library user's.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    own: Vec<&'static PassInfo>,
}

/// A pass that cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The id is not `namespace::name`.
    #[error("`{0}` is no pass id; write NAMESPACE::NAME, in letters, digits and underscores")]
    NotAnId(String),
    /// The namespace is one of coremill's, where ids mean what they mean in coremltools.
    #[error("pass `{id}`: the namespace `{namespace}` is taken; choose one of your own")]
    ReservedNamespace {
        /// The pass.
        id: String,
        /// Its namespace.
        namespace: String,
    },
    /// There is a pass of this id.
    #[error("there is a pass `{0}` already")]
    Taken(String),
}

impl Registry {
    /// Coremill's own passes.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a pass. Its id must be in a namespace that coremill and coremltools do not use.
    ///
    /// # Errors
    /// When the id is none, its namespace is reserved, or it is taken.
    pub fn register(&mut self, pass: &'static PassInfo) -> Result<(), RegisterError> {
        let id = || pass.id.to_owned();
        let is_word = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (namespace, name) = pass.id.split_once("::").ok_or_else(|| RegisterError::NotAnId(id()))?;
        if !is_word(namespace) || !is_word(name) {
            return Err(RegisterError::NotAnId(id()));
        }
        if PEER_PASSES.iter().any(|p| p.split_once("::").is_some_and(|(n, _)| n == namespace)) {
            return Err(RegisterError::ReservedNamespace { id: id(), namespace: namespace.to_owned() });
        }
        if self.find(pass.id).is_some() {
            return Err(RegisterError::Taken(id()));
        }
        self.own.push(pass);
        Ok(())
    }

    /// Every pass, coremill's first.
    pub fn all(&self) -> impl Iterator<Item = &'static PassInfo> {
        all_passes().chain(self.own.iter().copied())
    }

    /// The pass of this id.
    pub fn find(&self, id: &str) -> Option<&'static PassInfo> {
        self.all().find(|p| p.id == id)
    }
}
