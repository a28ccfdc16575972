//! The inputs of one op as type inference, the verifier and the evaluator see them.

use coremill_tensor::Dim;
use smallvec::SmallVec;

use crate::{Attributes, Const, Function, OpId, OpKind, Opset, Type, ValueId};

/// One argument: its type, and its value where it is constant.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    /// Type of the argument.
    pub ty: &'a Type,
    /// Its value, when it is a compile-time constant.
    pub value: Option<&'a Const>,
    /// The value of a function that it is, where it is one.
    pub source: Option<(&'a Function, ValueId)>,
}

/// The arguments of one parameter: mostly one.
pub type ArgList<'a> = SmallVec<[Arg<'a>; 1]>;

/// An op without its place: kind, arguments by parameter, attributes, types that nested blocks take and give.
///
/// It serves an op that exists ([`OpArgs::of`]) and one that is only about to be made alike.
#[derive(Clone, Debug)]
pub struct OpArgs<'a> {
    /// Which op.
    pub kind: OpKind,
    /// The opset whose definitions hold.
    pub opset: Opset,
    /// Arguments by parameter.
    pub inputs: SmallVec<[(&'a str, ArgList<'a>); 4]>,
    /// Attributes other than `name`.
    pub attributes: Option<&'a Attributes>,
    /// Of each nested block: types of its inputs, types of its outputs.
    pub blocks: Vec<(Vec<&'a Type>, Vec<&'a Type>)>,
}

impl<'a> OpArgs<'a> {
    /// An op without arguments.
    pub fn new(kind: OpKind, opset: Opset) -> OpArgs<'a> {
        OpArgs { kind, opset, inputs: SmallVec::new(), attributes: None, blocks: Vec::new() }
    }

    /// The arguments of an op of a function.
    pub fn of(f: &'a Function, id: OpId) -> OpArgs<'a> {
        let op = f.op(id);
        let types = |vs: &mut dyn Iterator<Item = ValueId>| vs.map(|v| f.ty(v)).collect();
        OpArgs {
            kind: op.kind,
            opset: f.opset,
            inputs: op.inputs().map(|(name, args)| (name, args.map(|v| Arg::of(f, v)).collect())).collect(),
            attributes: Some(&op.attributes),
            blocks: op
                .blocks()
                .iter()
                .map(|&b| {
                    let block = f.block(b);
                    (types(&mut block.inputs().iter().copied()), types(&mut block.outputs()))
                })
                .collect(),
        }
    }

    /// All arguments of a parameter.
    pub fn all(&self, name: &str) -> &[Arg<'a>] {
        self.inputs.iter().find(|(n, _)| *n == name).map_or(&[], |(_, a)| a)
    }

    /// The first (mostly the only) argument of a parameter.
    pub fn get(&self, name: &str) -> Option<Arg<'a>> {
        self.all(name).first().copied()
    }

    /// The type of a parameter's argument.
    pub fn ty(&self, name: &str) -> Option<&'a Type> {
        self.get(name).map(|a| a.ty)
    }

    /// The constant given for a parameter, as an input or (constexpr ops before ios18) as an attribute.
    pub fn value(&self, name: &str) -> Option<&'a Const> {
        match self.get(name) {
            Some(a) => a.value,
            None => self.attributes.and_then(|at| at.get(name)),
        }
    }

    /// Is the parameter given, as an input or as an attribute?
    pub fn is_given(&self, name: &str) -> bool {
        !self.all(name).is_empty() || self.attributes.is_some_and(|a| a.contains_key(name))
    }
}

impl<'a> Arg<'a> {
    /// An argument of this type and value that is not in a function (yet).
    pub fn new(ty: &'a Type, value: Option<&'a Const>) -> Arg<'a> {
        Arg { ty, value, source: None }
    }

    /// The elements as extents, where they follow from constants and extents; see [`extents_of`](crate::extents_of).
    pub fn extents(&self) -> Option<Vec<Dim>> {
        let (f, v) = self.source?;
        crate::extents_of(f, v)
    }

    /// A value of a function as an argument.
    pub fn of(f: &'a Function, v: ValueId) -> Arg<'a> {
        Arg { ty: f.ty(v), value: f.const_value(v), source: Some((f, v)) }
    }
}
