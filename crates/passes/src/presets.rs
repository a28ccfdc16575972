//! The named pipelines.

use crate::pipeline::Pipeline;

/// A named pipeline.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// The ids of its steps.
    pub steps: &'static [&'static str],
}

/// The named pipelines, as in coremltools 9.0.
pub const PRESETS: &[Preset] = &[
    Preset { name: "default", summary: "What runs when no pipeline is named", steps: DEFAULT },
    Preset {
        name: "cleanup",
        summary: "The end of the default pipeline: no fusion, no change of precision",
        steps: CLEANUP,
    },
    Preset { name: "empty", summary: "No pass at all", steps: &[] },
    Preset {
        name: "frontend_pytorch",
        summary: "What runs right after a PyTorch program is lowered",
        steps: FRONTEND_PYTORCH,
    },
    Preset {
        name: "backend_mlprogram",
        summary: "What runs right before an ML Program is written",
        steps: BACKEND_MLPROGRAM,
    },
];

/// What runs before the user's pipeline on a program that was lowered from PyTorch.
///
/// As in coremltools, a pass that `default` has and the user's pipeline lacks is taken for unwanted and left out
/// here too, and options that the user's pipeline sets hold here too.
pub fn frontend_for(user: &Pipeline) -> Pipeline {
    around("frontend_pytorch", FRONTEND_PYTORCH, user)
}

/// What runs after the user's pipeline, before an ML Program is written; see [`frontend_for`] for what is left out.
pub fn backend_for(user: &Pipeline) -> Pipeline {
    around("backend_mlprogram", BACKEND_MLPROGRAM, user)
}

fn around(name: &str, steps: &[&'static str], user: &Pipeline) -> Pipeline {
    let unwanted = |id: &str| DEFAULT.contains(&id) && !user.has(id);
    let mut pipeline = Pipeline::from_ids(name, steps.iter().copied().filter(|id| !unwanted(id)));
    for step in &user.steps {
        for (option, value) in &step.options {
            pipeline.set_option(&step.id, option, value);
        }
    }
    pipeline
}

/// The named pipeline as a value; `None` for an unknown name.
pub fn preset(name: &str) -> Option<Pipeline> {
    let p = PRESETS.iter().find(|p| p.name == name)?;
    Some(Pipeline::from_ids(p.name, p.steps.iter().copied()))
}

/// The default pipeline.
pub(crate) const DEFAULT: &[&str] = &[
    "common::lower_complex_dialect_ops",
    "common::update_output_dtypes",
    "common::cast_optimization",
    "common::noop_elimination",
    "common::int_op_canonicalization",
    "common::nullify_redundant_quantization_zero_point",
    "common::dequantize_quantize_pair_elimination",
    "common::distributive_quantized_binary_op_scale_normalization",
    "common::dequantize_to_constexpr",
    "common::canonicalize_quantized_lut_pattern",
    "common::const_elimination",
    "common::sanitize_input_output_names",
    "common::divide_to_multiply",
    "common::select_optimization",
    "common::add_conv_transpose_output_shape",
    "common::const_elimination",
    "common::const_deduplication",
    "common::loop_invariant_elimination",
    "common::remove_symbolic_reshape",
    "common::noop_elimination",
    "common::fuse_matmul_weight_bias",
    "common::fuse_linear_bias",
    "common::fuse_gelu_tanh_approximation",
    "common::fuse_gelu_exact",
    "common::fuse_leaky_relu",
    "common::rank0_expand_dims_swap",
    "common::fuse_squeeze_expand_dims",
    "common::compose_conv1d",
    "common::use_reflection_padding",
    "common::merge_consecutive_paddings",
    "common::fuse_pad_conv",
    "common::image_input_preprocess",
    "common::replace_stack_reshape",
    "common::reduce_transposes",
    "common::fuse_dilated_conv",
    "common::fuse_conv_scale",
    "common::fuse_conv_bias",
    "common::fuse_onehot_matmul_to_gather",
    "common::fuse_layernorm_or_instancenorm",
    "common::fuse_elementwise_to_batchnorm",
    "common::fuse_reduce_mean",
    "common::fuse_conv_batchnorm",
    "common::fuse_conv_scale",
    "common::fuse_conv_bias",
    "common::fuse_conv_batchnorm",
    "common::detect_concat_interleave",
    "common::concat_to_pixel_shuffle",
    "common::fuse_prelu",
    "common::prelu_to_lrelu",
    "common::merge_consecutive_relus",
    "common::merge_consecutive_reshapes",
    "common::merge_consecutive_transposes",
    "common::fuse_transpose_matmul",
    "common::expand_high_rank_reshape_and_transpose",
    "common::fuse_stack_split",
    "common::reduce_transposes",
    "common::remove_redundant_ops",
    "common::dedup_op_and_var_names",
    "common::add_fp16_cast",
    "common::add_int16_cast",
    "common::update_output_dtypes",
    "common::guard_negative_gather_indices",
    "common::const_elimination",
    "common::dead_code_elimination",
    "common::cast_optimization",
    "common::dead_code_elimination",
    "common::add_int16_cast",
    "common::const_elimination",
    "common::dead_code_elimination",
    "common::cast_optimization",
    "common::dead_code_elimination",
    "common::const_elimination",
    "common::canonicalize_inplace_pattern",
    "common::prefer_state_in_downstream",
    "common::const_elimination",
    "common::dead_code_elimination",
    "common::dead_code_elimination",
    "common::const_elimination",
    "common::cast_optimization",
    "common::dead_code_elimination",
    "common::const_elimination",
    "common::const_deduplication",
    "common::dead_code_elimination",
    "common::merge_affine_dequantize_with_consecutive_ops",
    "common::expand_dynamic_linear",
    "common::fuse_transpose_matmul",
    "common::dead_code_elimination",
    "common::const_deduplication",
    "common::loop_invariant_elimination",
    "common::noop_elimination",
    "common::dedup_op_and_var_names",
    "common::reduce_transposes",
    "common::remove_redundant_ops",
    "common::topological_reorder",
    "common::dead_code_elimination",
];

/// The clean-up pipeline.
pub(crate) const CLEANUP: &[&str] = &[
    "common::dead_code_elimination",
    "common::const_elimination",
    "common::cast_optimization",
    "common::dead_code_elimination",
    "common::const_elimination",
    "common::const_deduplication",
    "common::dead_code_elimination",
    "common::merge_affine_dequantize_with_consecutive_ops",
    "common::expand_dynamic_linear",
    "common::fuse_transpose_matmul",
    "common::dead_code_elimination",
    "common::const_deduplication",
    "common::loop_invariant_elimination",
    "common::noop_elimination",
    "common::dedup_op_and_var_names",
    "common::reduce_transposes",
    "common::remove_redundant_ops",
    "common::topological_reorder",
    "common::dead_code_elimination",
];

/// Passes of the PyTorch front end.
pub(crate) const FRONTEND_PYTORCH: &[&str] = &[
    "common::dead_code_elimination",
    "common::loop_invariant_elimination",
    "common::dead_code_elimination",
    "torch::torch_upsample_to_core_upsample",
    "torch::torch_tensor_assign_to_core",
];

/// Passes of the ML Program back end.
pub(crate) const BACKEND_MLPROGRAM: &[&str] = &[
    "common::const_elimination",
    "mil_backend::adjust_io_to_supported_types",
    "mil_backend::insert_image_preprocessing_ops",
    "mil_backend::fuse_activation_silu",
    "mil_backend::fuse_pow2_sqrt",
    "common::const_elimination",
    "common::const_deduplication",
    "common::cast_optimization",
    "common::dead_code_elimination",
    "mil_backend::sanitize_name_strings",
    "common::dedup_op_and_var_names",
    "nn_backend::handle_unused_inputs",
];
