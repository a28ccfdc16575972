//! Ops that put tensors together and take them apart, element by element as they are.

use coremill_mil::{Const, OpKind, Type, infer};
use ndarray::Axis;

use super::movement::{Words, by_width, from_front, from_words, gather, part, pick, strides, view, words};
use super::{Family, one};
use crate::EvalError;
use crate::args::Args;

type Results = Result<Vec<Const>, EvalError>;

pub(super) const KERNELS: Family = &[
    (OpKind::BandPart, band_part),
    (OpKind::Flatten2d, flatten2d),
    (OpKind::Reverse, reverse),
    (OpKind::SliceBySize, slice_by_size),
    (OpKind::Split, split),
    (OpKind::Stack, stack),
];

fn outside(what: &str) -> EvalError {
    EvalError::bad(format!("`{what}` is outside the tensor"))
}

fn stack(args: &Args<'_, '_>) -> Results {
    let parts = args.list("values")?;
    let result = args.result()?;
    let axis = result.shape.axis(args.int("axis")?).ok_or_else(|| outside("axis"))?;
    by_width!(result.dtype, T => {
        let all: Vec<Words<T>> = parts.iter().map(|d| words(d)).collect();
        let views = parts.iter().zip(&all).map(|(d, w)| view(d.shape(), w)).collect::<Result<Vec<_>, _>>()?;
        let joined = ndarray::stack(Axis(axis), &views).map_err(|e| EvalError::bad(e.to_string()))?;
        one(gather(result.dtype, &joined.view())?)
    })
}

/// The parts have the shapes that type inference gives, one behind the other along the axis.
fn split(args: &Args<'_, '_>) -> Results {
    let x = args.data("x")?;
    let axis = from_front(args.int("axis")?, x.rank()).ok_or_else(|| outside("axis"))?;
    let mut begin = vec![0; x.rank()];
    let mut parts = Vec::new();
    for ty in infer(args.0)? {
        let shape = match ty {
            Type::Tensor(t) => t.shape.to_known(),
            _ => None,
        };
        let shape = shape.ok_or_else(|| EvalError::bad("the shape of a part is not known"))?;
        parts.push(Const::Tensor(part(x, &begin, &shape)?));
        begin[axis] += shape.get(axis).copied().unwrap_or(0);
    }
    Ok(parts)
}

/// A size of -1 goes to the end.
fn slice_by_size(args: &Args<'_, '_>) -> Results {
    let x = args.data("x")?;
    let (begin, size) = (args.ints("begin")?, args.ints("size")?);
    if begin.len() != x.rank() || size.len() != x.rank() {
        return Err(EvalError::bad("a list of another length than the rank"));
    }
    let mut from = Vec::with_capacity(x.rank());
    let mut shape = Vec::with_capacity(x.rank());
    for ((&b, &s), &n) in begin.iter().zip(&size).zip(x.shape()) {
        let b = from_front(b, n + 1).ok_or_else(|| outside("begin"))?;
        let whole = n - b;
        let s = if s == -1 { whole } else { usize::try_from(s).map_err(|_| outside("size"))? };
        from.push(b);
        shape.push(s);
    }
    one(part(x, &from, &shape)?)
}

fn reverse(args: &Args<'_, '_>) -> Results {
    let x = args.data("x")?;
    let axes = match args.0.is_given("axes") {
        true => args.ints("axes")?,
        false => (0..x.rank() as i64).collect(),
    };
    let axes = axes.into_iter().map(|a| from_front(a, x.rank()).ok_or_else(|| outside("axes")));
    let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
    let strides = strides(x.shape());
    one(pick(x, x.shape(), |index| {
        let place = |(d, &i): (usize, &usize)| if axes.contains(&d) { x.shape()[d] - 1 - i } else { i };
        Some(index.iter().enumerate().map(|at| place(at) * strides[at.0]).sum())
    })?)
}

fn flatten2d(args: &Args<'_, '_>) -> Results {
    let x = args.data("x")?;
    let shape = args.result_shape()?;
    one(x.reshaped(&shape).ok_or_else(|| EvalError::bad(format!("{:?} does not become {shape:?}", x.shape())))?)
}

/// Zero outside the band of the two innermost axes; a width of -1 is the whole triangle.
fn band_part(args: &Args<'_, '_>) -> Results {
    let x = args.data("x")?;
    let width = |name| if args.0.is_given(name) { args.int(name) } else { Ok(-1) };
    let (lower, upper) = (width("lower")?, width("upper")?);
    let [.., rows, columns] = x.shape() else { return Err(EvalError::bad("`x` has fewer than two dimensions")) };
    let (rows, columns) = (*rows, *columns);
    by_width!(x.dtype(), T => {
        let mut all = words::<T>(x).to_vec();
        for (i, w) in all.iter_mut().enumerate() {
            let (row, column) = ((i / columns % rows) as i64, (i % columns) as i64);
            let inside = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
            if !inside {
                // All bits zero is the number zero in every element type.
                *w = 0;
            }
        }
        one(from_words(x.dtype(), x.shape(), all)?)
    })
}

#[cfg(test)]
mod tests {
    use coremill_mil::{Arg, Const, OpArgs, OpKind, Opset};
    use coremill_tensor::Data;

    use crate::evaluate;

    fn run(kind: OpKind, given: &[(&'static str, Const)]) -> Vec<(Vec<usize>, Vec<f64>)> {
        let types: Vec<_> = given.iter().map(|(_, c)| c.ty()).collect();
        let mut args = OpArgs::new(kind, Opset::Ios17);
        for ((name, v), ty) in given.iter().zip(&types) {
            args.inputs.push((name, std::iter::once(Arg::new(ty, Some(v))).collect()));
        }
        let results = evaluate(&args).unwrap();
        results.iter().filter_map(Const::as_data).map(|d| (d.shape().to_vec(), d.to_f64s().unwrap())).collect()
    }

    fn matrix() -> Const {
        Const::Tensor(Data::from_vec(&[2, 3], vec![1f32, 2.0, 3.0, 4.0, 5.0, 6.0]))
    }

    #[test]
    fn parts_of_a_matrix() {
        let sizes = [("x", matrix()), ("split_sizes", Const::int32s(&[1, 2])), ("axis", Const::int32(-1))];
        let parts = run(OpKind::Split, &sizes);
        assert_eq!(parts, [(vec![2, 1], vec![1.0, 4.0]), (vec![2, 2], vec![2.0, 3.0, 5.0, 6.0])]);
        let slice = [("x", matrix()), ("begin", Const::int32s(&[1, 1])), ("size", Const::int32s(&[1, -1]))];
        assert_eq!(run(OpKind::SliceBySize, &slice), [(vec![1, 2], vec![5.0, 6.0])]);
        let back = run(OpKind::Reverse, &[("x", matrix()), ("axes", Const::int32s(&[1]))]);
        assert_eq!(back, [(vec![2, 3], vec![3.0, 2.0, 1.0, 6.0, 5.0, 4.0])]);
    }

    #[test]
    fn a_band_is_zero_outside() {
        let band = [("x", matrix()), ("lower", Const::int32(0)), ("upper", Const::int32(-1))];
        assert_eq!(run(OpKind::BandPart, &band)[0].1, [1.0, 2.0, 3.0, 0.0, 5.0, 6.0]);
        let band = [("x", matrix()), ("lower", Const::int32(-1)), ("upper", Const::int32(0))];
        assert_eq!(run(OpKind::BandPart, &band)[0].1, [1.0, 0.0, 0.0, 4.0, 5.0, 0.0]);
    }
}
