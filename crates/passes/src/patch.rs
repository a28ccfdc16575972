//! A rewrite as data: found by looking, applied by the driver.
//!
//! A rule reads the function and returns a [`Patch`]: ops to make, uses to redirect, ops to erase. Nothing
//! changes until the driver applies it, so a rule cannot see a half-changed program.

use coremill_mil::{Builder, Const, Function, InferError, OpId, OpKind, Origin, Place, Type, Use, ValueId, version_of};

use crate::pass::{PassContext, PassError};

/// A change of a function.
#[derive(Debug)]
pub struct Patch {
    rule: &'static str,
    place: Place,
    origin: Origin,
    steps: Vec<Step>,
    made: usize,
}

#[derive(Debug)]
enum Step {
    Make { place: Place, op: NewPatchOp },
    Replace { old: ValueId, new: PatchValue, check_type: bool },
    SetUse { place: Use, new: PatchValue },
    Erase(OpId),
}

/// An op to be made, with its parameters in order.
#[derive(Debug, Clone)]
pub struct NewPatchOp {
    kind: OpKind,
    name: String,
    inputs: Vec<(&'static str, Vec<PatchArg>)>,
    attributes: Vec<(&'static str, Const)>,
    types: Option<Vec<Type>>,
}

#[derive(Debug, Clone)]
enum PatchArg {
    Value(PatchValue),
    Const(Const),
}

/// A value of the function, or a result of an op that the patch makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchValue {
    /// A value that exists.
    Existing(ValueId),
    /// Result `output` of the patch's op number `op`.
    Made {
        /// Which op of the patch.
        op: usize,
        /// Which of its results.
        output: usize,
    },
}

impl From<ValueId> for PatchValue {
    fn from(v: ValueId) -> PatchValue {
        PatchValue::Existing(v)
    }
}

impl NewPatchOp {
    /// An op of this kind; `name` is the preferred name of its result.
    pub fn new(kind: OpKind, name: impl Into<String>) -> NewPatchOp {
        NewPatchOp { kind, name: name.into(), inputs: Vec::new(), attributes: Vec::new(), types: None }
    }

    /// Gives a parameter a value.
    #[must_use]
    pub fn input(mut self, name: &'static str, v: impl Into<PatchValue>) -> NewPatchOp {
        self.inputs.push((name, vec![PatchArg::Value(v.into())]));
        self
    }

    /// Gives a list parameter its values.
    #[must_use]
    pub fn list(mut self, name: &'static str, vs: impl IntoIterator<Item = PatchValue>) -> NewPatchOp {
        self.inputs.push((name, vs.into_iter().map(PatchArg::Value).collect()));
        self
    }

    /// Gives a parameter a constant.
    #[must_use]
    pub fn literal(mut self, name: &'static str, c: Const) -> NewPatchOp {
        self.inputs.push((name, vec![PatchArg::Const(c)]));
        self
    }

    /// Gives a parameter a constant as an attribute, which is how `constexpr_*` ops of ios16 take theirs.
    #[must_use]
    pub fn attribute(mut self, name: &'static str, c: Const) -> NewPatchOp {
        self.attributes.push((name, c));
        self
    }

    /// Gives a parameter a constant, when there is one.
    #[must_use]
    pub fn maybe_literal(self, name: &'static str, c: Option<Const>) -> NewPatchOp {
        match c {
            Some(c) => self.literal(name, c),
            None => self,
        }
    }

    /// Gives the parameter what `op` has for it, if anything.
    #[must_use]
    pub fn same(self, f: &Function, op: OpId, name: &'static str) -> NewPatchOp {
        self.same_as(f, op, name, name)
    }

    /// Gives the parameter what `op` has for another one, if anything.
    #[must_use]
    pub fn same_as(mut self, f: &Function, op: OpId, from: &str, name: &'static str) -> NewPatchOp {
        let args: Vec<PatchArg> = f.op(op).args(from).map(|v| PatchArg::Value(v.into())).collect();
        if !args.is_empty() {
            self.inputs.push((name, args));
        }
        self
    }

    /// Gives every parameter of the op's definition what `op` has for it, but for those named.
    #[must_use]
    pub fn same_but(self, f: &Function, op: OpId, but: &[&str]) -> NewPatchOp {
        let inputs = version_of(f.kind(op), f.opset).map_or(&[][..], |v| v.inputs);
        inputs.iter().filter(|i| !but.contains(&i.name)).fold(self, |new, i| new.same(f, op, i.name))
    }

    /// Sets the result types instead of inferring them.
    #[must_use]
    pub fn types(mut self, types: Vec<Type>) -> NewPatchOp {
        self.types = Some(types);
        self
    }
}

impl Patch {
    /// An empty patch of the rule, whose ops go right before `anchor` and inherit its origin.
    pub fn before(f: &Function, anchor: OpId, rule: &'static str) -> Patch {
        Patch { rule, place: Place::Before(anchor), origin: f.op(anchor).origin.clone(), steps: Vec::new(), made: 0 }
    }

    /// Puts the ops that follow at another place.
    pub fn move_to(&mut self, place: Place) {
        self.place = place;
    }

    /// Makes an op and returns its first result.
    pub fn make(&mut self, op: NewPatchOp) -> PatchValue {
        self.steps.push(Step::Make { place: self.place, op });
        self.made += 1;
        PatchValue::Made { op: self.made - 1, output: 0 }
    }

    /// Makes a `const` op.
    pub fn constant(&mut self, name: impl Into<String>, value: Const) -> PatchValue {
        let mut op = NewPatchOp::new(OpKind::Const, name);
        op.inputs.push(("val", vec![PatchArg::Const(value)]));
        self.make(op)
    }

    /// Redirects every use of `old`, outputs included, to `new`, which must be of a compatible type.
    pub fn replace(&mut self, old: ValueId, new: impl Into<PatchValue>) {
        self.steps.push(Step::Replace { old, new: new.into(), check_type: true });
    }

    /// Redirects every use of `old` to `new` of another type; the rule answers for the users.
    pub fn replace_retyped(&mut self, old: ValueId, new: impl Into<PatchValue>) {
        self.steps.push(Step::Replace { old, new: new.into(), check_type: false });
    }

    /// Redirects one use.
    pub fn set_use(&mut self, place: Use, new: impl Into<PatchValue>) {
        self.steps.push(Step::SetUse { place, new: new.into() });
    }

    /// Erases an op, if none of its results is in use by then.
    pub fn erase(&mut self, op: OpId) {
        self.steps.push(Step::Erase(op));
    }

    /// The common shape: `old`, the only result of `op`, becomes `new`, and `op` goes.
    pub fn replace_op(&mut self, f: &Function, op: OpId, new: impl Into<PatchValue>) {
        self.replace(f.op(op).output(), new);
        self.erase(op);
    }

    /// The rule's name.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// Applies the patch. Returns the ops to look at again: those made, users of redirected values, and
    /// makers of values that lost a use.
    pub(crate) fn apply(self, f: &mut Function, cx: &PassContext) -> Result<Vec<OpId>, PassError> {
        let Patch { rule, steps, mut origin, .. } = self;
        origin.touch(&cx.id);
        let mut made: Vec<OpId> = Vec::new();
        let mut touched: Vec<OpId> = Vec::new();
        for step in steps {
            match step {
                Step::Make { place, op } => {
                    let id = make(f, place, op, &made, &origin, rule)?;
                    made.push(id);
                    touched.push(id);
                }
                Step::Replace { old, new, check_type } => {
                    let new = resolve(f, &made, new);
                    if check_type && !f.ty(old).compatible(f.ty(new)) {
                        let (old, new) = (f.ty(old).to_string(), f.ty(new).to_string());
                        return Err(PassError::TypeChanged { rule, old, new });
                    }
                    // Only the users that move: `new` may have many more that nothing happens to.
                    touched.extend(f.value(old).uses().iter().filter_map(|u| match u {
                        Use::Op { op, .. } => Some(*op),
                        Use::Output { .. } => None,
                    }));
                    f.replace_uses(old, new);
                    touched.extend(f.producer(new));
                }
                Step::SetUse { place, new } => {
                    let new = resolve(f, &made, new);
                    f.set_use_at(place, new);
                    if let Use::Op { op, .. } = place {
                        touched.push(op);
                    }
                    touched.extend(f.producer(new));
                }
                // A rule may name an op twice, when two of its parts are one.
                Step::Erase(op) if !f.is_live(op) => {}
                Step::Erase(op) => {
                    let makers: Vec<OpId> = f.op(op).operands().filter_map(|v| f.producer(v)).collect();
                    f.erase(op);
                    touched.extend(makers);
                }
            }
        }
        touched.retain(|&op| f.is_live(op));
        Ok(touched)
    }
}

fn resolve(f: &Function, made: &[OpId], v: PatchValue) -> ValueId {
    match v {
        PatchValue::Existing(v) => v,
        PatchValue::Made { op, output } => f.op(made[op]).outputs()[output],
    }
}

fn make(
    f: &mut Function,
    place: Place,
    new: NewPatchOp,
    made: &[OpId],
    origin: &Origin,
    rule: &'static str,
) -> Result<OpId, PassError> {
    let inputs: Vec<(&'static str, Vec<Result<ValueId, Const>>)> = new
        .inputs
        .into_iter()
        .map(|(name, args)| {
            let args = args.into_iter().map(|a| match a {
                PatchArg::Value(v) => Ok(resolve(f, made, v)),
                PatchArg::Const(c) => Err(c),
            });
            (name, args.collect())
        })
        .collect();
    let mut b = Builder::new(f, place).with_origin(origin.clone());
    if new.kind == OpKind::Const {
        let value = inputs.into_iter().flat_map(|(_, a)| a).find_map(Result::err);
        let value = value.expect("invariant: `Patch::constant` gives every const its value");
        let v = b.constant(new.name, value);
        return Ok(f.producer(v).expect("invariant: a const op was just made"));
    }
    let mut op = b.op(new.kind).name(new.name);
    for (name, args) in inputs {
        op = match <[Result<ValueId, Const>; 1]>::try_from(args) {
            Ok([Ok(v)]) => op.input(name, v),
            Ok([Err(c)]) => op.literal(name, c),
            Err(many) => op.list(name, &many.into_iter().filter_map(Result::ok).collect::<Vec<_>>()),
        };
    }
    for (name, value) in new.attributes {
        op = op.attribute(name, value);
    }
    if let Some(types) = new.types {
        op = op.types(types);
    }
    let kind = new.kind;
    op.build_op().map_err(|error: InferError| PassError::Infer { rule, kind, error })
}
