//! Core ML's .mlpackage and .mlmodel, read into MIL and written from it.
