//! The arguments of a kernel.

use coremill_mil::{Const, OpArgs, TensorType, Type, infer};
use coremill_tensor::Data;

use crate::EvalError;

/// The arguments of a kernel, with accessors that say what is missing.
pub(crate) struct Args<'o, 'a>(pub(crate) &'o OpArgs<'a>);

/// The most elements of a result that has more than all the arguments together: 32 Mi.
const MAX_GROWN: usize = 1 << 25;

impl<'a> Args<'_, 'a> {
    /// Refuses a huge result that is made of little, before anything is allocated for it.
    pub(crate) fn check_growth(&self) -> Result<(), EvalError> {
        // What is computed at run time makes no result at all, and needs no look at its type.
        if self.0.inputs.iter().flat_map(|(_, a)| a).any(|a| a.value.is_none()) {
            return Ok(());
        }
        let Ok(shape) = self.result_shape() else { return Ok(()) };
        let made = shape.iter().fold(1usize, |n, &d| n.saturating_mul(d));
        if made <= MAX_GROWN {
            return Ok(());
        }
        let given = self
            .0
            .inputs
            .iter()
            .flat_map(|(_, a)| a)
            .filter_map(|a| a.value?.as_data())
            .map(Data::len)
            .fold(0, usize::saturating_add);
        if made <= given { Ok(()) } else { Err(EvalError::bad(format!("{made} elements are too many"))) }
    }

    /// The value of a required argument.
    pub(crate) fn value(&self, name: &'static str) -> Result<&'a Const, EvalError> {
        if !self.0.is_given(name) {
            return Err(EvalError::bad(format!("`{name}` is not given")));
        }
        self.0.value(name).ok_or(EvalError::NotConstant(name))
    }

    /// The tensor of a required argument.
    pub(crate) fn data(&self, name: &'static str) -> Result<&'a Data, EvalError> {
        let value = self.value(name)?;
        value.as_data().ok_or_else(|| EvalError::bad(format!("`{name}` is no tensor of numbers")))
    }

    /// The tensors of a list argument.
    pub(crate) fn list(&self, name: &'static str) -> Result<Vec<&'a Data>, EvalError> {
        let all = self.0.all(name).iter();
        all.map(|a| a.value.ok_or(EvalError::NotConstant(name))?.as_data().ok_or_else(|| EvalError::bad("no numbers")))
            .collect()
    }

    /// Integers of a required argument.
    pub(crate) fn ints(&self, name: &'static str) -> Result<Vec<i64>, EvalError> {
        self.data(name)?.to_i64s().ok_or_else(|| EvalError::bad(format!("`{name}` are no integers")))
    }

    /// One integer of a required argument.
    pub(crate) fn int(&self, name: &'static str) -> Result<i64, EvalError> {
        self.data(name)?.scalar_i64().ok_or_else(|| EvalError::bad(format!("`{name}` is no integer")))
    }

    /// A boolean, or `default` when it is not given.
    pub(crate) fn bool_or(&self, name: &'static str, default: bool) -> Result<bool, EvalError> {
        if !self.0.is_given(name) {
            return Ok(default);
        }
        self.value(name)?.as_bool().ok_or_else(|| EvalError::bad(format!("`{name}` is no boolean")))
    }

    /// One number, or `default` when it is not given.
    pub(crate) fn number_or(&self, name: &'static str, default: f64) -> Result<f64, EvalError> {
        if !self.0.is_given(name) {
            return Ok(default);
        }
        self.value(name)?.as_f64().ok_or_else(|| EvalError::bad(format!("`{name}` is no number")))
    }

    /// A text of a required argument.
    pub(crate) fn text(&self, name: &'static str) -> Result<&'a str, EvalError> {
        self.value(name)?.as_str().ok_or_else(|| EvalError::bad(format!("`{name}` is no text")))
    }

    /// The type of the only result.
    pub(crate) fn result(&self) -> Result<TensorType, EvalError> {
        match infer(self.0)?.as_slice() {
            [Type::Tensor(t)] => Ok(t.clone()),
            _ => Err(EvalError::bad("the result is not one tensor")),
        }
    }

    /// Element type and extents of the only result.
    pub(crate) fn result_shape(&self) -> Result<Vec<usize>, EvalError> {
        let t = self.result()?;
        t.shape.to_known().ok_or_else(|| EvalError::bad(format!("the result's shape {} is not known", t.shape)))
    }
}
