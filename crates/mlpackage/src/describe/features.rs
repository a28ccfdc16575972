//! The features of one function: what the description should say of each input, output and state.

use coremill_mil::{Function, OpKind, Type, ValueId};
use coremill_tensor::{DType, Dim, SymExpr};

use super::Describe;
use crate::proto::description::{self as proto, FeatureKind, array_dtype};

/// The features of a function.
pub(super) struct Features {
    pub(super) inputs: Vec<Feature>,
    pub(super) outputs: Vec<Feature>,
    pub(super) states: Vec<Feature>,
}

/// One feature.
pub(super) struct Feature {
    pub(super) name: String,
    /// Its type in the program.
    ty: Type,
    /// Its type in a description; `None` where there is none.
    kind: Option<FeatureKind>,
}

impl Features {
    pub(super) fn of(f: &Function, how: &Describe) -> Features {
        let (mut inputs, mut states) = (Vec::new(), Vec::new());
        for &v in f.inputs() {
            let (name, ty) = (f.value(v).name.clone(), f.ty(v).clone());
            match &ty {
                Type::State(inner) => {
                    let kind = state(inner);
                    states.push(Feature { name, ty, kind });
                }
                _ => {
                    let kind = input(&ty, how);
                    inputs.push(Feature { name, ty, kind });
                }
            }
        }
        let outputs = f.output_names().iter().zip(f.outputs()).map(|(name, v)| {
            let ty = f.ty(v).clone();
            Feature { name: name.clone(), kind: output(f, v, &ty), ty }
        });
        Features { outputs: outputs.collect(), inputs, states }
    }

    /// What no description can say, a sentence per feature.
    pub(super) fn problems(&self, function: &str) -> Vec<String> {
        let all = self.inputs.iter().chain(&self.outputs).chain(&self.states);
        all.filter_map(|f| f.problem(function)).collect()
    }

    pub(super) fn into_messages(
        self,
    ) -> (Vec<proto::FeatureDescription>, Vec<proto::FeatureDescription>, Vec<proto::FeatureDescription>) {
        let make = |v: Vec<Feature>| v.into_iter().map(|f| f.into_message(None)).collect();
        (make(self.inputs), make(self.outputs), make(self.states))
    }
}

impl Feature {
    pub(super) fn problem(&self, function: &str) -> Option<String> {
        self.kind.is_none().then(|| format!("`{}` of `{function}` is {}", self.name, self.ty))
    }

    pub(super) fn into_message(self, old: Option<&proto::FeatureDescription>) -> proto::FeatureDescription {
        proto::FeatureDescription {
            name: self.name,
            short_description: old.map(|o| o.short_description.clone()).unwrap_or_default(),
            r#type: Some(proto::FeatureType { is_optional: false, r#type: self.kind }),
        }
    }

    /// Does a file's description of the feature still hold? What this crate can't judge (images, sequences) is
    /// taken to hold: whoever wrote it knew more.
    pub(super) fn fits(&self, old: &proto::FeatureDescription) -> bool {
        let old = old.r#type.as_ref().and_then(|t| t.r#type.as_ref());
        match (&self.kind, old) {
            (None, Some(FeatureKind::MultiArray(_) | FeatureKind::State(_))) => false,
            (None, Some(_)) => true,
            (Some(FeatureKind::MultiArray(new)), Some(FeatureKind::MultiArray(old))) => array_fits(new, old),
            (Some(FeatureKind::State(new)), Some(FeatureKind::State(old))) => match (&new.r#type, &old.r#type) {
                (Some(proto::StateKind::Array(new)), Some(proto::StateKind::Array(old))) => array_fits(new, old),
                _ => false,
            },
            (Some(FeatureKind::MultiArray(_)), Some(FeatureKind::Image(_))) => self.ty.rank() == Some(4),
            (Some(FeatureKind::MultiArray(_)), Some(FeatureKind::Int64(_) | FeatureKind::Double(_))) => true,
            (Some(FeatureKind::Dictionary(_)), Some(FeatureKind::Dictionary(_))) => true,
            (
                Some(FeatureKind::Int64(_) | FeatureKind::String(_)),
                Some(FeatureKind::Int64(_) | FeatureKind::String(_)),
            ) => true,
            _ => false,
        }
    }
}

fn array_fits(new: &proto::ArrayFeatureType, old: &proto::ArrayFeatureType) -> bool {
    // A shape is left out where it varies or is a scalar's; a file that gives one anyway may be right.
    let shape = new.shape == old.shape
        || new.shape.is_empty()
        || old.shape.is_empty()
        || (new.flexibility.is_some() && new.shape.len() == old.shape.len());
    new.data_type == old.data_type && shape
}

fn array_code(dtype: DType) -> Option<i32> {
    Some(match dtype {
        DType::Fp32 => array_dtype::FLOAT32,
        DType::Fp16 => array_dtype::FLOAT16,
        DType::Int32 => array_dtype::INT32,
        DType::Int8 => array_dtype::INT8,
        _ => return None,
    })
}

fn input(ty: &Type, how: &Describe) -> Option<FeatureKind> {
    let t = ty.as_tensor()?;
    let data_type = array_code(t.dtype)?;
    if t.shape.is_known() {
        // A scalar is described as an array of one element.
        let mut shape = t.shape.iter().map(|d| i64::try_from(d.known()?).ok()).collect::<Option<Vec<i64>>>()?;
        if shape.is_empty() {
            shape.push(1);
        }
        return Some(FeatureKind::MultiArray(proto::ArrayFeatureType { shape, data_type, flexibility: None }));
    }
    let (mut shape, mut size_ranges) = (Vec::new(), Vec::new());
    for d in &t.shape {
        let (low, high, default) = range(d, how);
        shape.push(i64::try_from(default).ok()?);
        let upper_bound = high.map_or(Some(-1), |h| i64::try_from(h).ok())?;
        size_ranges.push(proto::SizeRange { lower_bound: low, upper_bound });
    }
    let flexibility = Some(proto::ShapeFlexibility::Range(proto::ShapeRange { size_ranges }));
    Some(FeatureKind::MultiArray(proto::ArrayFeatureType { shape, data_type, flexibility }))
}

/// Least, greatest and default value of an extent.
fn range(d: &Dim, how: &Describe) -> (u64, Option<u64>, u64) {
    match d {
        Dim::Known(n) => (*n, Some(*n), *n),
        Dim::Unknown => (1, None, 1),
        Dim::Sym(e) => {
            let low_of = |s: &str| how.ranges.get(s).map_or(1, |r| r.0);
            let default_of = |s: &str| how.defaults.get(s).copied().unwrap_or_else(|| low_of(s));
            // Extents of inputs are symbols, or grow with them; both ends are then where the symbols' are.
            let low = eval(e, &|s| Some(low_of(s))).unwrap_or(1);
            let high = eval(e, &|s| how.ranges.get(s).and_then(|r| r.1));
            let default = eval(e, &|s| Some(default_of(s))).unwrap_or(low);
            (low, high, default)
        }
    }
}

fn eval(e: &SymExpr, bind: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
    e.eval(&|s| bind(s).and_then(|n| i64::try_from(n).ok())).and_then(|n| u64::try_from(n).ok())
}

fn state(inner: &Type) -> Option<FeatureKind> {
    let t = inner.as_tensor().filter(|t| t.dtype == DType::Fp16)?;
    let shape = t.shape.iter().map(|d| i64::try_from(d.known()?).ok()).collect::<Option<Vec<i64>>>()?;
    let array = proto::ArrayFeatureType { shape, data_type: array_code(t.dtype)?, flexibility: None };
    Some(FeatureKind::State(proto::StateFeatureType { r#type: Some(proto::StateKind::Array(array)) }))
}

/// Which output of a `classify` op the value is.
pub(super) fn classify_output(f: &Function, v: ValueId) -> Option<usize> {
    let op = f.producer_of(v, OpKind::Classify)?;
    f.op(op).outputs().iter().position(|&o| o == v)
}

fn output(f: &Function, v: ValueId, ty: &Type) -> Option<FeatureKind> {
    let empty = proto::Empty {};
    match ty {
        Type::Dict(kv) => {
            let key = match kv.0.dtype()? {
                DType::String => proto::KeyKind::String(empty),
                DType::Int64 => proto::KeyKind::Int64(empty),
                _ => return None,
            };
            Some(FeatureKind::Dictionary(proto::DictionaryFeatureType { key: Some(key) }))
        }
        Type::Tensor(t) if t.dtype == DType::String => Some(FeatureKind::String(empty)),
        Type::Tensor(t) if t.dtype == DType::Int64 && classify_output(f, v) == Some(0) => {
            Some(FeatureKind::Int64(empty))
        }
        _ => {
            let data_type = array_code(ty.dtype()?)?;
            // An output's shape is left out where it varies.
            let known = |d: &Dim| i64::try_from(d.known()?).ok();
            let shape = ty.shape().and_then(|s| s.iter().map(known).collect::<Option<Vec<i64>>>());
            let array = proto::ArrayFeatureType { shape: shape.unwrap_or_default(), data_type, flexibility: None };
            Some(FeatureKind::MultiArray(array))
        }
    }
}
