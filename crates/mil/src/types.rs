//! The types of values.

use std::fmt;

use coremill_tensor::{DType, Dim, Shape};

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A tensor of known rank.
    Tensor(TensorType),
    /// A tensor whose rank is not known.
    Unranked(DType),
    /// A list of values of one type (`list<tensor<...>, n>`); `None` when the length is not known.
    List(Box<Type>, Option<u64>),
    /// A tuple.
    Tuple(Vec<Type>),
    /// A dictionary: key type, value type.
    Dict(Box<(Type, Type)>),
    /// A handle of state that outlives a call, holding a value of this type.
    State(Box<Type>),
}

/// Element type and shape of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// Element type.
    pub dtype: DType,
    /// Extents, outermost first.
    pub shape: Shape,
}

impl TensorType {
    /// A tensor type.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> TensorType {
        TensorType { dtype, shape: shape.into() }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }
}

impl Type {
    /// A tensor type.
    pub fn tensor(dtype: DType, shape: impl Into<Shape>) -> Type {
        Type::Tensor(TensorType::new(dtype, shape))
    }

    /// A tensor type of known extents.
    pub fn known(dtype: DType, dims: &[usize]) -> Type {
        Type::Tensor(TensorType { dtype, shape: Shape::of(dims) })
    }

    /// The type of a scalar.
    pub fn scalar(dtype: DType) -> Type {
        Type::tensor(dtype, Shape::scalar())
    }

    /// The tensor type, for a tensor of known rank.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Element type of a tensor, ranked or not.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Type::Tensor(t) => Some(t.dtype),
            Type::Unranked(d) => Some(*d),
            _ => None,
        }
    }

    /// Shape of a tensor of known rank.
    pub fn shape(&self) -> Option<&Shape> {
        self.as_tensor().map(|t| &t.shape)
    }

    /// Rank of a tensor of known rank.
    pub fn rank(&self) -> Option<usize> {
        self.as_tensor().map(TensorType::rank)
    }

    /// The type a state holds.
    pub fn state_inner(&self) -> Option<&Type> {
        match self {
            Type::State(t) => Some(t),
            _ => None,
        }
    }

    /// Could a value of one type be of the other, for all that is known of their extents?
    pub fn compatible(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Tensor(a), Type::Tensor(b)) => a.dtype == b.dtype && a.shape.compatible(&b.shape),
            (Type::Unranked(d), t) | (t, Type::Unranked(d)) => t.dtype() == Some(*d),
            (Type::List(a, n), Type::List(b, m)) => a.compatible(b) && (n == m || n.is_none() || m.is_none()),
            (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.compatible(b)),
            (Type::Dict(a), Type::Dict(b)) => a.0.compatible(&b.0) && a.1.compatible(&b.1),
            (Type::State(a), Type::State(b)) => a.compatible(b),
            _ => false,
        }
    }

    /// The type in the spelling without a scalar's brackets when `terse` (`int32` for `tensor<int32, []>`),
    /// which is how `program(1.3)` writes scalars.
    pub fn display(&self, terse: bool) -> impl fmt::Display + '_ {
        DisplayType { ty: self, terse }
    }
}

struct DisplayType<'a> {
    ty: &'a Type,
    terse: bool,
}

impl fmt::Display for DisplayType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |ty| DisplayType { ty, terse: self.terse };
        match self.ty {
            Type::Tensor(t) if self.terse && t.rank() == 0 => write!(f, "{}", t.dtype),
            Type::Tensor(t) => {
                write!(f, "tensor<{}, [", t.dtype)?;
                for (i, d) in t.shape.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    match d {
                        Dim::Known(n) => write!(f, "{comma}{n}")?,
                        // MIL text has no spelling for a symbol; it is an extension of ours that our parser reads.
                        Dim::Sym(e) => write!(f, "{comma}{e}")?,
                        Dim::Unknown => write!(f, "{comma}?")?,
                    }
                }
                f.write_str("]>")
            }
            Type::Unranked(d) => write!(f, "tensor<{d}, ?>"),
            Type::List(t, Some(n)) => write!(f, "list<{}, {n}>", show(t)),
            Type::List(t, None) => write!(f, "list<{}, ?>", show(t)),
            Type::Tuple(ts) => {
                f.write_str("tuple<")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { ", " } else { "" }, show(t))?;
                }
                f.write_str(">")
            }
            Type::Dict(kv) => write!(f, "dict<{}, {}>", show(&kv.0), show(&kv.1)),
            Type::State(t) => write!(f, "state<{}>", show(t)),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.display(false), f)
    }
}
