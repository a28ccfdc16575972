//! Programs of any length, of the shapes that real ones have: for cost, not for meaning.

use coremill_mil::{Builder, Const, Function, OpKind, Opset, Place, Program, Type, ValueId};
use coremill_tensor::{DType, Data};

/// A family of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Each op reads the one before.
    Chain,
    /// One value with a user for every other op.
    FanOut,
    /// Transformer layers, decomposed as a front end gives them.
    Attention,
    /// Residual blocks of convolution, batch normalisation and activation.
    Residual,
}

/// All families.
pub(crate) const FAMILIES: [Family; 4] = [Family::Chain, Family::FanOut, Family::Attention, Family::Residual];

/// Extent of every axis that has a choice.
const WIDTH: usize = 4;

struct Maker<'f> {
    b: Builder<'f>,
    ops: usize,
    seed: u32,
}

impl Maker<'_> {
    /// An op of one result; `args` are values by parameter, `literals` constants.
    fn op(&mut self, kind: OpKind, args: &[(&'static str, ValueId)], literals: &[(&'static str, Const)]) -> ValueId {
        self.ops += 1;
        let mut op = self.b.op(kind).name(format!("v{}", self.ops));
        for &(name, v) in args {
            op = op.input(name, v);
        }
        for (name, c) in literals {
            op = op.literal(name, c.clone());
        }
        op.one().unwrap_or_else(|e| panic!("{kind}: {e}"))
    }

    fn unary(&mut self, kind: OpKind, x: ValueId) -> ValueId {
        self.op(kind, &[("x", x)], &[])
    }

    fn binary(&mut self, kind: OpKind, x: ValueId, y: ValueId) -> ValueId {
        self.op(kind, &[("x", x), ("y", y)], &[])
    }

    fn with(&mut self, kind: OpKind, x: ValueId, y: f32) -> ValueId {
        self.op(kind, &[("x", x)], &[("y", Const::fp32(y))])
    }

    /// A weight that no other one is equal to.
    fn weight(&mut self, shape: &[usize]) -> Const {
        self.seed += 1;
        let n = shape.iter().product::<usize>();
        let v: Vec<f32> = (0..n).map(|i| 0.01 * (i as f32 + 1.0) + 0.001 * (self.seed % 97) as f32).collect();
        Const::Tensor(Data::from_vec(shape, v))
    }

    fn linear(&mut self, x: ValueId) -> ValueId {
        let (weight, bias) = (self.weight(&[WIDTH, WIDTH]), self.weight(&[WIDTH]));
        self.op(OpKind::Linear, &[("x", x)], &[("weight", weight), ("bias", bias)])
    }

    fn reshape(&mut self, x: ValueId, shape: &[i32]) -> ValueId {
        self.op(OpKind::Reshape, &[("x", x)], &[("shape", Const::int32s(shape))])
    }

    fn transpose(&mut self, x: ValueId, perm: &[i32]) -> ValueId {
        self.op(OpKind::Transpose, &[("x", x)], &[("perm", Const::int32s(perm))])
    }

    fn mean(&mut self, x: ValueId) -> ValueId {
        let literals = [("axes", Const::int32s(&[-1])), ("keep_dims", Const::bool(true))];
        self.op(OpKind::ReduceMean, &[("x", x)], &literals)
    }

    fn norm(&mut self, x: ValueId) -> ValueId {
        let mean = self.mean(x);
        let centred = self.binary(OpKind::Sub, x, mean);
        let square = self.binary(OpKind::Mul, centred, centred);
        let variance = self.mean(square);
        let variance = self.with(OpKind::Add, variance, 1e-5);
        let root = self.op(OpKind::Rsqrt, &[("x", variance)], &[]);
        self.binary(OpKind::Mul, centred, root)
    }

    fn attention(&mut self, x: ValueId) -> ValueId {
        let n = self.norm(x);
        let heads: Vec<ValueId> = (0..3)
            .map(|_| {
                let p = self.linear(n);
                let p = self.reshape(p, &[1, 2, 2, 2]);
                self.transpose(p, &[0, 2, 1, 3])
            })
            .collect();
        let transposed = self.transpose(heads[1], &[0, 1, 3, 2]);
        let scores = self.binary(OpKind::Matmul, heads[0], transposed);
        let scores = self.with(OpKind::Mul, scores, 0.7);
        let weights = self.op(OpKind::Softmax, &[("x", scores)], &[("axis", Const::int32(-1))]);
        let mixed = self.binary(OpKind::Matmul, weights, heads[2]);
        let mixed = self.transpose(mixed, &[0, 2, 1, 3]);
        let mixed = self.reshape(mixed, &[1, 2, WIDTH as i32]);
        let out = self.linear(mixed);
        self.binary(OpKind::Add, x, out)
    }

    fn conv(&mut self, x: ValueId) -> ValueId {
        let weight = self.weight(&[WIDTH, WIDTH, 3, 3]);
        let literals = [("weight", weight), ("pad_type", Const::string("same"))];
        let y = self.op(OpKind::Conv, &[("x", x)], &literals);
        let parameter = |m: &mut Self| m.weight(&[WIDTH]);
        let (mean, variance) = (parameter(self), parameter(self));
        self.op(OpKind::BatchNorm, &[("x", y)], &[("mean", mean), ("variance", variance)])
    }

    fn residual(&mut self, x: ValueId) -> ValueId {
        let y = self.conv(x);
        let y = self.unary(OpKind::Relu, y);
        let y = self.conv(y);
        let y = self.binary(OpKind::Add, x, y);
        self.unary(OpKind::Relu, y)
    }

    fn chain(&mut self, x: ValueId) -> ValueId {
        let y = self.unary(OpKind::Sigmoid, x);
        let y = self.with(OpKind::Mul, y, 2.0);
        let y = self.transpose(y, &[0, 2, 1]);
        let y = self.with(OpKind::Add, y, 1.0);
        let y = self.transpose(y, &[0, 2, 1]);
        let y = self.reshape(y, &[2, WIDTH as i32]);
        let y = self.reshape(y, &[1, 2, WIDTH as i32]);
        self.unary(OpKind::Relu, y)
    }
}

/// A program of this family with at least `ops` ops, constants not counted.
pub(crate) fn generate(family: Family, ops: usize) -> Program {
    let mut f = Function::new(Opset::Ios17);
    let body = f.body();
    let shape: &[usize] = if family == Family::Residual { &[1, WIDTH, 6, 6] } else { &[1, 2, WIDTH] };
    let x = f.add_input(body, "x", Type::known(DType::Fp32, shape));
    let mut m = Maker { b: Builder::new(&mut f, Place::End(body)), ops: 0, seed: 0 };
    let mut y = x;
    while m.ops < ops {
        y = match family {
            Family::Chain => m.chain(y),
            Family::FanOut => {
                let branch = m.unary(OpKind::Sin, x);
                m.binary(OpKind::Add, y, branch)
            }
            Family::Attention => m.attention(y),
            Family::Residual => m.residual(y),
        };
    }
    f.set_outputs(vec![("y".to_owned(), y)]);
    let mut program = Program::default();
    program.functions.insert("main".to_owned(), f);
    program
}
