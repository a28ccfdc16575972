//! Recurrent networks over a sequence `[steps, batch, inputs]`.

use coremill_tensor::{DType, Dim};

use super::common::{BOOL, FLOATS, STRING, bool_or, given, string_or, tensor};
use crate::Opset::{Ios15, Ios17, Ios18};
use crate::schema::{Default, Flags, InputSpec, OpSchema, OpVersion};
use crate::{InferError, OpArgs, OpKind, TensorType, Type};

const F32: &[DType] = &[DType::Fp32];
const DIRECTION: InputSpec = word("direction", "forward");
const SEQUENCE: InputSpec = InputSpec::tensor("output_sequence", BOOL).constant().default(Default::Bool(false));
const GATES: InputSpec = word("recurrent_activation", "sigmoid");
const ACTIVATION: InputSpec = word("activation", "tanh");

const fn word(name: &'static str, default: &'static str) -> InputSpec {
    InputSpec::tensor(name, STRING).constant().default(Default::Str(default))
}

const fn t(name: &'static str, dtypes: &'static [DType]) -> InputSpec {
    InputSpec::same(name, 'T', dtypes)
}

/// A constant tensor that may be left out.
const fn c(name: &'static str, dtypes: &'static [DType]) -> InputSpec {
    t(name, dtypes).constant().optional()
}

/// The inputs that `gru` and `rnn` share, then others.
macro_rules! inputs {
    ($dtypes:expr, $($other:expr),*) => {
        &[
            t("x", $dtypes),
            t("initial_h", $dtypes),
            t("weight_ih", $dtypes).constant(),
            t("weight_hh", $dtypes).constant(),
            c("bias", $dtypes),
            DIRECTION,
            SEQUENCE,
            $($other),*
        ]
    };
}

macro_rules! lstm_inputs {
    ($dtypes:expr) => {
        &[
            t("x", $dtypes),
            t("initial_h", $dtypes),
            t("initial_c", $dtypes),
            t("weight_ih", $dtypes).constant(),
            t("weight_hh", $dtypes).constant(),
            c("bias", $dtypes),
            c("peephole", $dtypes),
            c("weight_ih_back", $dtypes),
            c("weight_hh_back", $dtypes),
            c("bias_back", $dtypes),
            c("peephole_back", $dtypes),
            DIRECTION,
            SEQUENCE,
            GATES,
            word("cell_activation", "tanh"),
            ACTIVATION,
            c("clip", $dtypes),
        ]
    };
}

pub(super) const OPS: &[OpSchema] = &[
    OpSchema {
        kind: OpKind::Gru,
        summary: "Gated recurrent units; weights hold the gates reset, output, update. Gives all (or the last) and the last state.",
        versions: &[
            OpVersion::new(Ios15, inputs!(F32, GATES, ACTIVATION)),
            OpVersion::new(Ios17, inputs!(FLOATS, GATES, ACTIVATION)),
            OpVersion::new(
                Ios18,
                inputs!(
                    FLOATS,
                    GATES,
                    ACTIVATION,
                    InputSpec::tensor("reset_after", BOOL).constant().optional(),
                    c("input_bias", FLOATS)
                ),
            ),
        ],
        flags: Flags::PURE,
        infer: gru,
    },
    OpSchema {
        kind: OpKind::Lstm,
        summary: "Long short-term memory, in one direction or both; weights hold the gates input, forget, output, cell. Gives all (or the last) states, the last state and the last memory.",
        versions: &[OpVersion::new(Ios15, lstm_inputs!(F32)), OpVersion::new(Ios17, lstm_inputs!(FLOATS))],
        flags: Flags::PURE,
        infer: lstm,
    },
    OpSchema {
        kind: OpKind::Rnn,
        summary: "`h = activation(W_ih x + W_hh h + bias)` at each step. Gives all (or the last) and the last state.",
        versions: &[
            OpVersion::new(Ios15, inputs!(F32, ACTIVATION)),
            OpVersion::new(Ios17, inputs!(FLOATS, ACTIVATION)),
        ],
        flags: Flags::PURE,
        infer: |args| {
            direction(args, &["forward", "reverse"])?;
            matrix(args, "weight_hh")?;
            let [hidden, _] = matrix(args, "weight_ih")?;
            results(args, hidden, 2)
        },
    },
];

type Inferred<T> = Result<T, InferError>;

fn direction<'a>(args: &OpArgs<'a>, allowed: &[&str]) -> Inferred<&'a str> {
    let direction = string_or(args, "direction", "forward")?;
    if allowed.contains(&direction) {
        Ok(direction)
    } else {
        Err(InferError::bad("direction", format!("is `{direction}`, not one of {}", allowed.join(", "))))
    }
}

fn matrix(args: &OpArgs<'_>, name: &'static str) -> Inferred<[Dim; 2]> {
    let TensorType { shape, .. } = given(args, name)?;
    match &shape[..] {
        [rows, columns] => Ok([rows.clone(), columns.clone()]),
        _ => Err(InferError::bad(name, format!("must be a matrix and is of shape {shape}"))),
    }
}

/// The hidden size of `weight_hh`, whose rows hold `gates` gates.
fn hidden(args: &OpArgs<'_>, name: &'static str, gates: u64) -> Inferred<Dim> {
    let [rows, hidden] = matrix(args, name)?;
    gated(name, &rows, &hidden, gates)?;
    Ok(hidden)
}

fn gated(name: &'static str, rows: &Dim, hidden: &Dim, gates: u64) -> Inferred<()> {
    match (rows, hidden) {
        (Dim::Known(rows), Dim::Known(h)) if rows.checked_div(*h) != Some(gates) => {
            Err(InferError::bad(name, format!("has {rows} rows; there should be {gates} for each of {h} units")))
        }
        _ => Ok(()),
    }
}

/// The states of all steps or the last, then `count - 1` times those of the last.
fn results(args: &OpArgs<'_>, width: Dim, count: usize) -> Inferred<Vec<Type>> {
    let x = tensor(args, "x")?;
    let [steps, batch, _] = &x.shape[..] else {
        return Err(InferError::bad("x", format!("must be of rank 3 and is of shape {}", x.shape)));
    };
    let steps = if bool_or(args, "output_sequence", false)? { steps.clone() } else { Dim::Known(1) };
    let last = Type::tensor(x.dtype, vec![batch.clone(), width.clone()]);
    let mut types = vec![Type::tensor(x.dtype, vec![steps, batch.clone(), width])];
    types.resize(count, last);
    Ok(types)
}

fn gru(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    direction(args, &["forward", "reverse"])?;
    matrix(args, "weight_ih")?;
    results(args, hidden(args, "weight_hh", 3)?, 2)
}

fn lstm(args: &OpArgs<'_>) -> Inferred<Vec<Type>> {
    const ACTIVATIONS: &[&str] = &["tanh", "scaled_tanh", "sigmoid", "hard_sigmoid", "relu", "linear"];
    let both = direction(args, &["forward", "reverse", "bidirectional"])? == "bidirectional";
    for name in ["recurrent_activation", "cell_activation", "activation"] {
        let given = string_or(args, name, "tanh")?;
        if !ACTIVATIONS.contains(&given.to_ascii_lowercase().as_str()) {
            return Err(InferError::bad(name, format!("is `{given}`, not one of {}", ACTIVATIONS.join(", "))));
        }
    }
    let units = hidden(args, "weight_hh", 4)?;
    gated("weight_ih", &matrix(args, "weight_ih")?[0], &units, 4)?;
    if both {
        let back = hidden(args, "weight_hh_back", 4)?;
        gated("weight_ih_back", &matrix(args, "weight_ih_back")?[0], &back, 4)?;
    }
    results(args, if both { units.mul(&Dim::Known(2)) } else { units }, 3)
}
