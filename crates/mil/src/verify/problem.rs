//! What can be wrong, and what to do about it.

use std::fmt;

use crate::{InferError, Opset, Type};

/// Something wrong with a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// The function's own records disagree: a defect of the code that changed it.
    Broken(String),
    /// An argument is not defined before the op, in its block or around it.
    NotVisible {
        /// The parameter.
        input: String,
        /// Name of the value.
        value: String,
        /// Is it defined further down in the same block?
        later: bool,
    },
    /// An output of a nested block, or of the function, is not defined in the block or around it.
    OutputNotVisible {
        /// Number of the output.
        index: usize,
        /// Name of the value.
        value: String,
    },
    /// The op table has no op of this name.
    UnknownOp(String),
    /// The op came with a newer opset.
    NotInOpset {
        /// The first opset that has it.
        since: Opset,
        /// The function's.
        opset: Opset,
    },
    /// An op of a dialect, which no file holds.
    Dialect,
    /// A required input is not given.
    MissingInput(&'static str),
    /// The op has no input of this name.
    UnknownInput {
        /// The name.
        input: String,
        /// The opset whose definition holds.
        opset: Opset,
    },
    /// An input is not of the type the op takes, or not of the element type of another it must agree with.
    InputType {
        /// The input.
        input: &'static str,
        /// What is wrong, as the rest of a sentence.
        what: String,
    },
    /// Several values for an input that takes one.
    TooManyArguments {
        /// The input.
        input: &'static str,
        /// How many there are.
        given: usize,
    },
    /// An input that must be constant is computed.
    NotConstant(&'static str),
    /// The arguments give no result types.
    NoTypes(InferError),
    /// The op has another number of results than its arguments give.
    ResultCount {
        /// Results there are.
        declared: usize,
        /// Results there should be.
        inferred: usize,
    },
    /// A result is of another type than the arguments give.
    ResultType {
        /// Number of the result.
        index: usize,
        /// Its type.
        declared: Type,
        /// The type it should have.
        inferred: Type,
    },
    /// There are more or fewer output names than outputs.
    OutputNames {
        /// Names there are.
        names: usize,
        /// Outputs there are.
        outputs: usize,
    },
    /// Two inputs or outputs have one name.
    SameName {
        /// The name.
        name: String,
        /// The first with it.
        first: Port,
        /// The next.
        second: Port,
    },
    /// A name that files do not allow.
    BadName {
        /// What has it.
        of: Port,
        /// The name.
        name: String,
    },
    /// An input of the function is also its output.
    InputReturned {
        /// Name of the input.
        input: String,
        /// Name of the output.
        output: String,
    },
    /// One value is an output under two names.
    OutputTwice {
        /// One name.
        first: String,
        /// The other.
        second: String,
    },
}

/// What has a name that a user sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// The function.
    Function,
    /// Input of this number.
    Input(usize),
    /// Output of this number.
    Output(usize),
}

impl Problem {
    /// What to do about it, as the end of a sentence; empty where the problem says so itself.
    pub(super) fn help(&self) -> String {
        match self {
            Problem::Broken(_) => "this is a defect of coremill: please report it with the program".to_owned(),
            Problem::NotVisible { later: true, .. } => "move the definition up".to_owned(),
            Problem::NotVisible { .. } | Problem::OutputNotVisible { .. } => {
                "a nested block gives values to the outside only as its outputs".to_owned()
            }
            Problem::UnknownOp(_) => "it can be kept and written, but not checked, changed or computed".to_owned(),
            Problem::NotInOpset { since, .. } => format!("raise the deployment target to {since} or replace the op"),
            Problem::Dialect => "run the pass that lowers it".to_owned(),
            Problem::MissingInput(input) => format!("give `{input}` a value"),
            Problem::UnknownInput { .. } => "remove it".to_owned(),
            Problem::InputType { .. } => "insert a cast, or give another value".to_owned(),
            Problem::TooManyArguments { .. } => "give one".to_owned(),
            Problem::NotConstant(input) => format!("give `{input}` a `const`, or a value computed from constants only"),
            Problem::NoTypes(_) => "change the arguments".to_owned(),
            Problem::ResultCount { .. } | Problem::ResultType { .. } => "declare the results as they are".to_owned(),
            Problem::OutputNames { .. } => "name every output once".to_owned(),
            Problem::SameName { .. } => "rename one".to_owned(),
            Problem::BadName { .. } => {
                "begin with a letter or `_` and go on with letters, digits, `_` and `@`".to_owned()
            }
            Problem::InputReturned { .. } | Problem::OutputTwice { .. } => "put an `identity` in between".to_owned(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Broken(what) => write!(f, "the records of the function disagree: {what}"),
            Problem::NotVisible { input, value, later: true } => {
                write!(f, "`{input}` is `{value}`, which is defined only further down")
            }
            Problem::NotVisible { input, value, .. } => {
                write!(f, "`{input}` is `{value}`, which is not defined in its block or around it")
            }
            Problem::OutputNotVisible { index, value } => {
                write!(f, "output {index} is `{value}`, which is not defined in its block or around it")
            }
            Problem::UnknownOp(name) => write!(f, "the op table has no `{name}`"),
            Problem::NotInOpset { since, opset } => write!(f, "the op came with {since}, and the function is {opset}"),
            Problem::Dialect => f.write_str("an op of a dialect is left"),
            Problem::MissingInput(input) => write!(f, "it needs `{input}`, which is not given"),
            Problem::UnknownInput { input, opset } => write!(f, "it has no input `{input}` in {opset}"),
            Problem::InputType { input, what } => write!(f, "`{input}` {what}"),
            Problem::TooManyArguments { input, given } => write!(f, "`{input}` takes one value and has {given}"),
            Problem::NotConstant(input) => write!(f, "`{input}` must be constant and is computed"),
            Problem::NoTypes(e) => write!(f, "{e}"),
            Problem::ResultCount { declared, inferred } => {
                write!(f, "it is declared with {declared} results and gives {inferred}")
            }
            Problem::ResultType { index, declared, inferred } => {
                write!(f, "result {index} is declared as {declared} and is {inferred}")
            }
            Problem::OutputNames { names, outputs } => write!(f, "there are {names} names for {outputs} outputs"),
            Problem::SameName { name, first, second } => write!(f, "{first} and {second} are both named `{name}`"),
            Problem::BadName { of, name } => write!(f, "{of} is named `{name}`"),
            Problem::InputReturned { input, output } => write!(f, "input `{input}` is itself the output `{output}`"),
            Problem::OutputTwice { first, second } => write!(f, "outputs `{first}` and `{second}` are one value"),
        }
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Function => f.write_str("the function"),
            Port::Input(i) => write!(f, "input {i}"),
            Port::Output(i) => write!(f, "output {i}"),
        }
    }
}
