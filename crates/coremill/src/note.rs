//! What a job has to tell besides its result: values, handed to whoever listens.

use std::fmt;

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Half precision was asked for and the pipeline does not make it.
    StaysFloat32 {
        /// The pipeline.
        pipeline: String,
    },
    /// Single precision was asked for, so `common::add_fp16_cast` was left out of the pipeline.
    Fp16CastLeftOut {
        /// The pipeline.
        pipeline: String,
    },
    /// Compile specs that Core ML's backend does not know; they are carried along.
    UnknownSpecs(Vec<String>),
    /// Pass options were used but cannot travel in the `pass_pipeline` compile spec, which holds ids only.
    OptionsNotInSpec,
    /// Debug information of the old program was dropped.
    DebugInfoDropped {
        /// The method.
        method: String,
    },
    /// The program has ops that the op table does not have; they are kept as they are.
    UnknownOps(Vec<String>),
    /// No deployment target was given.
    ChosenOpset(coremill_mil::Opset),
}

impl Note {
    /// Is it about a result that may not be what was asked for?
    pub fn is_warning(&self) -> bool {
        !matches!(self, Note::DebugInfoDropped { .. } | Note::ChosenOpset(_) | Note::OptionsNotInSpec)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::StaysFloat32 { pipeline } => write!(
                f,
                "the program stays float32: `{pipeline}` has no `common::add_fp16_cast`, which is what \
                 makes the float16 that is asked for; add it, or pass `--compute-precision float32`"
            ),
            Note::Fp16CastLeftOut { pipeline } => {
                write!(f, "`common::add_fp16_cast` of `{pipeline}` is left out, since float32 is asked for")
            }
            Note::UnknownSpecs(keys) => write!(
                f,
                "ExecuTorch's Core ML backend does not know the compile specs `{}`; they are written all the same",
                keys.join("`, `")
            ),
            Note::OptionsNotInSpec => f.write_str(
                "the `pass_pipeline` compile spec holds pass ids only; the options set on passes do not travel with it",
            ),
            Note::DebugInfoDropped { method } => {
                write!(f, "the debug information of method `{method}` was made for the old program and is dropped")
            }
            Note::UnknownOps(ops) => {
                write!(f, "the op table does not have `{}`; these ops are kept as they are", ops.join("`, `"))
            }
            Note::ChosenOpset(opset) => {
                write!(f, "no deployment target is given; the program is for {opset}")
            }
        }
    }
}
