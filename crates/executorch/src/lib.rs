//! ExecuTorch's .pte, compile specs and the delegate's in-memory file system.
