//! One node being lowered: its arguments by name, and what it makes.

use coremill_mil::{Builder, Const, InferError, OpKind, Opset, PendingOp, ValueId};
use coremill_tensor::{DType, Data, Shape};

use super::creation::narrow;
use super::env::{Env, mil_dtype};
use crate::graph::{Argument, Graph, Node, Scalar as SymScalar, ValueId as GraphValue};

/// What a node became.
pub(crate) enum Lowered {
    /// One value, for its only (or its first) result.
    One(ValueId),
    /// A value for each result of a list, or none where nothing was made of it.
    Many(Vec<Option<ValueId>>),
}

impl From<ValueId> for Lowered {
    fn from(v: ValueId) -> Lowered {
        Lowered::One(v)
    }
}

/// A number given as an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// An integer or boolean.
    Int(i64),
    /// A float.
    Float(f64),
}

impl Scalar {
    /// The number as a float.
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Scalar::Int(v) => v as f64,
            Scalar::Float(v) => v,
        }
    }
}

/// Why a node was not lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// A required argument is not given.
    #[error("argument `{0}` is not given")]
    Missing(&'static str),
    /// An argument is of a kind that the lowering does not take.
    #[error("argument `{name}` is {what}")]
    Argument {
        /// The argument.
        name: &'static str,
        /// What it is.
        what: String,
    },
    /// A case that has no lowering.
    #[error("{0} is not lowered")]
    Unsupported(String),
    /// MIL has no such op for these arguments.
    #[error(transparent)]
    Infer(#[from] InferError),
}

impl NodeError {
    /// A case that has no lowering.
    pub(crate) fn unsupported(what: impl Into<String>) -> NodeError {
        NodeError::Unsupported(what.into())
    }
}

type Result<T> = std::result::Result<T, NodeError>;

/// A node, what is known of its arguments, and the builder that its ops go to.
pub(crate) struct NodeCx<'a, 'f> {
    pub(super) node: &'a Node,
    pub(super) graph: &'a Graph,
    pub(super) env: &'a mut Env,
    pub(super) b: &'a mut Builder<'f>,
}

impl<'a, 'f> NodeCx<'a, 'f> {
    // ---- what it makes ------------------------------------------------------------------------------------

    /// Begins the op that gives the node's result.
    pub(crate) fn op(&mut self, kind: OpKind) -> PendingOp<'_, 'f> {
        let name = self.node.name.clone();
        self.b.op(kind).name(name)
    }

    /// Begins an op in between.
    pub(crate) fn inner(&mut self, kind: OpKind, suffix: &str) -> PendingOp<'_, 'f> {
        let name = format!("{}_{suffix}", self.node.name);
        self.b.op(kind).name(name)
    }

    /// Makes a constant in between.
    pub(crate) fn constant(&mut self, suffix: &str, value: Const) -> ValueId {
        self.b.constant(format!("{}_{suffix}", self.node.name), value)
    }

    /// Makes a constant that is the node's result.
    pub(crate) fn constant_result(&mut self, value: Const) -> ValueId {
        self.b.constant(self.node.name.clone(), value)
    }

    /// `kind` of `self`, for ops that take nothing else.
    pub(crate) fn unary(&mut self, kind: OpKind) -> Result<Lowered> {
        let x = self.value("self")?;
        Ok(self.op(kind).input("x", x).one()?.into())
    }

    /// The opset of the program.
    pub(crate) fn opset(&self) -> Opset {
        self.b.f.opset
    }

    // ---- tensors ------------------------------------------------------------------------------------------

    /// A tensor argument.
    pub(crate) fn value(&mut self, name: &'static str) -> Result<ValueId> {
        self.maybe_value(name)?.ok_or(NodeError::Missing(name))
    }

    /// A tensor argument that may be missing or `None`.
    pub(crate) fn maybe_value(&mut self, name: &'static str) -> Result<Option<ValueId>> {
        match self.node.input(name) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::Tensor(v)) => self.resolve(*v).map(Some),
            Some(other) => Err(wrong(name, other)),
        }
    }

    /// A list of tensors.
    pub(crate) fn values(&mut self, name: &'static str) -> Result<Vec<ValueId>> {
        let arg = self.node.input(name).ok_or(NodeError::Missing(name))?;
        let list = arg.as_tensors().ok_or_else(|| wrong(name, arg))?;
        list.iter().map(|&v| self.resolve(v)).collect()
    }

    fn resolve(&mut self, v: GraphValue) -> Result<ValueId> {
        self.env.value(v, self.graph, self.b)
    }

    /// A tensor argument, as a float if it is an integer or boolean.
    pub(crate) fn float_value(&mut self, name: &'static str) -> Result<ValueId> {
        let v = self.value(name)?;
        self.as_float(v)
    }

    /// The shape of a tensor argument.
    pub(crate) fn shape_of(&mut self, name: &'static str) -> Result<Shape> {
        let v = self.value(name)?;
        self.shape(v)
    }

    /// The shape of a value.
    pub(crate) fn shape(&self, v: ValueId) -> Result<Shape> {
        let ty = self.b.f.ty(v);
        ty.shape().cloned().ok_or_else(|| NodeError::unsupported(format!("a value of type {ty}")))
    }

    /// The element type of a value.
    pub(crate) fn dtype(&self, v: ValueId) -> Result<DType> {
        let ty = self.b.f.ty(v);
        ty.dtype().ok_or_else(|| NodeError::unsupported(format!("a value of type {ty}")))
    }

    /// An extent that must be a number; `axis` may count from the back.
    pub(crate) fn known_extent(&self, v: ValueId, axis: i64) -> Result<usize> {
        let shape = self.shape(v)?;
        let axis = shape.axis(axis).ok_or_else(|| NodeError::unsupported(format!("axis {axis} of shape {shape}")))?;
        let extent = shape[axis].known().and_then(|n| usize::try_from(n).ok());
        extent
            .ok_or_else(|| NodeError::unsupported(format!("an extent of {}, not known before run time,", shape[axis])))
    }

    /// Is the value a constant?
    pub(crate) fn is_const(&self, v: ValueId) -> bool {
        self.b.f.const_value(v).is_some()
    }

    /// The elements of a constant.
    pub(crate) fn const_f64s(&self, v: ValueId) -> Result<Option<Vec<f64>>> {
        Ok(self.b.f.const_value(v).and_then(Const::as_data).and_then(Data::to_f64s))
    }

    /// A constant matrix, transposed.
    pub(crate) fn transposed_const(&mut self, v: ValueId) -> Result<ValueId> {
        Ok(self.inner(OpKind::Transpose, "weight").input("x", v).literal("perm", Const::int32s(&[1, 0])).one()?)
    }

    // ---- numbers ------------------------------------------------------------------------------------------

    /// Is the argument given and not `None`?
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.node.input(name).is_some_and(|a| !a.is_none())
    }

    /// A number argument that may be missing.
    pub(crate) fn maybe_scalar(&self, name: &'static str) -> Result<Option<Scalar>> {
        match self.node.input(name) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::Int(v)) => Ok(Some(Scalar::Int(*v))),
            Some(Argument::Bool(v)) => Ok(Some(Scalar::Int(i64::from(*v)))),
            Some(Argument::Float(v)) => Ok(Some(Scalar::Float(*v))),
            Some(other) => Err(wrong(name, other)),
        }
    }

    /// An integer.
    pub(crate) fn int(&self, name: &'static str) -> Result<i64> {
        self.maybe_int(name)?.ok_or(NodeError::Missing(name))
    }

    /// An integer, or its default.
    pub(crate) fn int_or(&self, name: &'static str, default: i64) -> Result<i64> {
        Ok(self.maybe_int(name)?.unwrap_or(default))
    }

    /// An integer that may be missing.
    pub(crate) fn maybe_int(&self, name: &'static str) -> Result<Option<i64>> {
        match self.maybe_scalar(name)? {
            None => Ok(None),
            Some(Scalar::Int(v)) => Ok(Some(v)),
            Some(Scalar::Float(v)) => Err(NodeError::Argument { name, what: format!("the float {v}") }),
        }
    }

    /// A float, or its default.
    pub(crate) fn float_or(&self, name: &'static str, default: f64) -> Result<f64> {
        Ok(self.maybe_float(name)?.unwrap_or(default))
    }

    /// A float that may be missing; an integer counts as one.
    pub(crate) fn maybe_float(&self, name: &'static str) -> Result<Option<f64>> {
        Ok(self.maybe_scalar(name)?.map(Scalar::as_f64))
    }

    /// A boolean, or its default.
    pub(crate) fn bool_or(&self, name: &'static str, default: bool) -> Result<bool> {
        Ok(self.maybe_int(name)?.map_or(default, |v| v != 0))
    }

    /// A text, or its default.
    pub(crate) fn text_or(&self, name: &'static str, default: &str) -> Result<String> {
        Ok(self.maybe_text(name)?.unwrap_or_else(|| default.to_owned()))
    }

    /// A text that may be missing.
    pub(crate) fn maybe_text(&self, name: &'static str) -> Result<Option<String>> {
        match self.node.input(name) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::String(s)) => Ok(Some(s.clone())),
            Some(other) => Err(wrong(name, other)),
        }
    }

    /// Integers; one integer counts as a list of it.
    pub(crate) fn ints(&self, name: &'static str) -> Result<Vec<i64>> {
        match self.node.input(name) {
            None | Some(Argument::None) => Err(NodeError::Missing(name)),
            Some(Argument::Int(v)) => Ok(vec![*v]),
            Some(Argument::Ints(v)) => Ok(v.clone()),
            Some(Argument::SymInts(v)) => v.iter().map(|s| self.known(name, s)).collect(),
            Some(other) => Err(wrong(name, other)),
        }
    }

    fn known(&self, name: &'static str, s: &SymScalar<i64>) -> Result<i64> {
        match s {
            SymScalar::Known(v) => Ok(*v),
            SymScalar::Value(v) => {
                let what = format!("`{}`, computed at run time", self.graph.name(*v));
                Err(NodeError::Argument { name, what })
            }
        }
    }

    /// Integers, or their default.
    pub(crate) fn ints_or(&self, name: &'static str, default: &[i64]) -> Result<Vec<i64>> {
        if self.is_given(name) { self.ints(name) } else { Ok(default.to_vec()) }
    }

    /// Integers that fit MIL's `int32`.
    pub(crate) fn int32s(&self, name: &'static str) -> Result<Vec<i32>> {
        let narrow = |v: i64| {
            i32::try_from(v).map_err(|_| NodeError::Argument { name, what: format!("{v}, which int32 does not hold") })
        };
        self.ints(name)?.into_iter().map(narrow).collect()
    }

    /// An element type that may be missing, as the type that MIL programs have for it.
    pub(crate) fn maybe_dtype(&self, name: &'static str) -> Result<Option<DType>> {
        match self.node.input(name) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::ScalarType(t)) => {
                let dtype = t.dtype().and_then(mil_dtype);
                dtype.map(Some).ok_or_else(|| NodeError::Argument { name, what: format!("`{t}`") })
            }
            Some(other) => Err(wrong(name, other)),
        }
    }

    /// Was the tensor argument contiguous in memory when the program was exported?
    pub(crate) fn is_contiguous(&self, name: &str) -> bool {
        let Some(meta) = self.node.input(name).and_then(Argument::as_tensor).and_then(|v| self.graph.tensor(v)) else {
            return false;
        };
        let mut expected = Some(1i64);
        meta.sizes.iter().zip(&meta.strides).rev().all(|(size, stride)| {
            let fits = size.known() == Some(1) || (stride.known().is_some() && stride.known() == expected);
            expected = expected.and_then(|e| e.checked_mul(size.known()?));
            fits
        })
    }

    // ---- the result, as export recorded it ------------------------------------------------------------------

    fn result_meta(&self) -> Result<&'a crate::graph::TensorMeta> {
        let first = self.node.results().next();
        first.and_then(|v| self.graph.tensor(v)).ok_or_else(|| NodeError::unsupported("a result that is no tensor"))
    }

    /// The element type of the result.
    pub(crate) fn result_dtype(&self) -> Result<DType> {
        let t = self.result_meta()?.dtype;
        t.dtype().and_then(mil_dtype).ok_or_else(|| NodeError::unsupported(format!("a result of {t}")))
    }

    /// The extents of the result, all known.
    pub(crate) fn result_extents(&self) -> Result<Vec<i32>> {
        let sizes = &self.result_meta()?.sizes;
        let known = |s: &crate::sym::SymInt| {
            let n = s.known().and_then(|n| i32::try_from(n).ok());
            n.ok_or_else(|| NodeError::unsupported(format!("a result extent of {s}, not known before run time,")))
        };
        sizes.iter().map(known).collect()
    }

    // ---- element types --------------------------------------------------------------------------------------

    /// A number as a scalar constant of the value's element type.
    pub(crate) fn scalar_like(&self, v: ValueId, number: f64) -> Result<Const> {
        self.floats_like(v, &[], &[number])
    }

    /// Numbers as a constant of the value's element type.
    pub(crate) fn floats_like(&self, v: ValueId, shape: &[usize], numbers: &[f64]) -> Result<Const> {
        narrow(self.dtype(v)?, shape, numbers)
    }

    /// The least and greatest finite number of the value's float type.
    pub(crate) fn finite_range(&self, v: ValueId) -> Result<(f64, f64)> {
        let most = match self.dtype(v)? {
            DType::Fp16 => coremill_tensor::f16::MAX.to_f64(),
            _ => f64::from(f32::MAX),
        };
        Ok((-most, most))
    }

    /// The value in another element type.
    pub(crate) fn cast(&mut self, v: ValueId, to: DType, suffix: &str) -> Result<ValueId> {
        if self.dtype(v)? == to {
            return Ok(v);
        }
        Ok(self.inner(OpKind::Cast, suffix).input("x", v).literal("dtype", Const::string(to.name())).one()?)
    }

    /// The value as a float: itself, or an integer or boolean cast to `fp32`.
    pub(crate) fn as_float(&mut self, v: ValueId) -> Result<ValueId> {
        if self.dtype(v)?.is_float() { Ok(v) } else { self.cast(v, DType::Fp32, "float") }
    }

    /// The value as a number: itself, or a boolean cast to `int32`.
    pub(crate) fn as_number(&mut self, v: ValueId) -> Result<ValueId> {
        if self.dtype(v)? == DType::Bool { self.cast(v, DType::Int32, "int") } else { Ok(v) }
    }

    /// Two values in the element type that torch computes with.
    pub(crate) fn promote(&mut self, x: ValueId, y: ValueId) -> Result<(ValueId, ValueId)> {
        let to = self.common_dtype(&[x, y])?;
        Ok((self.cast(x, to, "x")?, self.cast(y, to, "y")?))
    }

    /// Values in the element type that torch computes with.
    pub(crate) fn promote_all(&mut self, vs: &[ValueId]) -> Result<Vec<ValueId>> {
        let to = self.common_dtype(vs)?;
        vs.iter().enumerate().map(|(i, &v)| self.cast(v, to, &i.to_string())).collect()
    }

    /// The element type of the highest kind (float over integer over boolean); within a kind a scalar gives way to
    /// tensors with axes, and the wider type wins.
    fn common_dtype(&self, vs: &[ValueId]) -> Result<DType> {
        let mut best: Option<(u8, bool, usize, DType)> = None;
        for &v in vs {
            let d = self.dtype(v)?;
            let kind = if d.is_float() { 2 } else { u8::from(d != DType::Bool) };
            let rank = (kind, self.shape(v)?.rank() > 0, d.bits(), d);
            best = best.max(Some(rank));
        }
        best.map(|b| b.3).ok_or_else(|| NodeError::unsupported("an empty list"))
    }

    /// Two operands, either of which may be a number, in the element type that torch computes with.
    pub(crate) fn operands(&mut self, x: &'static str, y: &'static str) -> Result<(ValueId, ValueId)> {
        let scalars = (self.number_operand(x)?, self.number_operand(y)?);
        match scalars {
            (None, None) => {
                let (x, y) = (self.value(x)?, self.value(y)?);
                self.promote(x, y)
            }
            (None, Some(number)) => {
                let x = self.value(x)?;
                self.beside(x, number, y)
            }
            (Some(number), None) => {
                let y = self.value(y)?;
                self.beside(y, number, x).map(|(y, x)| (x, y))
            }
            (Some(_), Some(_)) => Err(NodeError::unsupported("two numbers and no tensor")),
        }
    }

    fn number_operand(&self, name: &'static str) -> Result<Option<Scalar>> {
        match self.node.input(name) {
            Some(Argument::Tensor(_)) => Ok(None),
            None => Err(NodeError::Missing(name)),
            Some(_) => self.maybe_scalar(name),
        }
    }

    fn beside(&mut self, v: ValueId, number: Scalar, suffix: &str) -> Result<(ValueId, ValueId)> {
        let dtype = number.dtype_beside(self.dtype(v)?);
        let v = self.cast(v, dtype, "promoted")?;
        let constant = self.scalar_like(v, number.as_f64())?;
        Ok((v, self.constant(suffix, constant)))
    }
}

fn wrong(name: &'static str, arg: &Argument) -> NodeError {
    let what = match arg {
        Argument::SymInt(_) | Argument::SymInts(_) | Argument::SymFloat(_) | Argument::SymBool(_) => {
            "computed at run time".to_owned()
        }
        Argument::Unknown { kind, .. } => format!("of the kind `{kind}`, which is not known here"),
        other => format!("{other:?}").chars().take(80).collect(),
    };
    NodeError::Argument { name, what }
}
