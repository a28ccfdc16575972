//! MIL, the intermediate language of Core ML: program, op table, type inference, verifier, text.
