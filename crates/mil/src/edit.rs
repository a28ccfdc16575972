//! Changes to a function. Every method keeps use lists and block order exact.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::function::{Input, Link, Operand, Root};
use crate::{Attributes, Block, BlockId, Const, Def, Function, Op, OpId, OpKind, Origin, Type, Use, Value, ValueId};

/// Distance between the order keys of neighbours when there is room.
const ORDER_STEP: u64 = 1 << 20;

/// Where to put an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Right before an op, in its block.
    Before(OpId),
    /// Right after an op, in its block.
    After(OpId),
    /// At the start of a block.
    Start(BlockId),
    /// At the end of a block.
    End(BlockId),
}

/// An op to be made: everything but its place.
#[derive(Clone, Debug)]
pub struct NewOp {
    /// Which op.
    pub kind: OpKind,
    /// The type's name, for [`OpKind::Unknown`] only.
    pub unknown_type: Option<String>,
    /// The `name` attribute.
    pub name: Option<String>,
    /// Parameters with their arguments.
    pub inputs: Vec<(Cow<'static, str>, SmallVec<[ValueId; 1]>)>,
    /// Preferred names and types of the results.
    pub outputs: Vec<(String, Type)>,
    /// Attributes other than `name`.
    pub attributes: Attributes,
    /// Where it came from.
    pub origin: Origin,
}

impl NewOp {
    /// An op of this kind without inputs, outputs and attributes.
    pub fn new(kind: OpKind) -> NewOp {
        NewOp {
            kind,
            unknown_type: None,
            name: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: Attributes::new(),
            origin: Origin::default(),
        }
    }

    /// Adds a parameter with one argument.
    pub fn input(mut self, name: &'static str, v: ValueId) -> NewOp {
        self.inputs.push((Cow::Borrowed(name), SmallVec::from_slice(&[v])));
        self
    }

    /// Adds a list parameter.
    pub fn input_list(mut self, name: &'static str, v: &[ValueId]) -> NewOp {
        self.inputs.push((Cow::Borrowed(name), SmallVec::from_slice(v)));
        self
    }

    /// Adds a result.
    pub fn output(mut self, name: impl Into<String>, ty: Type) -> NewOp {
        self.outputs.push((name.into(), ty));
        self
    }

    /// Adds an attribute.
    pub fn attribute(mut self, name: impl Into<Cow<'static, str>>, value: Const) -> NewOp {
        self.attributes.insert(name, value);
        self
    }

    /// Sets where the op came from.
    pub fn origin(mut self, origin: Origin) -> NewOp {
        self.origin = origin;
        self
    }

    /// A `const` op.
    pub fn constant(name: impl Into<String>, value: Const) -> NewOp {
        let ty = value.ty();
        NewOp::new(OpKind::Const).output(name, ty).attribute("val", value)
    }
}

impl Function {
    fn link_mut(&mut self, op: OpId) -> &mut Link {
        &mut self.links[op.index()]
    }

    fn node_mut(&mut self, op: OpId) -> &mut Op {
        self.ops[op.index()].as_mut().expect("invariant: the op was not erased")
    }

    fn value_mut(&mut self, v: ValueId) -> &mut Value {
        self.values[v.index()].as_mut().expect("invariant: the value was not erased")
    }

    fn block_mut(&mut self, b: BlockId) -> &mut Block {
        self.blocks[b.index()].as_mut().expect("invariant: the block was not erased")
    }

    fn new_value(&mut self, name: String, ty: Type, def: Def) -> ValueId {
        let id = ValueId::new(self.values.len());
        self.values.push(Value { name, ty, uses: SmallVec::new() });
        self.roots.push(Root { def, uses: 0 });
        id
    }

    // ---- uses -------------------------------------------------------------------------------------------

    fn add_use(&mut self, value: ValueId, place: Use) -> Operand {
        let uses = &mut self.value_mut(value).uses;
        uses.push(place);
        let count = uses.len() as u32;
        self.roots[value.index()].uses = count;
        Operand { value, use_at: count - 1 }
    }

    fn operand_mut(&mut self, place: Use) -> &mut Operand {
        match place {
            Use::Op { op, input, arg } => &mut self.node_mut(op).inputs[input as usize].args[arg as usize],
            Use::Output { block, index } => &mut self.block_mut(block).outputs[index as usize],
        }
    }

    fn drop_use(&mut self, operand: Operand) {
        let at = operand.use_at as usize;
        let uses = &mut self.value_mut(operand.value).uses;
        uses.swap_remove(at);
        let (count, moved) = (uses.len() as u32, uses.get(at).copied());
        self.roots[operand.value.index()].uses = count;
        if let Some(moved) = moved {
            self.operand_mut(moved).use_at = operand.use_at;
        }
    }

    fn set_use(&mut self, place: Use, value: ValueId) {
        let old = *self.operand_mut(place);
        if old.value == value {
            return;
        }
        self.revision += 1;
        self.drop_use(old);
        *self.operand_mut(place) = self.add_use(value, place);
    }

    /// Makes every use of `old` a use of `new`, outputs of blocks included. Public output names stay.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        self.replace_uses_if(old, new, |_| true);
    }

    /// Makes those uses of `old` for which `pick` holds uses of `new`. Returns how many.
    pub fn replace_uses_if(&mut self, old: ValueId, new: ValueId, mut pick: impl FnMut(&Use) -> bool) -> usize {
        if old == new {
            return 0;
        }
        let all = std::mem::take(&mut self.value_mut(old).uses);
        self.roots[old.index()].uses = 0;
        let mut moved = 0;
        for place in all {
            let target = if pick(&place) { new } else { old };
            moved += usize::from(target == new);
            *self.operand_mut(place) = self.add_use(target, place);
        }
        self.revision += u64::from(moved > 0);
        moved
    }

    // ---- ops --------------------------------------------------------------------------------------------

    /// Makes an op at a place and returns it. Its results are new values.
    ///
    /// The caller answers for the arguments being visible there and the types being right; the verifier checks both.
    pub fn insert(&mut self, place: Place, new: NewOp) -> OpId {
        self.revision += 1;
        let id = OpId::new(self.ops.len());
        let block = match place {
            Place::Before(op) | Place::After(op) => self.block_of(op),
            Place::Start(b) | Place::End(b) => b,
        };
        let NewOp { kind, unknown_type, name, inputs, outputs, attributes, origin } = new;
        let op = Op {
            kind,
            unknown_type: unknown_type.map(String::into_boxed_str),
            name,
            attributes,
            origin,
            inputs: Vec::with_capacity(inputs.len()),
            outputs: SmallVec::new(),
            blocks: SmallVec::new(),
        };
        self.ops.push(op);
        self.links.push(Link { prev: None, next: None, order: 0, block, kind, has_blocks: false, live: true });
        self.link(id, place);
        for (output, (name, ty)) in outputs.into_iter().enumerate() {
            let v = self.new_value(name, ty, Def::Op { op: id, output: output as u32 });
            self.node_mut(id).outputs.push(v);
        }
        for (name, args) in inputs {
            self.set_input(id, name, &args);
        }
        id
    }

    /// Makes a `const` op and returns its value.
    pub fn insert_const(&mut self, place: Place, name: impl Into<String>, value: Const) -> ValueId {
        let op = self.insert(place, NewOp::constant(name, value));
        self.op(op).output()
    }

    /// Sets the arguments of a parameter, adding it when it is not given; an empty list removes it.
    pub fn set_input(&mut self, op: OpId, name: impl Into<Cow<'static, str>>, args: &[ValueId]) {
        let name = name.into();
        let at = self.op(op).inputs.iter().position(|i| i.name == name);
        if args.is_empty() {
            self.remove_input(op, &name);
            return;
        }
        self.revision += 1;
        let input = match at {
            Some(at) => {
                self.pop_args(op, at);
                at
            }
            None => {
                let inputs = &mut self.node_mut(op).inputs;
                inputs.push(Input { name, args: SmallVec::new() });
                inputs.len() - 1
            }
        };
        for (arg, &v) in args.iter().enumerate() {
            let operand = self.add_use(v, Use::Op { op, input: input as u32, arg: arg as u32 });
            self.node_mut(op).inputs[input].args.push(operand);
        }
    }

    /// Removes a parameter. Returns whether it was there.
    pub fn remove_input(&mut self, op: OpId, name: &str) -> bool {
        let Some(at) = self.op(op).inputs.iter().position(|i| i.name == name) else { return false };
        self.revision += 1;
        // Later parameters move up by one, and their uses with them: take them off and put them back.
        let later: Vec<(Cow<'static, str>, SmallVec<[ValueId; 1]>)> = self.op(op).inputs[at + 1..]
            .iter()
            .map(|i| (i.name.clone(), i.args.iter().map(|a| a.value).collect()))
            .collect();
        self.pop_inputs(op, at);
        for (name, args) in later {
            self.set_input(op, name, &args);
        }
        true
    }

    /// Takes all arguments off a parameter, last first, so that the places of the others stay true meanwhile.
    fn pop_args(&mut self, op: OpId, input: usize) {
        while let Some(&last) = self.op(op).inputs[input].args.last() {
            self.drop_use(last);
            self.node_mut(op).inputs[input].args.pop();
        }
    }

    /// Takes off the parameters from position `from` on.
    fn pop_inputs(&mut self, op: OpId, from: usize) {
        for input in (from..self.op(op).inputs.len()).rev() {
            self.pop_args(op, input);
            self.node_mut(op).inputs.pop();
        }
    }

    /// Makes one argument another value.
    ///
    /// # Panics
    /// When the op has no such parameter or argument.
    pub fn set_arg(&mut self, op: OpId, name: &str, arg: usize, value: ValueId) {
        let input = self.op(op).inputs.iter().position(|i| i.name == name).expect("invariant: the parameter is given");
        self.set_use(Use::Op { op, input: input as u32, arg: arg as u32 }, value);
    }

    /// Makes one use a use of another value.
    pub fn set_use_at(&mut self, place: Use, value: ValueId) {
        self.set_use(place, value);
    }

    /// Removes an op and all that is nested in it. Refuses (returns false) while a result is in use.
    pub fn erase(&mut self, op: OpId) -> bool {
        if self.op(op).outputs.iter().any(|&v| self.is_used(v)) {
            return false;
        }
        self.revision += 1;
        for b in self.op(op).blocks.clone() {
            self.erase_block(b);
        }
        self.pop_inputs(op, 0);
        self.unlink(op);
        for v in self.op(op).outputs.clone() {
            self.values[v.index()] = None;
        }
        self.ops[op.index()] = None;
        self.link_mut(op).live = false;
        true
    }

    fn erase_block(&mut self, block: BlockId) {
        self.set_outputs_of(block, &[]);
        let mut at = self.block(block).last;
        while let Some(op) = at {
            at = self.prev(op);
            let erased = self.erase(op);
            debug_assert!(erased, "a block's values are used only within it");
        }
        for v in std::mem::take(&mut self.block_mut(block).inputs) {
            self.values[v.index()] = None;
        }
        self.blocks[block.index()] = None;
    }

    /// Moves an op. The caller answers for its arguments being visible there and its results where they are used.
    pub fn move_op(&mut self, op: OpId, place: Place) {
        if matches!(place, Place::Before(o) | Place::After(o) if o == op) {
            return;
        }
        self.revision += 1;
        self.unlink(op);
        let block = match place {
            Place::Before(o) | Place::After(o) => self.block_of(o),
            Place::Start(b) | Place::End(b) => b,
        };
        self.link_mut(op).block = block;
        self.link(op, place);
    }

    /// The op, to change its name, attributes or origin.
    pub fn op_mut(&mut self, op: OpId) -> OpEdit<'_> {
        self.revision += 1;
        let op = self.node_mut(op);
        OpEdit { name: &mut op.name, attributes: &mut op.attributes, origin: &mut op.origin }
    }

    /// Records where an op came from; no change of the program.
    pub fn set_origin(&mut self, op: OpId, origin: Origin) {
        self.node_mut(op).origin = origin;
    }

    /// Makes an op one of another kind. Its inputs and results stay; the caller makes them right.
    pub fn set_kind(&mut self, op: OpId, kind: OpKind) {
        self.revision += 1;
        self.order.take();
        self.link_mut(op).kind = kind;
        let op = self.node_mut(op);
        op.kind = kind;
        op.unknown_type = None;
    }

    // ---- values, blocks, signature --------------------------------------------------------------------

    /// Changes the type of a value.
    pub fn set_type(&mut self, v: ValueId, ty: Type) {
        if self.value(v).ty != ty {
            self.revision += 1;
            self.value_mut(v).ty = ty;
        }
    }

    /// Changes the preferred name of a value.
    pub fn set_name(&mut self, v: ValueId, name: impl Into<String>) {
        let name = name.into();
        if self.value(v).name != name {
            self.revision += 1;
            self.value_mut(v).name = name;
        }
    }

    /// Adds an input to a block; to the body: to the function.
    pub fn add_input(&mut self, block: BlockId, name: impl Into<String>, ty: Type) -> ValueId {
        self.revision += 1;
        let index = self.block(block).inputs.len() as u32;
        let v = self.new_value(name.into(), ty, Def::BlockInput { block, index });
        self.block_mut(block).inputs.push(v);
        v
    }

    /// Removes an input of a block. Refuses (returns false) while it is in use.
    pub fn remove_block_input(&mut self, block: BlockId, index: usize) -> bool {
        let Some(&v) = self.block(block).inputs.get(index) else { return false };
        if !self.value(v).uses.is_empty() {
            return false;
        }
        self.revision += 1;
        self.block_mut(block).inputs.remove(index);
        self.values[v.index()] = None;
        for (index, v) in self.block(block).inputs.clone().into_iter().enumerate() {
            self.roots[v.index()].def = Def::BlockInput { block, index: index as u32 };
        }
        true
    }

    /// Adds a nested block to an op.
    pub fn add_block(&mut self, op: OpId) -> BlockId {
        self.revision += 1;
        let id = BlockId::new(self.blocks.len());
        self.order.take();
        self.blocks.push(Some(Block { parent: Some(op), ..Block::default() }));
        self.node_mut(op).blocks.push(id);
        self.link_mut(op).has_blocks = true;
        id
    }

    /// The attributes of a block, to change.
    pub fn block_attributes_mut(&mut self, block: BlockId) -> &mut Attributes {
        self.revision += 1;
        &mut self.block_mut(block).attributes
    }

    /// Sets the outputs of a block. For the body use [`Function::set_outputs`], which names them.
    pub fn set_outputs_of(&mut self, block: BlockId, outputs: &[ValueId]) {
        self.revision += 1;
        while let Some(&last) = self.block(block).outputs.last() {
            self.drop_use(last);
            self.block_mut(block).outputs.pop();
        }
        for (index, &v) in outputs.iter().enumerate() {
            let operand = self.add_use(v, Use::Output { block, index: index as u32 });
            self.block_mut(block).outputs.push(operand);
        }
    }

    /// Sets the function's outputs with their public names.
    pub fn set_outputs(&mut self, outputs: Vec<(String, ValueId)>) {
        let (names, values): (Vec<_>, Vec<_>) = outputs.into_iter().unzip();
        self.set_outputs_of(self.body, &values);
        self.output_names = names;
    }

    /// Adds a result to an op; for readers and for ops whose number of results depends on their inputs.
    pub fn add_output(&mut self, op: OpId, name: impl Into<String>, ty: Type) -> ValueId {
        self.revision += 1;
        let output = self.op(op).outputs.len() as u32;
        let v = self.new_value(name.into(), ty, Def::Op { op, output });
        self.node_mut(op).outputs.push(v);
        v
    }

    /// Removes result number `index` of an op. Refuses (returns false) while it is in use or there is none.
    pub fn remove_output(&mut self, op: OpId, index: usize) -> bool {
        let Some(&v) = self.op(op).outputs.get(index) else { return false };
        if !self.value(v).uses.is_empty() {
            return false;
        }
        self.revision += 1;
        self.node_mut(op).outputs.remove(index);
        self.values[v.index()] = None;
        for (output, v) in self.op(op).outputs.clone().into_iter().enumerate() {
            self.roots[v.index()].def = Def::Op { op, output: output as u32 };
        }
        true
    }

    // ---- order within a block ---------------------------------------------------------------------------

    fn link(&mut self, op: OpId, place: Place) {
        self.order.take();
        let (block, prev, next) = match place {
            Place::Before(o) => (self.block_of(o), self.prev(o), Some(o)),
            Place::After(o) => (self.block_of(o), Some(o), self.next(o)),
            Place::Start(b) => (b, None, self.block(b).first),
            Place::End(b) => (b, self.block(b).last, None),
        };
        match prev {
            Some(p) => self.link_mut(p).next = Some(op),
            None => self.block_mut(block).first = Some(op),
        }
        match next {
            Some(n) => self.link_mut(n).prev = Some(op),
            None => self.block_mut(block).last = Some(op),
        }
        let low = prev.map_or(0, |p| self.link_of(p).order);
        let high = next.map_or(low + 2 * ORDER_STEP, |n| self.link_of(n).order);
        let node = self.link_mut(op);
        (node.prev, node.next) = (prev, next);
        node.order = low + (high - low) / 2;
        if node.order == low {
            self.make_room(low, op);
        }
    }

    /// Spreads the order keys from `first` on, over as few ops as leave room: the first `n` whose keys span
    /// more than `n` squared (Dietz and Sleator, "Two algorithms for maintaining order in a list", 1987),
    /// which makes any series of insertions cost O(log n) each, amortized.
    fn make_room(&mut self, low: u64, first: OpId) {
        let (mut n, mut at) = (1u64, self.next(first));
        let span = loop {
            match at {
                Some(op) if self.link_of(op).order - low > n * n => break self.link_of(op).order - low,
                Some(op) => (n, at) = (n + 1, self.next(op)),
                None => break (n + 1) * ORDER_STEP,
            }
        };
        let step = span / (n + 1);
        let mut at = Some(first);
        for k in 1..=n {
            let Some(op) = at else { break };
            self.link_mut(op).order = low + k * step;
            at = self.next(op);
        }
    }

    fn unlink(&mut self, op: OpId) {
        self.order.take();
        let Link { block, prev, next, .. } = *self.link_of(op);
        match prev {
            Some(p) => self.link_mut(p).next = next,
            None => self.block_mut(block).first = next,
        }
        match next {
            Some(n) => self.link_mut(n).prev = prev,
            None => self.block_mut(block).last = prev,
        }
    }
}

/// The parts of an op that are not tied to use lists.
#[derive(Debug)]
pub struct OpEdit<'a> {
    /// The `name` attribute.
    pub name: &'a mut Option<String>,
    /// Other attributes.
    pub attributes: &'a mut Attributes,
    /// Where the op came from.
    pub origin: &'a mut Origin,
}
