//! Random valid programs of ops that the evaluator can run, out of a seed.

use coremill_mil::{Builder, Const, Function, NewOp, OpKind, Opset, Place, Program, Type, ValueId};
use coremill_tensor::{DType, Data};

/// SplitMix64: the same numbers from the same seed everywhere.
pub(crate) struct Rng(pub u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Names that want sanitizing, and names that several values wish for.
const NAMES: &[&str] = &["x", "y", "a b", "1st", "layer/0.w", "y_0", "out-put", "while_loop"];

struct Maker<'f> {
    b: Builder<'f>,
    rng: Rng,
    /// Float values that may be used.
    pool: Vec<ValueId>,
}

impl Maker<'_> {
    fn value(&mut self) -> ValueId {
        // Mostly a recent one, so that patterns of several ops come about.
        let n = self.pool.len();
        let back = if self.rng.below(3) == 0 { n } else { n.min(3) };
        self.pool[n - 1 - self.rng.below(back)]
    }

    fn shape(&self, v: ValueId) -> Vec<usize> {
        self.b.f.ty(v).shape().and_then(|s| s.to_known()).unwrap_or_default()
    }

    /// Half of a small whole number: sums and products of such come out the same in any order, nearly.
    fn number(&mut self) -> f32 {
        self.rng.below(9) as f32 * 0.5 - 2.0
    }

    fn tensor(&mut self, shape: &[usize]) -> Const {
        let v: Vec<f32> = (0..shape.iter().product::<usize>()).map(|_| self.number()).collect();
        Const::Tensor(Data::from_vec(shape, v))
    }

    /// An op on `x`; nothing where it does not take such an `x`.
    fn op(&mut self, kind: OpKind, x: ValueId, literals: Vec<(&'static str, Const)>) -> Option<ValueId> {
        let name = self.rng.pick(NAMES);
        let mut op = self.b.op(kind).name(name).input("x", x);
        for (name, c) in literals {
            op = op.literal(name, c);
        }
        op.one().ok()
    }

    fn unary(&mut self, x: ValueId) -> Option<ValueId> {
        use OpKind::{Abs, Ceil, Floor, Identity, Relu, Relu6, Sigmoid, Sin, Square, Tanh};
        let kind = self.rng.pick(&[Relu, Relu, Sigmoid, Tanh, Sin, Abs, Square, Identity, Floor, Ceil, Relu6]);
        self.op(kind, x, vec![])
    }

    fn binary(&mut self, x: ValueId) -> Option<ValueId> {
        use OpKind::{Add, Maximum, Minimum, Mul, Sub};
        let kind = self.rng.pick(&[Add, Add, Sub, Mul, Mul, Maximum, Minimum]);
        let shape = self.shape(x);
        let other = match self.rng.below(5) {
            0 => Const::fp32(self.number()),
            1 => Const::fp32(self.rng.pick(&[0.0, 1.0])),
            2 => self.tensor(&shape),
            3 => {
                // One number per entry of some axis, as biases and scales have it; or a column that grows the result.
                let axis = self.rng.below(shape.len());
                let ones: Vec<usize> = shape.iter().enumerate().map(|(i, &d)| if i == axis { d } else { 1 }).collect();
                self.tensor(&ones)
            }
            _ => {
                let other = self.value();
                let name = self.rng.pick(NAMES);
                return self.b.op(kind).name(name).input("x", x).input("y", other).one().ok();
            }
        };
        if self.rng.below(4) == 0 {
            let name = self.rng.pick(NAMES);
            return self.b.op(kind).name(name).literal("x", other).input("y", x).one().ok();
        }
        self.op(kind, x, vec![("y", other)])
    }

    fn special(&mut self, x: ValueId) -> Option<ValueId> {
        match self.rng.below(6) {
            0 => self.op(OpKind::RealDiv, x, vec![("y", Const::fp32(4.0))]),
            1 => self.op(OpKind::Pow, x, vec![("y", Const::fp32(2.0))]),
            2 => self.op(OpKind::Clip, x, vec![("alpha", Const::fp32(-1.0)), ("beta", Const::fp32(1.5))]),
            3 => self.op(OpKind::Softmax, x, vec![("axis", Const::int32(-1))]),
            4 => {
                let whole = self.op(OpKind::Cast, x, vec![("dtype", Const::string("int32"))])?;
                self.op(OpKind::Cast, whole, vec![("dtype", Const::string("fp32"))])
            }
            _ => {
                let slope = self.op(OpKind::Mul, x, vec![("y", Const::fp32(0.5))])?;
                self.b.op(OpKind::Maximum).name("lrelu").input("x", slope).input("y", x).one().ok()
            }
        }
    }

    fn movement(&mut self, x: ValueId) -> Option<ValueId> {
        let shape = self.shape(x);
        let rank = shape.len();
        let axis = self.rng.below(rank) as i32;
        match self.rng.below(6) {
            0 | 1 => {
                let mut perm: Vec<i32> = (0..rank as i32).collect();
                for i in (1..rank).rev() {
                    perm.swap(i, self.rng.below(i + 1));
                }
                self.op(OpKind::Transpose, x, vec![("perm", Const::int32s(&perm))])
            }
            2 => {
                let n = shape.iter().product::<usize>();
                let first = (1..=n).filter(|d| n % d == 0).nth(self.rng.below(3)).unwrap_or(1);
                let to = [first as i32, (n / first) as i32];
                self.op(OpKind::Reshape, x, vec![("shape", Const::int32s(&to))])
            }
            3 if rank < 4 => self.op(OpKind::ExpandDims, x, vec![("axes", Const::int32s(&[axis]))]),
            4 if shape.contains(&1) && rank > 1 => {
                let at = shape.iter().position(|&d| d == 1).unwrap_or(0) as i32;
                self.op(OpKind::Squeeze, x, vec![("axes", Const::int32s(&[at]))])
            }
            _ => {
                let kind = self.rng.pick(&[OpKind::ReduceMean, OpKind::ReduceSum, OpKind::ReduceMax]);
                let keep = self.rng.below(2) == 0 || rank == 1;
                self.op(kind, x, vec![("axes", Const::int32s(&[axis])), ("keep_dims", Const::bool(keep))])
            }
        }
    }

    fn weighted(&mut self, x: ValueId) -> Option<ValueId> {
        let shape = self.shape(x);
        let last = *shape.last()?;
        match self.rng.below(3) {
            0 => {
                let weight = self.tensor(&[last, 2]);
                self.op(OpKind::Matmul, x, vec![("y", weight)])
            }
            1 => {
                let (weight, bias) = (self.tensor(&[3, last]), self.tensor(&[3]));
                self.op(OpKind::Linear, x, vec![("weight", weight), ("bias", bias)])
            }
            _ if shape.len() == 4 => {
                let weight = self.tensor(&[2, shape[1], 1, 1]);
                self.op(OpKind::Conv, x, vec![("weight", weight)])
            }
            _ => None,
        }
    }

    fn joined(&mut self, x: ValueId) -> Option<ValueId> {
        let shape = self.shape(x);
        let others: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.shape(v) == shape).collect();
        let other = self.rng.pick(&others);
        let axis = Const::int32(self.rng.below(shape.len()) as i32);
        let kind = if self.rng.below(2) == 0 && shape.len() < 4 { OpKind::Stack } else { OpKind::Concat };
        let mut op = self.b.op(kind).name("joined").list("values", &[x, other]).literal("axis", axis);
        if kind == OpKind::Concat {
            op = op.literal("interleave", Const::bool(false));
        }
        op.one().ok()
    }

    /// A choice between two computations in nested blocks.
    fn choice(&mut self, x: ValueId, pred: ValueId) -> Option<ValueId> {
        let place = self.b.place();
        let ty = self.b.f.ty(x).clone();
        let Place::End(body) = place else { return None };
        let op = self.b.f.insert(Place::End(body), NewOp::new(OpKind::Cond).input("pred", pred).output("chosen", ty));
        for _ in 0..2 {
            let block = self.b.f.add_block(op);
            self.b.set_place(Place::End(block));
            let inner = self.op(OpKind::Relu, x, vec![])?;
            let inner = self.op(OpKind::Mul, inner, vec![("y", Const::fp32(1.0))])?;
            let inner = self.op(OpKind::Add, inner, vec![("y", Const::fp32(0.5))])?;
            self.b.f.set_outputs_of(block, &[inner]);
        }
        self.b.set_place(place);
        Some(self.b.f.op(op).output())
    }

    fn step(&mut self, pred: Option<ValueId>) -> Option<ValueId> {
        let x = self.value();
        let made = match self.rng.below(12) {
            0 | 1 => self.unary(x),
            2..=4 => self.binary(x),
            5 => self.special(x),
            6..=8 => self.movement(x),
            9 => self.weighted(x),
            10 => self.joined(x),
            _ => self.choice(x, pred?),
        }?;
        let elements = self.shape(made).iter().product::<usize>();
        ((1..=4096).contains(&elements) && !self.shape(made).is_empty()).then(|| self.pool.push(made))?;
        Some(made)
    }
}

/// A program of about `ops` ops. With `blocks`, some are in nested blocks.
pub(crate) fn random(seed: u64, ops: usize, blocks: bool) -> Program {
    let mut rng = Rng(seed);
    let opset = rng.pick(&[Opset::Ios15, Opset::Ios16, Opset::Ios17, Opset::Ios18]);
    let shapes: [&[usize]; 3] = [&[1, 2, 3, 2], &[2, 3], &[1, 4, 2]];
    let mut f = Function::new(opset);
    let body = f.body();
    let mut pool = Vec::new();
    for i in 0..=rng.below(2) {
        let shape = rng.pick(&shapes);
        pool.push(f.add_input(body, format!("in_{i}"), Type::known(DType::Fp32, shape)));
    }
    let pred = blocks.then(|| f.add_input(body, "pred", Type::known(DType::Bool, &[])));
    let mut m = Maker { b: Builder::new(&mut f, Place::End(body)), rng, pool };
    let dead = m.b.constant("dead", Const::fp32(1.0));
    for _ in 0..ops {
        m.step(pred);
    }
    let last = *m.pool.last().unwrap_or(&dead);
    let (extra, mut rng) = (m.value(), m.rng);
    let mut outputs = vec![("y".to_owned(), last)];
    if extra != last && rng.below(2) == 0 {
        outputs.push(("in_between".to_owned(), extra));
    }
    f.set_outputs(outputs);
    let mut program = Program::default();
    program.functions.insert("main".to_owned(), f);
    program
}
