//! `common::reduce_transposes` on random programs full of transposes, and on programs that are long or wide.

mod common;
#[path = "common/random.rs"]
#[allow(dead_code, reason = "only the random numbers are wanted here")]
mod programs;

use common::{computes_in_half, outputs_on_seeded_inputs, same};
use coremill_mil::verify::{Stage, verify_at};
use coremill_mil::{Builder, Const, Function, OpId, OpKind, Opset, Place, Program, Type, ValueId};
use coremill_passes::{PassManager, Pipeline};
use coremill_tensor::{DType, Data};
use programs::Rng;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

struct Maker<'f> {
    b: Builder<'f>,
    rng: Rng,
    pool: Vec<ValueId>,
}

impl Maker<'_> {
    fn shape(&self, v: ValueId) -> Vec<usize> {
        self.b.f.ty(v).shape().and_then(|s| s.to_known()).unwrap_or_default()
    }

    /// Mostly a recent value.
    fn value(&mut self) -> ValueId {
        let n = self.pool.len();
        let back = if self.rng.below(4) == 0 { n } else { n.min(4) };
        self.pool[n - 1 - self.rng.below(back)]
    }

    fn tensor(&mut self, shape: &[usize]) -> Const {
        let n = shape.iter().product::<usize>();
        let v: Vec<f32> = (0..n).map(|_| self.rng.below(9) as f32 * 0.5 - 2.0).collect();
        Const::Tensor(Data::from_vec(shape, v))
    }

    fn op(&mut self, kind: OpKind, x: ValueId, literals: Vec<(&'static str, Const)>) -> Option<ValueId> {
        let op = self.b.op(kind).input("x", x);
        literals.into_iter().fold(op, |op, (name, c)| op.literal(name, c)).one().ok()
    }

    /// One of a few orders, so that some undo others.
    fn transpose(&mut self, x: ValueId) -> Option<ValueId> {
        let orders: &[&[i32]] = match self.shape(x).len() {
            2 => &[&[1, 0], &[1, 0], &[0, 1]],
            3 => &[&[0, 2, 1], &[2, 0, 1], &[1, 2, 0], &[0, -1, -2]],
            _ => &[&[0, 2, 3, 1], &[0, 3, 1, 2], &[0, 1, 3, 2]],
        };
        let perm = self.rng.pick(orders);
        self.op(OpKind::Transpose, x, vec![("perm", Const::int32s(perm))])
    }

    fn unary(&mut self, x: ValueId) -> Option<ValueId> {
        match self.rng.below(6) {
            0 => self.op(OpKind::Cast, x, vec![("dtype", Const::string("fp32"))]),
            1 => self.op(OpKind::Clip, x, vec![("alpha", Const::fp32(-1.0)), ("beta", Const::fp32(1.0))]),
            2 => {
                let channels = *self.shape(x).get(1)?;
                let (alpha, beta) = (self.tensor(&[channels]), self.tensor(&[channels]));
                self.op(OpKind::SoftplusParametric, x, vec![("alpha", alpha), ("beta", beta)])
            }
            3 => self.op(OpKind::Softmax, x, vec![("axis", Const::int32(0))]),
            4 => self.op(OpKind::Tanh, x, vec![]),
            _ => self.op(OpKind::Relu, x, vec![]),
        }
    }

    /// With a constant of any rank, which may grow the result, or another value.
    fn binary(&mut self, x: ValueId) -> Option<ValueId> {
        use OpKind::{Add, Maximum, Mul, Pow, Sub};
        let kind = self.rng.pick(&[Add, Sub, Mul, Maximum, Pow]);
        if self.rng.below(2) == 0 {
            let y = self.value();
            return self.b.op(kind).input("x", x).input("y", y).one().ok();
        }
        let shape = self.shape(x);
        let from = self.rng.below(shape.len() + 1);
        let kept: Vec<usize> = shape[from..].iter().map(|&n| if self.rng.below(2) == 0 { n } else { 1 }).collect();
        let (other, wide) = (self.tensor(&kept), self.rng.below(6) == 0 && shape.len() == from + kept.len());
        let other = if wide { self.tensor(&[&[2][..], &shape[1..]].concat()) } else { other };
        let op = self.b.op(kind);
        if self.rng.below(3) == 0 { op.literal("x", other).input("y", x) } else { op.input("x", x).literal("y", other) }
            .one()
            .ok()
    }

    fn choice(&mut self, x: ValueId) -> Option<ValueId> {
        let y = self.value();
        let bound = self.tensor(&[*self.shape(x).last()?]);
        let cond = self.op(OpKind::Greater, x, vec![("y", bound)])?;
        self.b.op(OpKind::Select).input("cond", cond).input("a", x).input("b", y).one().ok()
    }

    fn along_axes(&mut self, x: ValueId) -> Option<ValueId> {
        let shape = self.shape(x);
        let rank = shape.len();
        let axis = self.rng.below(rank) as i32 - if self.rng.below(2) == 0 { rank as i32 } else { 0 };
        match self.rng.below(4) {
            0 => {
                let axes = if self.rng.below(3) == 0 { None } else { Some(Const::int32s(&[axis])) };
                let mut op = self.b.op(OpKind::ReduceSum).input("x", x).literal("keep_dims", Const::bool(true));
                if let Some(axes) = axes {
                    op = op.literal("axes", axes);
                }
                op.one().ok()
            }
            1 => {
                let mut amounts: Vec<i32> = (0..2 * (1 + self.rng.below(rank))).map(|_| 0).collect();
                for n in &mut amounts {
                    *n = self.rng.below(2) as i32;
                }
                let mode = self.rng.pick(&["constant", "constant", "replicate", "reflect"]);
                let is_short = shape.iter().rev().take(2).any(|&n| n < 2);
                if mode != "constant" && (amounts.len() > 4 || is_short) {
                    return None;
                }
                let literals = vec![("pad", Const::int32s(&amounts)), ("mode", Const::string(mode))];
                self.op(OpKind::Pad, x, literals)
            }
            2 => {
                let others: Vec<ValueId> = self.pool.iter().copied().filter(|&v| self.shape(v) == shape).collect();
                let mut values = vec![x, self.rng.pick(&others)];
                if self.rng.below(3) == 0 {
                    let c = self.tensor(&shape);
                    values.push(self.b.constant("c", c));
                }
                let op = self.b.op(OpKind::Concat).list("values", &values).literal("axis", Const::int32(axis));
                op.literal("interleave", Const::bool(false)).one().ok()
            }
            _ => {
                let op = self.b.op(OpKind::Split).input("x", x).literal("axis", Const::int32(axis));
                let parts = op.literal("num_splits", Const::int32(2)).build().ok()?;
                self.pool.push(parts[0]);
                parts.get(1).copied()
            }
        }
    }

    fn step(&mut self) {
        let x = self.value();
        let made = match self.rng.below(12) {
            0..=4 => self.transpose(x),
            5 | 6 => self.unary(x),
            7 | 8 => self.binary(x),
            9 => self.choice(x),
            _ => self.along_axes(x),
        };
        let fits = |s: &[usize]| s.iter().product::<usize>() <= 512 && (2..=4).contains(&s.len());
        self.pool.extend(made.filter(|&v| fits(&self.shape(v))));
    }
}

fn random(seed: u64, ops: usize) -> Program {
    let mut rng = Rng(seed);
    let mut f = Function::new(Opset::Ios17);
    let body = f.body();
    let shapes: [&[usize]; 5] = [&[2, 3], &[2, 1, 3], &[2, 2, 2], &[1, 2, 3, 2], &[3, 3]];
    let shape = rng.pick(&shapes);
    let pool = (0..2).map(|i| f.add_input(body, format!("in_{i}"), Type::known(DType::Fp32, shape))).collect();
    let mut m = Maker { b: Builder::new(&mut f, Place::End(body)), rng, pool };
    (0..ops).for_each(|_| m.step());
    let outputs: Vec<ValueId> = (0..1 + m.rng.below(4)).map(|_| m.value()).collect();
    f.set_outputs(outputs.into_iter().enumerate().map(|(i, v)| (format!("out_{i}"), v)).collect());
    program(f)
}

fn program(f: Function) -> Program {
    let mut program = Program::default();
    program.functions.insert("main".to_owned(), f);
    program
}

fn run(program: &mut Program) -> u64 {
    PassManager::new().run(&Pipeline::from_ids("test", ["common::reduce_transposes"]), program).unwrap().rewrites
}

fn count(program: &Program, kind: OpKind) -> usize {
    let f = &program.functions["main"];
    f.all_ops().into_iter().filter(|&op: &OpId| f.kind(op) == kind).count()
}

fn problems(program: &Program) -> Vec<String> {
    verify_at(program, Stage::Passes).iter().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn random_programs_keep_their_values_and_get_no_more_transposes(seed in any::<u64>(), ops in 1usize..40) {
        let before = random(seed, ops);
        prop_assert_eq!(problems(&before), Vec::<String>::new());
        let mut after = before.clone();
        run(&mut after);
        prop_assert_eq!(problems(&after), Vec::<String>::new());
        prop_assert!(count(&after, OpKind::Transpose) <= count(&before, OpKind::Transpose));
        let (f, g) = (&before.functions["main"], &after.functions["main"]);
        prop_assert_eq!(f.output_names(), g.output_names());
        prop_assert!(f.outputs().zip(g.outputs()).all(|(v, w)| f.ty(v) == g.ty(w)));
        let (Some(a), Some(b)) = (outputs_on_seeded_inputs(f), outputs_on_seeded_inputs(g)) else { return Ok(()) };
        prop_assert!(a.iter().zip(&b).all(|(a, b)| same(a, b, computes_in_half(f))), "{a:?} became {b:?}");
    }
}

fn turned(b: &mut Builder<'_>, x: ValueId) -> ValueId {
    b.op(OpKind::Transpose).input("x", x).literal("perm", Const::int32s(&[1, 0])).one().unwrap()
}

fn grown(body: impl FnOnce(&mut Builder<'_>, ValueId) -> ValueId) -> Program {
    let mut f = Function::new(Opset::Ios17);
    let block = f.body();
    let x = f.add_input(block, "x", Type::known(DType::Fp32, &[2, 3]));
    let y = body(&mut Builder::new(&mut f, Place::End(block)), x);
    f.set_outputs(vec![("y".to_owned(), y)]);
    program(f)
}

#[test]
fn a_long_chain_between_two_transposes() {
    let mut program = grown(|b, x| {
        let row = b.constant("row", Const::Tensor(Data::from_vec(&[2], vec![1f32, 2.0])));
        let mut v = turned(b, x);
        for _ in 0..50_000 {
            v = b.op(OpKind::Relu).input("x", v).one().unwrap();
            v = b.op(OpKind::Add).input("x", v).input("y", row).one().unwrap();
        }
        turned(b, v)
    });
    assert_eq!(run(&mut program), 1);
    assert_eq!(count(&program, OpKind::Transpose), 0);
    // The constant of all the sums is transposed once.
    assert!(count(&program, OpKind::Const) < 10);
    assert_eq!(problems(&program), Vec::<String>::new());
}

#[test]
fn many_pairs_in_a_row() {
    let mut program = grown(|b, x| (0..50_000).fold(x, |v, _| turned(b, v)));
    assert_eq!(run(&mut program), 25_000);
    assert_eq!(count(&program, OpKind::Transpose), 0);
}

#[test]
fn many_transposes_of_one_value() {
    let mut program = grown(|b, x| {
        let parts: Vec<ValueId> = (0..10_000)
            .map(|_| {
                let v = turned(b, x);
                let v = b.op(OpKind::Relu).input("x", v).one().unwrap();
                turned(b, v)
            })
            .collect();
        let axis = Const::int32(0);
        let op = b.op(OpKind::Concat).list("values", &parts).literal("axis", axis);
        op.literal("interleave", Const::bool(false)).one().unwrap()
    });
    assert_eq!(run(&mut program), 10_000);
    assert_eq!(count(&program, OpKind::Transpose), 0);
}

#[test]
fn many_users_of_one_transpose() {
    let mut program = grown(|b, x| {
        let v = turned(b, x);
        let parts: Vec<ValueId> = (0..10_000).map(|_| b.op(OpKind::Relu).input("x", v).one().unwrap()).collect();
        let parts: Vec<ValueId> = parts.into_iter().map(|v| turned(b, v)).collect();
        let axis = Const::int32(0);
        let op = b.op(OpKind::Concat).list("values", &parts).literal("axis", axis);
        op.literal("interleave", Const::bool(false)).one().unwrap()
    });
    assert_eq!(run(&mut program), 1);
    assert_eq!(count(&program, OpKind::Transpose), 0);
}
