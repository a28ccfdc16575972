//! Making ops with their types inferred.

use std::borrow::Cow;

use coremill_tensor::{DType, Data, f16};
use smallvec::SmallVec;

use crate::schema::{Default, Domain, InputSpec, OpVersion};
use crate::{Arg, Const, Function, InferError, NewOp, OpArgs, OpId, OpKind, Origin, Place, Type, ValueId, infer};

/// Makes ops at a place of a function: literal arguments become `const` ops before the op, result types are
/// inferred, names follow from the given one (`NAME`, or `NAME_0`, `NAME_1`, ... for several results, and
/// `NAME_PARAM_0` for literal arguments). A parameter that is not given and has a value by default is given that
/// value, so that what the op does is written down whatever a later opset makes of its defaults.
///
/// ```
/// use coremill_mil::{Builder, Const, Function, OpKind, Opset, Place, Type};
/// use coremill_tensor::{DType, Shape};
///
/// let mut f = Function::new(Opset::Ios17);
/// let body = f.body();
/// let x = f.add_input(body, "x", Type::known(DType::Fp32, &[2, 3]));
/// let mut b = Builder::new(&mut f, Place::End(body));
/// let y = b.op(OpKind::Transpose).input("x", x).literal("perm", Const::int32s(&[1, 0])).name("y").one().unwrap();
/// f.set_outputs(vec![("y".to_owned(), y)]);
/// assert_eq!(f.ty(y).to_string(), "tensor<fp32, [3, 2]>");
/// ```
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function.
    pub f: &'f mut Function,
    place: Place,
    origin: Origin,
}

impl<'f> Builder<'f> {
    /// A builder that puts ops at `place`, one after the other.
    pub fn new(f: &'f mut Function, place: Place) -> Builder<'f> {
        Builder { f, place, origin: Origin::default() }
    }

    /// Gives every op made from here on this origin.
    pub fn with_origin(mut self, origin: Origin) -> Builder<'f> {
        self.origin = origin;
        self
    }

    /// Changes the origin of ops made from here on.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// The origin that ops get now.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Where the next op goes.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Moves to another place.
    pub fn set_place(&mut self, place: Place) {
        self.place = place;
    }

    /// Begins an op.
    pub fn op(&mut self, kind: OpKind) -> PendingOp<'_, 'f> {
        PendingOp { b: self, kind, name: None, inputs: Vec::new(), attributes: Vec::new(), ty: None }
    }

    /// Makes a `const` op.
    pub fn constant(&mut self, name: impl Into<String>, value: Const) -> ValueId {
        self.insert(NewOp::constant(name, value))
    }

    fn insert(&mut self, new: NewOp) -> ValueId {
        let op = self.insert_op(new);
        self.f.op(op).output()
    }

    fn insert_op(&mut self, new: NewOp) -> OpId {
        let op = self.f.insert(self.place, new.origin(self.origin.clone()));
        // Keep the order of calls: after the first op at a start or after another, the next goes behind it.
        if matches!(self.place, Place::Start(_) | Place::After(_)) {
            self.place = Place::After(op);
        }
        op
    }
}

/// An op being made; [`PendingOp::one`] or [`PendingOp::build`] makes it.
#[derive(Debug)]
pub struct PendingOp<'b, 'f> {
    b: &'b mut Builder<'f>,
    kind: OpKind,
    name: Option<String>,
    inputs: Vec<(&'static str, Vec<Source>)>,
    attributes: Vec<(&'static str, Const)>,
    ty: Option<Vec<Type>>,
}

#[derive(Debug)]
enum Source {
    Value(ValueId),
    Literal(Const),
}

impl PendingOp<'_, '_> {
    /// Gives a parameter a value.
    #[must_use]
    pub fn input(mut self, name: &'static str, v: ValueId) -> Self {
        self.inputs.push((name, vec![Source::Value(v)]));
        self
    }

    /// Gives a parameter a value, when there is one.
    #[must_use]
    pub fn maybe(self, name: &'static str, v: Option<ValueId>) -> Self {
        match v {
            Some(v) => self.input(name, v),
            None => self,
        }
    }

    /// Gives a list parameter its values.
    #[must_use]
    pub fn list(mut self, name: &'static str, vs: &[ValueId]) -> Self {
        self.inputs.push((name, vs.iter().map(|&v| Source::Value(v)).collect()));
        self
    }

    /// Gives a parameter a constant, which becomes a `const` op.
    #[must_use]
    pub fn literal(mut self, name: &'static str, value: Const) -> Self {
        self.inputs.push((name, vec![Source::Literal(value)]));
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn attribute(mut self, name: &'static str, value: Const) -> Self {
        self.attributes.push((name, value));
        self
    }

    /// Sets the preferred name of the result.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the result types instead of inferring them.
    #[must_use]
    pub fn types(mut self, types: Vec<Type>) -> Self {
        self.ty = Some(types);
        self
    }

    /// Makes the op and returns its only result.
    ///
    /// # Errors
    /// When type inference fails, or the op has not exactly one result.
    pub fn one(self) -> Result<ValueId, InferError> {
        let kind = self.kind;
        match self.build()?.as_slice() {
            [v] => Ok(*v),
            many => Err(InferError::Mismatch(format!("`{kind}` has {} results where one is wanted", many.len()))),
        }
    }

    /// Makes the op and returns its results.
    ///
    /// # Errors
    /// When type inference fails.
    pub fn build(mut self) -> Result<Vec<ValueId>, InferError> {
        let op = self.finish()?;
        Ok(self.b.f.op(op).outputs().to_vec())
    }

    /// Makes the op and returns it.
    ///
    /// # Errors
    /// When type inference fails.
    pub fn build_op(mut self) -> Result<OpId, InferError> {
        self.finish()
    }

    /// Gives every parameter that is left out its default value, where the op table has one.
    fn fill_defaults(&mut self) {
        let Some(version) = crate::version_of(self.kind, self.b.f.opset) else { return };
        if version.as_attributes {
            return;
        }
        for spec in version.inputs {
            if self.inputs.iter().any(|(name, _)| *name == spec.name) {
                continue;
            }
            if let Some(value) = default_value(spec, self.dtype_like(version, spec)) {
                self.inputs.push((spec.name, vec![Source::Literal(value)]));
            }
        }
    }

    /// The element type that the inputs given have under the letter of `spec`.
    fn dtype_like(&self, version: &OpVersion, spec: &InputSpec) -> Option<DType> {
        let Domain::SameTensor(letter, _) = spec.domain else { return None };
        let is_kin =
            |name: &str| matches!(version.input(name).map(|i| i.domain), Some(Domain::SameTensor(l, _)) if l == letter);
        let kin = self.inputs.iter().filter(|(name, _)| is_kin(name));
        kin.flat_map(|(_, sources)| sources).find_map(|s| match s {
            Source::Value(v) => self.b.f.ty(*v).dtype(),
            Source::Literal(c) => c.ty().dtype(),
        })
    }

    fn infer(&self, f: &Function) -> Result<Vec<Type>, InferError> {
        let literal_types: Vec<Type> =
            self.sources().filter_map(|s| if let Source::Literal(c) = s { Some(c.ty()) } else { None }).collect();
        let mut literal_types = literal_types.iter();
        let attributes = self.attributes.iter().cloned().collect();
        let mut args = OpArgs::new(self.kind, f.opset);
        args.attributes = Some(&attributes);
        for (name, sources) in &self.inputs {
            let mut list: SmallVec<[Arg<'_>; 1]> = SmallVec::new();
            for s in sources {
                match s {
                    Source::Value(v) => list.push(Arg::of(f, *v)),
                    Source::Literal(c) => {
                        list.extend(literal_types.next().map(|ty| Arg::new(ty, Some(c))));
                    }
                }
            }
            args.inputs.push((name, list));
        }
        infer(&args)
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        self.inputs.iter().flat_map(|(_, s)| s)
    }

    fn finish(&mut self) -> Result<OpId, InferError> {
        self.fill_defaults();
        let types = match self.ty.take() {
            Some(types) => types,
            None => self.infer(self.b.f)?,
        };
        let base = self.name.take().unwrap_or_else(|| self.kind.name().to_owned());
        let mut new = NewOp::new(self.kind);
        for (param, sources) in std::mem::take(&mut self.inputs) {
            let mut args: SmallVec<[ValueId; 1]> = SmallVec::new();
            for (i, source) in sources.into_iter().enumerate() {
                args.push(match source {
                    Source::Value(v) => v,
                    Source::Literal(c) => self.b.constant(format!("{base}_{param}_{i}"), c),
                });
            }
            new.inputs.push((Cow::Borrowed(param), args));
        }
        let many = types.len() > 1;
        for (i, ty) in types.into_iter().enumerate() {
            new = new.output(if many { format!("{base}_{i}") } else { base.clone() }, ty);
        }
        new.attributes.extend(self.attributes.drain(..));
        Ok(self.b.insert_op(new))
    }
}

/// The constant that a default stands for; floats in the element type that the op works in.
fn default_value(spec: &InputSpec, dtype: Option<DType>) -> Option<Const> {
    Some(match spec.default {
        Default::None | Default::Computed(_) => return None,
        Default::Bool(b) => Const::bool(b),
        Default::Int(n) => Const::int32(n),
        Default::Ints(v) => Const::int32s(v),
        Default::Str(s) => Const::string(s),
        Default::Float(v) => match dtype {
            Some(DType::Fp16) => Const::Tensor(Data::scalar(f16::from_f32(v))),
            _ => Const::fp32(v),
        },
    })
}
