//! The passes that run right before an ML Program is written.

pub(crate) mod adjust_io_to_supported_types;
pub(crate) mod decompose_const_base2_pow;
pub(crate) mod fuse_activation_silu;
pub(crate) mod fuse_pow2_sqrt;
pub(crate) mod insert_image_preprocessing_ops;
pub(crate) mod sanitize_name_strings;
