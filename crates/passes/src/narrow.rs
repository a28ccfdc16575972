//! Letting ops compute in a narrower element type: the mechanism of `add_fp16_cast` and `add_int16_cast`.
//!
//! What an op reads is cast to the narrower type before it, what it gives is cast back behind it, and the op itself
//! stays where and what it is. A value that several ops of a block read is cast once there. Casts that undo each other
//! are left to `common::cast_optimization`.
//!
//! An op that would not verify with narrower inputs is left alone. Nothing is decided here: which ops and inputs, and
//! to which type, is the [`Narrowing`]'s business.

use coremill_mil::schema::Domain;
use coremill_mil::{
    Arg, Builder, Const, Function, OpArgs, OpId, OpKind, Origin, Place, TensorType, Type, Use, ValueId, infer, schema,
    version_of,
};
use coremill_tensor::DType;
use rustc_hash::FxHashMap;

use crate::matching::float_const;
use crate::pass::{PassContext, PassError};

/// Which ops and inputs are narrowed, and to what.
pub(crate) trait Narrowing {
    /// The element type that is narrowed.
    const FROM: DType;

    /// The suffix that the names of narrowed ops get: the narrower type.
    const SUFFIX: &'static str;

    /// Is this op to be narrowed? Asked once per op, in program order.
    fn wants(&mut self, f: &Function, op: OpId) -> bool;

    /// What the input becomes; `None` leaves it as it is. `v` has the element type `FROM`, or is a string.
    fn target(&self, f: &Function, op: OpId, input: &str, v: ValueId) -> Option<Target>;

    /// What a float that is written as an attribute becomes, by what it may be.
    fn attribute(_domain: Domain) -> Option<DType> {
        None
    }

    /// The constant to use in place of a cast of `v`, where a cast would not do.
    fn constant(&self, _f: &Function, _v: ValueId) -> Option<Const> {
        None
    }
}

/// What becomes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// It is cast to this type.
    Cast(DType),
    /// It is a string, and becomes this one.
    Text(&'static str),
}

/// What was made in a block so far.
#[derive(Default)]
struct Casts {
    /// By what they are of and to.
    made: FxHashMap<(ValueId, Target), ValueId>,
    /// The `dtype` arguments; the first op that needs one has it before it, and all later ones read that.
    dtypes: FxHashMap<DType, ValueId>,
}

/// One input to be changed.
struct Change {
    place: Use,
    v: ValueId,
    to: Target,
}

/// Narrows every op of a function that the narrowing wants.
pub(crate) fn narrow<N: Narrowing>(f: &mut Function, narrowing: &mut N, cx: &mut PassContext) -> Result<(), PassError> {
    for block in f.all_blocks() {
        // Casts made in a block serve it alone: a nested block casts for itself.
        let mut casts = Casts::default();
        for op in f.ops_in(block).collect::<Vec<_>>() {
            cx.visited += 1;
            if cx.is_exhausted() {
                return Ok(());
            }
            if f.kind(op) != OpKind::Const && narrowing.wants(f, op) {
                narrow_op(f, op, narrowing, &mut casts, cx)?;
            }
        }
    }
    Ok(())
}

fn narrow_op<N: Narrowing>(
    f: &mut Function,
    op: OpId,
    narrowing: &N,
    casts: &mut Casts,
    cx: &mut PassContext,
) -> Result<(), PassError> {
    let changes = changes(f, op, narrowing);
    let attributes = attribute_changes::<N>(f, op);
    if changes.is_empty() && attributes.is_empty() {
        return Ok(());
    }
    let Some(types) = narrowed_types(f, op, &changes, &attributes) else { return Ok(()) };
    let mut origin = f.op(op).origin.clone();
    origin.touch(&cx.id);
    for change in changes {
        let new = match casts.made.get(&(change.v, change.to)) {
            Some(&v) => v,
            None => {
                let v = replacement(f, op, &change, narrowing, &origin, casts)?;
                casts.made.insert((change.v, change.to), v);
                v
            }
        };
        f.set_use_at(change.place, new);
    }
    if !attributes.is_empty() {
        f.op_mut(op).attributes.extend(attributes);
    }
    let mut place = Place::After(op);
    for (v, new) in f.op(op).outputs().to_vec().into_iter().zip(types) {
        place = give_back::<N>(f, place, v, &new, &origin, casts)?;
    }
    if let Some(name) = f.op(op).name.clone() {
        *f.op_mut(op).name = Some(format!("{name}_cast_{}", N::SUFFIX));
    }
    f.set_origin(op, origin);
    cx.rewrites += 1;
    Ok(())
}

/// The inputs to be changed.
fn changes<N: Narrowing>(f: &Function, op: OpId, narrowing: &N) -> Vec<Change> {
    let mut changes = Vec::new();
    for (input, (name, args)) in f.op(op).inputs().enumerate() {
        for (arg, v) in args.enumerate() {
            let dtype = f.ty(v).as_tensor().map(|t| t.dtype);
            if dtype != Some(N::FROM) && dtype != Some(DType::String) {
                continue;
            }
            if let Some(to) = narrowing.target(f, op, name, v) {
                changes.push(Change { place: Use::Op { op, input: input as u32, arg: arg as u32 }, v, to });
            }
        }
    }
    changes
}

/// Inputs that are written as attributes (`constexpr_*` before ios18) are constants of the op's own.
fn attribute_changes<N: Narrowing>(f: &Function, op: OpId) -> Vec<(String, Const)> {
    let Some(version) = version_of(f.kind(op), f.opset).filter(|v| v.as_attributes) else { return Vec::new() };
    let narrowed = |name: &str, value: &Const| {
        let data = value.as_data().filter(|d| d.dtype() == N::FROM)?;
        let to = version.input(name).and_then(|i| N::attribute(i.domain))?;
        float_const(to, data.shape(), data.to_f64s()?)
    };
    let attributes = f.op(op).attributes.iter();
    attributes.filter_map(|(name, value)| Some((name.to_owned(), narrowed(name, value)?))).collect()
}

/// The op's result types with its inputs narrowed; `None` where it would not verify.
fn narrowed_types(f: &Function, op: OpId, changes: &[Change], attributes: &[(String, Const)]) -> Option<Vec<Type>> {
    let mut all = f.op(op).attributes.clone();
    all.extend(attributes.iter().cloned());
    let types: Vec<Type> = changes.iter().map(|c| narrowed_type(f.ty(c.v), c.to)).collect();
    let texts: Vec<Option<Const>> = changes.iter().map(|c| c.to.text().map(Const::string)).collect();
    let mut args = OpArgs::of(f, op);
    args.attributes = Some(&all);
    for ((change, ty), text) in changes.iter().zip(&types).zip(&texts) {
        let Use::Op { input, arg, .. } = change.place else { continue };
        let old = args.inputs.get_mut(input as usize)?.1.get_mut(arg as usize)?;
        *old = Arg { ty, value: text.as_ref().or(old.value), source: old.source };
    }
    schema::check_inputs(&args).ok()?;
    let types = infer(&args).ok()?;
    (types.len() == f.op(op).outputs().len()).then_some(types)
}

fn narrowed_type(ty: &Type, to: Target) -> Type {
    match (to, ty) {
        (Target::Cast(dtype), Type::Tensor(t)) => Type::Tensor(TensorType::new(dtype, t.shape.clone())),
        _ => ty.clone(),
    }
}

impl Target {
    fn text(self) -> Option<&'static str> {
        match self {
            Target::Text(s) => Some(s),
            Target::Cast(_) => None,
        }
    }
}

/// The value that the op reads instead.
fn replacement<N: Narrowing>(
    f: &mut Function,
    op: OpId,
    change: &Change,
    narrowing: &N,
    origin: &Origin,
    casts: &mut Casts,
) -> Result<ValueId, PassError> {
    let name = &f.value(change.v).name;
    let (name, constant) = match change.to {
        Target::Cast(dtype) => (format!("{name}_to_{}", dtype.name()), narrowing.constant(f, change.v)),
        Target::Text(text) => (format!("{name}_to_{text}"), Some(Const::string(text))),
    };
    let mut b = Builder::new(f, Place::Before(op)).with_origin(origin.clone());
    match (constant, change.to) {
        (Some(c), _) => Ok(b.constant(name, c)),
        (None, Target::Cast(dtype)) => cast(&mut b, change.v, dtype, name, casts),
        (None, Target::Text(_)) => Ok(change.v),
    }
}

fn cast(b: &mut Builder<'_>, x: ValueId, dtype: DType, name: String, casts: &mut Casts) -> Result<ValueId, PassError> {
    let text = *casts
        .dtypes
        .entry(dtype)
        .or_insert_with(|| b.constant(format!("dtype_{}", dtype.name()), Const::string(dtype.name())));
    let op = b.op(OpKind::Cast).input("x", x).input("dtype", text).name(name);
    op.one().map_err(|error| PassError::Infer { rule: "cast", kind: OpKind::Cast, error })
}

/// Gives the result its new type, and casts it back at `place` for its users where that is another one. Returns the
/// place behind.
fn give_back<N: Narrowing>(
    f: &mut Function,
    place: Place,
    v: ValueId,
    new: &Type,
    origin: &Origin,
    casts: &mut Casts,
) -> Result<Place, PassError> {
    let (Type::Tensor(old), Some(dtype)) = (f.ty(v).clone(), new.dtype()) else { return Ok(place) };
    if dtype == old.dtype {
        return Ok(place);
    }
    f.set_type(v, Type::Tensor(TensorType::new(dtype, old.shape)));
    let uses = f.value(v).uses().to_vec();
    let name = format!("{}_cast_{}", f.value(v).name, N::SUFFIX);
    let mut b = Builder::new(f, place).with_origin(origin.clone());
    let back = cast(&mut b, v, old.dtype, format!("{name}_to_{}", old.dtype.name()), casts)?;
    f.set_name(v, name);
    for u in uses {
        f.set_use_at(u, back);
    }
    Ok(f.producer(back).map_or(place, Place::After))
}
