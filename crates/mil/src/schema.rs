//! The shape of the op table: what an entry says.
//!
//! One entry per op type ([`OpSchema`]), with a version per opset in which its inputs changed. The builder,
//! type inference, the verifier, the printer, the evaluator's coverage and the documentation all come from it.

use std::fmt;

use coremill_tensor::DType;

use crate::{InferError, OpArgs, OpKind, Opset, Type};

/// Computes the types of an op's results, or says why there are none.
pub type InferFn = fn(&OpArgs<'_>) -> Result<Vec<Type>, InferError>;

/// One op of the table.
#[derive(Debug)]
pub struct OpSchema {
    /// Which op.
    pub kind: OpKind,
    /// What it computes, in one sentence, with its formula where that is short.
    pub summary: &'static str,
    /// Its inputs by opset, oldest first.
    pub versions: &'static [OpVersion],
    /// Properties that passes ask for.
    pub flags: Flags,
    /// Types of the results from the arguments.
    pub infer: InferFn,
}

/// The inputs of an op from an opset on.
#[derive(Debug)]
pub struct OpVersion {
    /// The first opset with this definition.
    pub since: Opset,
    /// The inputs, in the order of the definition.
    pub inputs: &'static [InputSpec],
    /// Are the inputs written as attributes (`constexpr_*` before ios18, `const`)?
    pub as_attributes: bool,
}

/// One input of an op.
#[derive(Debug, Clone, Copy)]
pub struct InputSpec {
    /// Name, as files spell it.
    pub name: &'static str,
    /// What it accepts.
    pub domain: Domain,
    /// Must it be a compile-time constant?
    pub constant: bool,
    /// May it be left out? Then [`InputSpec::default`] says what holds.
    pub optional: bool,
    /// Does it take a list of values (`values` of `concat`)?
    pub variadic: bool,
    /// The value when it is left out.
    pub default: Default,
}

/// What an input accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// A tensor of one of these element types.
    Tensor(&'static [DType]),
    /// A tensor of one of these element types, the same for every input with this letter.
    SameTensor(char, &'static [DType]),
    /// A list of tensors (`make_list` and its kin).
    List,
    /// A state.
    State,
    /// Anything, checked by inference.
    Any,
}

/// The value of an input that is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Default {
    /// There is none: the op does without it.
    None,
    /// A boolean.
    Bool(bool),
    /// An `int32`.
    Int(i32),
    /// A float, of the element type that the input's domain letter has.
    Float(f32),
    /// A string.
    Str(&'static str),
    /// `int32`, rank 1.
    Ints(&'static [i32]),
    /// It depends on other inputs; the text says how.
    Computed(&'static str),
}

/// Properties that passes ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No property.
    pub const NONE: Flags = Flags(0);
    /// The same inputs give the same outputs, and nothing else happens. Every op but the random and the stateful ones.
    pub const PURE: Flags = Flags(1);
    /// A compressed weight that the runtime expands (`constexpr_*`). Never to be folded away.
    pub const CONSTEXPR: Flags = Flags(1 << 1);
    /// Reads state.
    pub const READS_STATE: Flags = Flags(1 << 2);
    /// Writes state: never dead.
    pub const WRITES_STATE: Flags = Flags(1 << 3);
    /// Draws random numbers.
    pub const RANDOM: Flags = Flags(1 << 4);
    /// Works on each element on its own, broadcasting its inputs.
    pub const ELEMENTWISE: Flags = Flags(1 << 5);
    /// Element-wise on one tensor.
    pub const ELEMENTWISE_UNARY: Flags = Flags(1 << 5 | 1 << 6);
    /// Element-wise on two tensors `x` and `y`.
    pub const ELEMENTWISE_BINARY: Flags = Flags(1 << 5 | 1 << 7);
    /// Holds nested blocks.
    pub const CONTROL_FLOW: Flags = Flags(1 << 8);
    /// Is no op of ML Programs: a dialect that a pass must lower before writing.
    pub const DIALECT: Flags = Flags(1 << 9);
    /// Is evaluated at compile time by the peer when its inputs are constant (`value_inference`).
    pub const FOLDABLE: Flags = Flags(1 << 10);
    /// Moves elements without computing on them (reshape, transpose, slice, ...).
    pub const DATA_MOVEMENT: Flags = Flags(1 << 11);

    /// Both sets together.
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Are all of `other` set?
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl InputSpec {
    /// A required tensor.
    pub const fn tensor(name: &'static str, dtypes: &'static [DType]) -> InputSpec {
        InputSpec::of(name, Domain::Tensor(dtypes))
    }

    /// A required tensor whose element type is shared by all inputs with this letter.
    pub const fn same(name: &'static str, letter: char, dtypes: &'static [DType]) -> InputSpec {
        InputSpec::of(name, Domain::SameTensor(letter, dtypes))
    }

    /// A required input of this domain.
    pub const fn of(name: &'static str, domain: Domain) -> InputSpec {
        InputSpec { name, domain, constant: false, optional: false, variadic: false, default: Default::None }
    }

    /// It must be a compile-time constant.
    pub const fn constant(mut self) -> InputSpec {
        self.constant = true;
        self
    }

    /// It may be left out, and then has this value.
    pub const fn default(mut self, default: Default) -> InputSpec {
        self.optional = true;
        self.default = default;
        self
    }

    /// It may be left out, and then the op does without it.
    pub const fn optional(self) -> InputSpec {
        self.default(Default::None)
    }

    /// It takes a list of values.
    pub const fn variadic(mut self) -> InputSpec {
        self.variadic = true;
        self
    }
}

impl Domain {
    /// May a tensor of this element type stand there?
    pub fn accepts(self, dtype: DType) -> bool {
        match self {
            Domain::Tensor(dtypes) | Domain::SameTensor(_, dtypes) => dtypes.contains(&dtype),
            Domain::Any => true,
            Domain::List | Domain::State => false,
        }
    }
}

/// Does an input of an op take tensors of this element type in an opset? `false` too where the op or the input
/// does not exist there. That inputs may have to agree ([`Domain::SameTensor`]) is not looked at.
pub fn accepts(kind: OpKind, opset: Opset, input: &str, dtype: DType) -> bool {
    crate::version_of(kind, opset).and_then(|v| v.input(input)).is_some_and(|i| i.domain.accepts(dtype))
}

/// Holds the arguments of an op to its definition: what is given has a place, what is required is given, element
/// types are in their domains, and inputs with one letter agree.
///
/// It does not ask for constants: a compressed weight serves as one, and the arguments do not show what made them.
///
/// # Errors
/// Every deviation, in the order of the definition; none for an op that the table does not have.
pub fn check_inputs(args: &OpArgs<'_>) -> Result<(), Vec<InferError>> {
    let Some(version) = crate::version_of(args.kind, args.opset) else { return Ok(()) };
    let mut errors = Vec::new();
    let mut letters: Vec<(char, &'static str, DType)> = Vec::new();
    for spec in version.inputs {
        if !spec.optional && !args.is_given(spec.name) {
            errors.push(InferError::Missing(spec.name));
        }
        let attribute = if args.all(spec.name).is_empty() { args.value(spec.name).map(crate::Const::ty) } else { None };
        for ty in args.all(spec.name).iter().map(|a| a.ty).chain(&attribute) {
            if let Err(e) = check_domain(spec, ty, &mut letters) {
                errors.push(e);
            }
        }
    }
    for (name, _) in args.inputs.iter().filter(|(n, _)| version.input(n).is_none()) {
        errors.push(InferError::Mismatch(format!("`{}` of {} has no input `{name}`", args.kind, args.opset)));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn check_domain(spec: &InputSpec, ty: &Type, letters: &mut Vec<(char, &'static str, DType)>) -> Result<(), InferError> {
    let fits = match (spec.domain, ty) {
        (Domain::Any, _) | (Domain::List, Type::List(..)) | (Domain::State, Type::State(_)) => true,
        (domain, _) => ty.dtype().is_some_and(|d| domain.accepts(d)),
    };
    if !fits {
        return Err(InferError::bad(spec.name, format!("is {ty}; it takes {}", spec.domain)));
    }
    let (Domain::SameTensor(letter, _), Some(dtype)) = (spec.domain, ty.dtype()) else { return Ok(()) };
    match letters.iter().find(|(l, ..)| *l == letter) {
        Some((_, first, d)) if *d != dtype => {
            Err(InferError::bad(spec.name, format!("is of {dtype} and `{first}` of {d}; they must be alike")))
        }
        Some(_) => Ok(()),
        None => {
            letters.push((letter, spec.name, dtype));
            Ok(())
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Tensor(dtypes) | Domain::SameTensor(_, dtypes) => {
                f.write_str("tensors of ")?;
                for (i, d) in dtypes.iter().enumerate() {
                    let before = if i == 0 { "" } else { ", " };
                    write!(f, "{before}{d}")?;
                }
                Ok(())
            }
            Domain::List => f.write_str("a list"),
            Domain::State => f.write_str("a state"),
            Domain::Any => f.write_str("anything"),
        }
    }
}

impl OpVersion {
    /// A definition with inputs.
    pub const fn new(since: Opset, inputs: &'static [InputSpec]) -> OpVersion {
        OpVersion { since, inputs, as_attributes: false }
    }

    /// A definition whose inputs are written as attributes.
    pub const fn attributes(since: Opset, inputs: &'static [InputSpec]) -> OpVersion {
        OpVersion { since, inputs, as_attributes: true }
    }

    /// The input of this name.
    pub fn input(&self, name: &str) -> Option<&'static InputSpec> {
        self.inputs.iter().find(|i| i.name == name)
    }
}

impl OpSchema {
    /// The definition that holds in `opset`: the newest that is not newer. `None` when the op came later.
    pub fn version(&self, opset: Opset) -> Option<&'static OpVersion> {
        self.versions.iter().rev().find(|v| v.since <= opset)
    }

    /// The first opset that has the op.
    pub fn since(&self) -> Opset {
        self.versions.first().map_or(Opset::Ios15, |v| v.since)
    }
}
