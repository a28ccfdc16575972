//! A function: its entities and the questions one can ask of them.
//!
//! Ops, values and blocks live in arenas and are named by ids that stay valid until erased; an erased id
//! must not be used again. Ops of a block form a linked list with order keys, so that insertion, removal
//! and "does this come before that" cost constant time. Use lists are exact at all times: only the methods
//! of `edit.rs` write.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use crate::arena::Arena;
use crate::order::ProgramOrder;
use crate::{Attributes, BlockId, Const, OpId, OpKind, Opset, Origin, Type, ValueId};

/// A function: typed inputs, a body, named outputs.
#[derive(Clone, Debug)]
pub struct Function {
    /// The opset whose op definitions hold.
    pub opset: Opset,
    /// Attributes of the function, as in the file.
    pub attributes: Attributes,
    pub(crate) output_names: Vec<String>,
    pub(crate) body: BlockId,
    pub(crate) ops: Arena<Op>,
    pub(crate) links: Vec<Link>,
    pub(crate) values: Arena<Value>,
    pub(crate) roots: Vec<Root>,
    pub(crate) blocks: Vec<Option<Block>>,
    pub(crate) revision: u64,
    pub(crate) order: OnceLock<Arc<ProgramOrder>>,
}

/// An op's place in its block, and what a walk asks of every op. These stand apart from the ops, which are large, so
/// that a walk over a long program stays within the processor's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) prev: Option<OpId>,
    pub(crate) next: Option<OpId>,
    /// Grows along the block; see `edit.rs`.
    pub(crate) order: u64,
    pub(crate) block: BlockId,
    pub(crate) kind: OpKind,
    pub(crate) has_blocks: bool,
    pub(crate) live: bool,
}

/// What defines a value, and how many uses it has: what passes ask of every value. It stands apart for the same reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root {
    pub(crate) def: Def,
    pub(crate) uses: u32,
}

/// An op.
#[derive(Clone, Debug)]
pub struct Op {
    /// Which op it is; [`OpKind::Unknown`] when the op table does not have it.
    pub kind: OpKind,
    /// The file's name of an op that the table does not have.
    pub(crate) unknown_type: Option<Box<str>>,
    /// The `name` attribute, where it has one of its own.
    pub name: Option<String>,
    /// Attributes other than `name`: `val` of a `const`, the parameters of `constexpr_*` before ios18.
    pub attributes: Attributes,
    /// Where it came from.
    pub origin: Origin,
    /// On the heap, since most ops are constants and have none.
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: SmallVec<[ValueId; 1]>,
    pub(crate) blocks: SmallVec<[BlockId; 0]>,
}

/// A named parameter of an op with its arguments: one, or several where the parameter is a list.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: Cow<'static, str>,
    pub(crate) args: SmallVec<[Operand; 1]>,
}

/// A use of a value, with its index in that value's use list, which makes removal constant-time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) value: ValueId,
    pub(crate) use_at: u32,
}

/// A value: the result of an op or an input of a block.
#[derive(Clone, Debug)]
pub struct Value {
    /// Preferred name; printers and writers make it unique.
    pub name: String,
    /// Its type.
    pub ty: Type,
    pub(crate) uses: SmallVec<[Use; 2]>,
}

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// Output number `output` of an op.
    Op {
        /// The op.
        op: OpId,
        /// Which of its outputs.
        output: u32,
    },
    /// Input number `index` of a block. The inputs of the body are the function's.
    BlockInput {
        /// The block.
        block: BlockId,
        /// Which of its inputs.
        index: u32,
    },
}

/// A place where a value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Use {
    /// Argument `arg` of parameter number `input` of an op.
    Op {
        /// The op.
        op: OpId,
        /// Position of the parameter.
        input: u32,
        /// Position of the argument within the parameter.
        arg: u32,
    },
    /// Output number `index` of a block.
    Output {
        /// The block.
        block: BlockId,
        /// Which of its outputs.
        index: u32,
    },
}

/// A block: ops in order, inputs, outputs.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Attributes of the block, as in the file.
    pub attributes: Attributes,
    pub(crate) parent: Option<OpId>,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<Operand>,
    pub(crate) first: Option<OpId>,
    pub(crate) last: Option<OpId>,
}

impl Op {
    /// The type's name, as files spell it.
    pub fn type_name(&self) -> &str {
        match &self.unknown_type {
            Some(name) => name,
            None => self.kind.name(),
        }
    }

    /// The results.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The first result.
    ///
    /// # Panics
    /// On an op without results; only state writes have none.
    pub fn output(&self) -> ValueId {
        self.outputs[0]
    }

    /// The nested blocks.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// Parameters with their arguments, in the order they were given.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, impl ExactSizeIterator<Item = ValueId> + '_)> + '_ {
        self.inputs.iter().map(|i| (i.name.as_ref(), i.args.iter().map(|a| a.value)))
    }

    /// The arguments of a parameter; none when it is not given.
    pub fn args(&self, name: &str) -> impl ExactSizeIterator<Item = ValueId> + '_ {
        let args = self.inputs.iter().find(|i| i.name == name).map_or(&[][..], |i| &i.args);
        args.iter().map(|a| a.value)
    }

    /// The first (mostly the only) argument of a parameter.
    pub fn arg(&self, name: &str) -> Option<ValueId> {
        self.args(name).next()
    }

    /// All arguments of all parameters.
    pub fn operands(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs.iter().flat_map(|i| i.args.iter().map(|a| a.value))
    }

    /// The value of a `const` op.
    pub fn const_value(&self) -> Option<&Const> {
        if self.kind == OpKind::Const { self.attributes.get("val") } else { None }
    }
}

impl Value {
    /// Its uses, in no particular order (see [`Function::users`] for program order).
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }
}

impl Block {
    /// The op that holds the block; `None` for a function's body.
    pub fn parent(&self) -> Option<OpId> {
        self.parent
    }

    /// The block's inputs.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// The block's outputs.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = ValueId> + '_ {
        self.outputs.iter().map(|o| o.value)
    }
}

impl Function {
    /// An empty function.
    pub fn new(opset: Opset) -> Function {
        Function {
            opset,
            attributes: Attributes::new(),
            output_names: Vec::new(),
            body: BlockId::new(0),
            ops: Arena::new(),
            links: Vec::new(),
            values: Arena::new(),
            roots: Vec::new(),
            blocks: vec![Some(Block::default())],
            revision: 0,
            order: OnceLock::new(),
        }
    }

    /// The body.
    pub fn body(&self) -> BlockId {
        self.body
    }

    /// A number that grows with every change, so that "did anything change" is a comparison.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An upper bound of op indices, for side tables.
    pub fn op_capacity(&self) -> usize {
        self.ops.len()
    }

    /// An upper bound of value indices, for side tables.
    pub fn value_capacity(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn link_of(&self, op: OpId) -> &Link {
        &self.links[op.index()]
    }

    /// An op.
    ///
    /// # Panics
    /// When it was erased or belongs to another function; the same holds for [`Function::value`] and [`Function::block`].
    pub fn op(&self, op: OpId) -> &Op {
        self.ops[op.index()].as_ref().expect("invariant: the op was not erased")
    }

    /// Is the op still there?
    pub fn is_live(&self, op: OpId) -> bool {
        self.links.get(op.index()).is_some_and(|l| l.live)
    }

    /// Which op it is; the same as `op(op).kind`, without a look at the op.
    pub fn kind(&self, op: OpId) -> OpKind {
        self.link_of(op).kind
    }

    /// A value.
    pub fn value(&self, v: ValueId) -> &Value {
        self.values[v.index()].as_ref().expect("invariant: the value was not erased")
    }

    /// Is the value still there?
    pub fn is_live_value(&self, v: ValueId) -> bool {
        self.values.get(v.index()).is_some()
    }

    /// A block.
    pub fn block(&self, b: BlockId) -> &Block {
        self.blocks[b.index()].as_ref().expect("invariant: the block was not erased")
    }

    /// The type of a value.
    pub fn ty(&self, v: ValueId) -> &Type {
        &self.value(v).ty
    }

    /// The function's inputs.
    pub fn inputs(&self) -> &[ValueId] {
        &self.block(self.body).inputs
    }

    /// The function's outputs.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = ValueId> + '_ {
        self.block(self.body).outputs()
    }

    /// The public names of the outputs. They belong to the signature: no rewrite of a value changes them.
    pub fn output_names(&self) -> &[String] {
        &self.output_names
    }

    /// The block an op is in.
    pub fn block_of(&self, op: OpId) -> BlockId {
        self.link_of(op).block
    }

    /// The op before this one in its block.
    pub fn prev(&self, op: OpId) -> Option<OpId> {
        self.link_of(op).prev
    }

    /// The op after this one in its block.
    pub fn next(&self, op: OpId) -> Option<OpId> {
        self.link_of(op).next
    }

    /// The ops of a block in order, not those of blocks nested in them.
    pub fn ops_in(&self, block: BlockId) -> impl Iterator<Item = OpId> + '_ {
        std::iter::successors(self.block(block).first, |&op| self.next(op))
    }

    /// What defines a value.
    ///
    /// # Panics
    /// When it was erased, perhaps.
    pub fn def(&self, v: ValueId) -> Def {
        self.roots[v.index()].def
    }

    /// Is the value used by any op, or an output of any block?
    pub fn is_used(&self, v: ValueId) -> bool {
        self.roots[v.index()].uses > 0
    }

    /// The values that nothing uses, from the first made to the last; values that were erased may be among them.
    pub fn unused_values(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.roots.iter().enumerate().filter(|(_, root)| root.uses == 0).map(|(i, _)| ValueId::new(i))
    }

    /// The op that computes a value; `None` for an input of a block.
    pub fn producer(&self, v: ValueId) -> Option<OpId> {
        match self.def(v) {
            Def::Op { op, .. } => Some(op),
            Def::BlockInput { .. } => None,
        }
    }

    /// The op that computes a value, when it is of this kind.
    pub fn producer_of(&self, v: ValueId, kind: OpKind) -> Option<OpId> {
        self.producer(v).filter(|&op| self.kind(op) == kind)
    }

    /// The value of a constant; `None` for a value that is computed.
    pub fn const_value(&self, v: ValueId) -> Option<&Const> {
        self.op(self.producer_of(v, OpKind::Const)?).const_value()
    }

    /// The constant given for a parameter.
    pub fn const_arg(&self, op: OpId, name: &str) -> Option<&Const> {
        self.const_value(self.op(op).arg(name)?)
    }

    /// Is the value an output of the block it is used in (or of several)?
    pub fn is_block_output(&self, v: ValueId) -> bool {
        self.value(v).uses.iter().any(|u| matches!(u, Use::Output { .. }))
    }

    /// Is the value an output of the function?
    pub fn is_function_output(&self, v: ValueId) -> bool {
        self.value(v).uses.iter().any(|u| matches!(u, Use::Output { block, .. } if *block == self.body))
    }

    /// The ops that use a value, each once, in program order.
    pub fn users(&self, v: ValueId) -> Vec<OpId> {
        let mut users: Vec<OpId> = self
            .value(v)
            .uses
            .iter()
            .filter_map(|u| match u {
                Use::Op { op, .. } => Some(*op),
                Use::Output { .. } => None,
            })
            .collect();
        users.sort_unstable();
        users.dedup();
        if users.len() > 1 {
            users.sort_by_cached_key(|&op| self.position(op));
        }
        users
    }

    /// The op that uses a value, when it is the only one and the value is no output of a block.
    pub fn only_user(&self, v: ValueId) -> Option<OpId> {
        let mut found = None;
        for u in &self.value(v).uses {
            match u {
                Use::Op { op, .. } if found.is_none_or(|f| f == *op) => found = Some(*op),
                _ => return None,
            }
        }
        found
    }

    /// The keys of an op and of the ops around it, outermost first: sorts ops of a function in program order.
    fn position(&self, op: OpId) -> SmallVec<[u64; 4]> {
        let mut path = SmallVec::new();
        let mut at = Some(op);
        while let Some(op) = at {
            // Blocks of one op are told apart by their number among them.
            let node = self.link_of(op);
            path.push(node.order);
            at = self.block(node.block).parent;
            if let Some(parent) = at {
                let nth = self.op(parent).blocks.iter().position(|&b| b == node.block);
                path.push(nth.unwrap_or(0) as u64);
            }
        }
        path.reverse();
        path
    }

    /// Does `a` come before `b` in program order? An op comes before what is nested in it.
    pub fn is_before(&self, a: OpId, b: OpId) -> bool {
        let (na, nb) = (self.link_of(a), self.link_of(b));
        if na.block == nb.block { na.order < nb.order } else { self.position(a) < self.position(b) }
    }

    /// Is `block` the block `outer` or nested in it?
    pub fn is_within(&self, block: BlockId, outer: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(b) = at {
            if b == outer {
                return true;
            }
            at = self.block(b).parent.map(|op| self.block_of(op));
        }
        false
    }

    /// The block in which a value is defined.
    pub fn block_of_value(&self, v: ValueId) -> BlockId {
        match self.def(v) {
            Def::Op { op, .. } => self.block_of(op),
            Def::BlockInput { block, .. } => block,
        }
    }

    /// May `v` be used by an op placed where `op` is (defined before it, in its block or around it)?
    pub fn is_visible(&self, v: ValueId, op: OpId) -> bool {
        match self.def(v) {
            Def::BlockInput { block, .. } => self.is_within(self.block_of(op), block),
            Def::Op { op: def, .. } => {
                def != op && self.is_within(self.block_of(op), self.block_of(def)) && self.is_before(def, op)
            }
        }
    }
}
