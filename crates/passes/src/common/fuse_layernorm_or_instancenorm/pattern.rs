//! Recognising the parts of a normalisation. It only reads.

use coremill_mil::{Const, Function, OpId, OpKind, Use, ValueId};
use coremill_tensor::{DType, Data};

use super::super::fuse_reduce_mean::{count_along, is_reciprocal};
use crate::matching::{const_ints, operand_beside, scalar};

/// How the affine part stands to the normalised one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `n * gamma + beta`.
    Affine,
    /// `(n + beta) * gamma`.
    ScaledShift,
    /// `n` over the channels.
    Plain,
    /// `n` over the spatial axes.
    PerInstance,
}

/// A normalisation found.
pub(super) struct Norm<'a> {
    /// What is normalised.
    pub x: ValueId,
    pub rank: usize,
    pub dtype: DType,
    /// As the means give them.
    pub axes: Vec<i64>,
    pub epsilon: f64,
    pub gamma: Option<&'a Data>,
    pub beta: Option<&'a Data>,
    pub form: Form,
    /// The last op, which gives the result.
    pub end: OpId,
    /// The other ops, makers before users.
    pub inside: Vec<OpId>,
}

/// The normalisation that begins with this reduction.
pub(super) fn find_norm(f: &Function, mean: OpId) -> Option<Norm<'_>> {
    let x = f.op(mean).arg("x")?;
    let ty = f.ty(x).as_tensor().filter(|t| t.dtype.is_float())?;
    let axes = kept_axes(f, mean)?;
    let start = Start { f, x, mean, rank: ty.rank(), dtype: ty.dtype, axes };
    let found = match f.kind(mean) {
        OpKind::ReduceSum => start.by_sums(),
        _ => start
            .affine()
            .or_else(|| start.divided())
            .or_else(|| start.negated_mean())
            .or_else(|| start.over_channels()),
    }?;
    is_closed(f, &found).then_some(found)
}

/// The axes of a reduction that keeps them.
fn kept_axes(f: &Function, op: OpId) -> Option<Vec<i64>> {
    let keeps = f.const_arg(op, "keep_dims").and_then(Const::as_bool)?;
    const_ints(f, op, "axes").filter(|a| keeps && !a.is_empty())
}

/// Is nothing inside used outside, and all in one block?
fn is_closed(f: &Function, norm: &Norm<'_>) -> bool {
    let block = f.block_of(norm.end);
    norm.inside.iter().all(|&op| {
        let inside = |u: &Use| match u {
            Use::Op { op, .. } => *op == norm.end || norm.inside.contains(op),
            Use::Output { .. } => false,
        };
        f.block_of(op) == block && f.value(f.op(op).output()).uses().iter().all(inside)
    })
}

/// The users of `v` of this kind: few, or none is looked for.
fn users(f: &Function, v: ValueId, kind: OpKind) -> Vec<OpId> {
    const FEW: usize = 16;
    if f.value(v).uses().len() > FEW {
        Vec::new()
    } else {
        f.users(v).into_iter().filter(|&u| f.kind(u) == kind).collect()
    }
}

/// The only user of `v`, when it is of this kind.
fn next(f: &Function, v: ValueId, kind: OpKind) -> Option<OpId> {
    f.only_user(v).filter(|&u| f.kind(u) == kind)
}

fn constant(f: &Function, v: ValueId) -> Option<&Data> {
    f.const_value(v)?.as_data()
}

/// A mean, and what is known of it.
struct Start<'a> {
    f: &'a Function,
    x: ValueId,
    mean: OpId,
    rank: usize,
    dtype: DType,
    axes: Vec<i64>,
}

impl<'a> Start<'a> {
    fn out(&self, op: OpId) -> ValueId {
        self.f.op(op).output()
    }

    fn norm(&self, epsilon: f64, form: Form, end: OpId, inside: Vec<OpId>) -> Norm<'a> {
        let (x, rank, dtype, axes) = (self.x, self.rank, self.dtype, self.axes.clone());
        Norm { x, rank, dtype, axes, epsilon, gamma: None, beta: None, form, end, inside }
    }

    /// `x - mean`: all of them.
    fn centred(&self) -> Vec<OpId> {
        let f = self.f;
        let is_centred =
            |&op: &OpId| f.op(op).arg("x") == Some(self.x) && f.op(op).arg("y") == Some(self.out(self.mean));
        users(f, self.out(self.mean), OpKind::Sub).into_iter().filter(is_centred).collect()
    }

    /// The square of `v`.
    fn square(&self, v: ValueId) -> Option<OpId> {
        let product = |&op: &OpId| self.f.op(op).arg("x") == Some(v) && self.f.op(op).arg("y") == Some(v);
        let square = users(self.f, v, OpKind::Square).into_iter().next();
        square.or_else(|| users(self.f, v, OpKind::Mul).into_iter().find(product))
    }

    /// `mean(square) + epsilon`: the mean, the sum, epsilon.
    fn variance(&self, square: OpId) -> Option<(OpId, OpId, f64)> {
        let mean = next(self.f, self.out(square), OpKind::ReduceMean)?;
        let same_axes = kept_axes(self.f, mean)? == self.axes;
        let (sum, epsilon) = self.plus_epsilon(mean).filter(|_| same_axes)?;
        Some((mean, sum, epsilon))
    }

    fn plus_epsilon(&self, variance: OpId) -> Option<(OpId, f64)> {
        let sum = next(self.f, self.out(variance), OpKind::Add)?;
        let epsilon = operand_beside(self.f, sum, self.out(variance))?;
        let is_scalar = self.f.ty(epsilon).rank() == Some(0);
        Some((sum, scalar(self.f, epsilon).filter(|&e| is_scalar && e >= 0.0)?))
    }

    /// `rsqrt` without an epsilon of its own that matters.
    fn rsqrt(&self, v: ValueId) -> Option<OpId> {
        let op = next(self.f, v, OpKind::Rsqrt)?;
        let own = self.f.op(op).arg("epsilon").map_or(Some(0.0), |e| scalar(self.f, e))?;
        (own <= 1e-10).then_some(op)
    }

    /// `gamma * r`, then `x * (gamma * r) + (beta - mean * (gamma * r))`.
    fn affine_tail(&self, mean: ValueId, r: OpId, epsilon: f64, mut inside: Vec<OpId>) -> Option<Norm<'a>> {
        let f = self.f;
        let scale = next(f, self.out(r), OpKind::Mul)?;
        let gamma = constant(f, operand_beside(f, scale, self.out(r))?)?;
        let products = users(f, self.out(scale), OpKind::Mul);
        let product_with = |v| products.iter().copied().find(|&p| operand_beside(f, p, self.out(scale)) == Some(v));
        let (scaled, shift) = (product_with(self.x)?, product_with(mean)?);
        let rest = next(f, self.out(shift), OpKind::Sub)?;
        let beta = constant(f, f.op(rest).arg("x")?)?;
        let end = next(f, self.out(rest), OpKind::Add)?;
        let fits = f.op(rest).arg("y") == Some(self.out(shift))
            && operand_beside(f, end, self.out(rest)) == Some(self.out(scaled));
        inside.extend([r, scale, scaled, shift, rest]);
        let norm = self.norm(epsilon, Form::Affine, end, inside);
        fits.then_some(Norm { gamma: Some(gamma), beta: Some(beta), ..norm })
    }

    fn affine(&self) -> Option<Norm<'a>> {
        let [centred] = self.centred()[..] else { return None };
        let square = self.square(self.out(centred))?;
        let (variance, sum, epsilon) = self.variance(square)?;
        let r = self.rsqrt(self.out(sum))?;
        self.affine_tail(self.out(self.mean), r, epsilon, vec![self.mean, centred, square, variance, sum])
    }

    fn divided(&self) -> Option<Norm<'a>> {
        let f = self.f;
        let centred = self.centred();
        let (a, square) = centred.iter().find_map(|&c| Some((c, self.square(self.out(c))?)))?;
        let (variance, sum, epsilon) = self.variance(square)?;
        let root = match next(f, self.out(sum), OpKind::Pow) {
            Some(pow) if f.op(pow).arg("x") == Some(self.out(sum)) && scalar(f, f.op(pow).arg("y")?) == Some(0.5) => {
                pow
            }
            _ => return None,
        };
        let quotient = next(f, self.out(root), OpKind::RealDiv)?;
        let numerator = centred.iter().copied().find(|&c| f.op(quotient).arg("x") == Some(self.out(c)))?;
        let scale = next(f, self.out(quotient), OpKind::Mul)?;
        let gamma = constant(f, operand_beside(f, scale, self.out(quotient))?)?;
        let end = next(f, self.out(scale), OpKind::Add)?;
        let beta = constant(f, operand_beside(f, end, self.out(scale))?)?;
        let mut inside = vec![self.mean, a, numerator, square, variance, sum, root, quotient, scale];
        inside.dedup();
        let fits = f.op(quotient).arg("y") == Some(self.out(root));
        let norm = self.norm(epsilon, Form::Affine, end, inside);
        fits.then_some(Norm { gamma: Some(gamma), beta: Some(beta), ..norm })
    }

    fn negated_mean(&self) -> Option<Norm<'a>> {
        let f = self.f;
        let [centred] = self.centred()[..] else { return None };
        let square = self.square(self.out(centred))?;
        let (variance, sum, epsilon) = self.variance(square)?;
        let r = self.rsqrt(self.out(sum))?;
        let products = users(f, self.out(r), OpKind::Mul);
        let product_with = |v| products.iter().copied().find(|&p| operand_beside(f, p, self.out(r)) == Some(v));
        let (scaled, shift) = (product_with(self.x)?, product_with(self.out(self.mean))?);
        let negated = next(f, self.out(shift), OpKind::Mul)?;
        let minus_one = scalar(f, operand_beside(f, negated, self.out(shift))?)? == -1.0;
        let end = next(f, self.out(negated), OpKind::Add)?;
        let fits = minus_one && operand_beside(f, end, self.out(negated)) == Some(self.out(scaled));
        let inside = vec![self.mean, centred, square, variance, sum, r, scaled, shift, negated];
        fits.then(|| self.norm(epsilon, Form::PerInstance, end, inside))
    }

    fn over_channels(&self) -> Option<Norm<'a>> {
        let f = self.f;
        if self.rank != 4 || self.axes != [1] {
            return None;
        }
        let [centred] = self.centred()[..] else { return None };
        let square = self.square(self.out(centred))?;
        let (variance, sum, epsilon) = self.variance(square)?;
        let r = self.rsqrt(self.out(sum))?;
        let product = next(f, self.out(r), OpKind::Mul)?;
        let mut inside = vec![self.mean, centred, square, variance, sum, r];
        if operand_beside(f, product, self.out(r)) != Some(self.out(centred)) {
            return None;
        }
        // What adds a constant next is taken for beta: without a gamma behind it, it is some other sum.
        let add = users(f, self.out(product), OpKind::Add).into_iter().next();
        let Some(add) = add else { return Some(self.norm(epsilon, Form::Plain, product, inside)) };
        let end = next(f, self.out(add), OpKind::Mul)?;
        let beta = constant(f, operand_beside(f, add, self.out(product))?)?;
        let gamma = constant(f, operand_beside(f, end, self.out(add))?)?;
        inside.extend([product, add]);
        let norm = self.norm(epsilon, Form::ScaledShift, end, inside);
        Some(Norm { gamma: Some(gamma), beta: Some(beta), ..norm })
    }

    /// The reduction is a sum: `mean = sum(x) / n`, `variance = sum(x^2) / n - mean^2`.
    fn by_sums(&self) -> Option<Norm<'a>> {
        let f = self.f;
        let count = count_along(f, self.mean)?;
        let divided = |sum: OpId| {
            let op = next(f, self.out(sum), OpKind::Mul)?;
            let factor = scalar(f, operand_beside(f, op, self.out(sum))?)?;
            is_reciprocal(factor, count, self.dtype).then_some(op)
        };
        let mean = divided(self.mean)?;
        let mean_square = self.square(self.out(mean))?;
        let square = self.square(self.x)?;
        let sum = next(f, self.out(square), OpKind::ReduceSum)?;
        let square_mean = divided(sum).filter(|_| kept_axes(f, sum).as_ref() == Some(&self.axes))?;
        let variance = next(f, self.out(square_mean), OpKind::Sub)?;
        let fits = f.op(variance).arg("x") == Some(self.out(square_mean))
            && f.op(variance).arg("y") == Some(self.out(mean_square));
        let (plus, epsilon) = self.plus_epsilon(variance).filter(|_| fits)?;
        let r = self.rsqrt(self.out(plus))?;
        let inside = vec![self.mean, mean, mean_square, square, sum, square_mean, variance, plus];
        self.affine_tail(self.out(mean), r, epsilon, inside)
    }
}
