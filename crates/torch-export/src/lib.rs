//! torch.export's .pt2 as plain data, and the lowering of ATen to MIL.
