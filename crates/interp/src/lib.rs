//! Evaluation of MIL ops on the CPU.
