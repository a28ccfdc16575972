//! The passes that make ops of the PyTorch dialect ops of ML Programs: one file each.

pub(crate) mod torch_tensor_assign_to_core;
pub(crate) mod torch_upsample_to_core_upsample;
