//! Editing keeps use lists and block order exact, under long random series of edits.

use coremill_mil::{Function, NewOp, OpId, OpKind, Opset, Place, Type, Use, ValueId};
use coremill_tensor::DType;

fn ty() -> Type {
    Type::known(DType::Fp32, &[2])
}

/// Uses recomputed from operands and block outputs equal the use lists, and order keys grow along each block.
fn check(f: &Function) {
    let mut expected: Vec<(ValueId, Use)> = Vec::new();
    for op in f.all_ops() {
        for (input, (_, args)) in f.op(op).inputs().enumerate() {
            for (arg, v) in args.enumerate() {
                expected.push((v, Use::Op { op, input: input as u32, arg: arg as u32 }));
            }
        }
    }
    for b in f.all_blocks() {
        for (index, v) in f.block(b).outputs().enumerate() {
            expected.push((v, Use::Output { block: b, index: index as u32 }));
        }
        let ops: Vec<OpId> = f.ops_in(b).collect();
        assert!(ops.windows(2).all(|w| f.is_before(w[0], w[1]) && f.prev(w[1]) == Some(w[0])));
    }
    let mut values: Vec<ValueId> = f.inputs().to_vec();
    values.extend(f.all_ops().iter().flat_map(|&op| f.op(op).outputs().to_vec()));
    let mut actual: Vec<(ValueId, Use)> =
        values.iter().flat_map(|&v| f.value(v).uses().iter().map(move |&u| (v, u))).collect();
    expected.sort();
    actual.sort();
    assert_eq!(expected, actual);
}

/// A small linear congruential generator: the series must be the same on every run.
struct Rng(u64);
impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn random_edits_keep_uses_and_order_exact() {
    for seed in 0..20 {
        let mut rng = Rng(seed);
        let mut f = Function::new(Opset::Ios17);
        let body = f.body();
        let x = f.add_input(body, "x", ty());
        for step in 0..150 {
            let ops: Vec<OpId> = f.ops_in(body).collect();
            let pick = |rng: &mut Rng| ops[rng.below(ops.len())];
            let visible = |f: &Function, rng: &mut Rng| match f.ops_in(body).count() {
                0 => x,
                _ if rng.below(4) == 0 => x,
                _ => f.op(pick(rng)).output(),
            };
            match rng.below(7) {
                0..=2 => {
                    let (a, b) = (visible(&f, &mut rng), visible(&f, &mut rng));
                    let place = if ops.is_empty() { Place::End(body) } else { Place::After(pick(&mut rng)) };
                    let new = NewOp::new(OpKind::Concat).input_list("values", &[a, b, a]).input("axis", b);
                    f.insert(place, new.output(format!("c{step}"), ty()));
                }
                3 if !ops.is_empty() => {
                    f.remove_input(pick(&mut rng), if rng.below(2) == 0 { "values" } else { "axis" });
                }
                4 if !ops.is_empty() => {
                    let (a, b) = (visible(&f, &mut rng), visible(&f, &mut rng));
                    f.set_input(pick(&mut rng), "values", &[a, a, b]);
                }
                5 if !ops.is_empty() => {
                    let (a, b) = (visible(&f, &mut rng), visible(&f, &mut rng));
                    f.replace_uses(a, b);
                }
                6 if !ops.is_empty() => {
                    let op = pick(&mut rng);
                    let used = !f.value(f.op(op).output()).uses().is_empty();
                    assert_eq!(f.erase(op), !used);
                }
                _ => {
                    let v = visible(&f, &mut rng);
                    f.set_outputs(vec![("y".into(), v), ("z".into(), v)]);
                }
            }
            check(&f);
        }
    }
}

#[test]
fn inserting_at_one_place_keeps_order() {
    let mut f = Function::new(Opset::Ios17);
    let body = f.body();
    let last = f.insert(Place::End(body), NewOp::new(OpKind::Const));
    let made: Vec<OpId> = (0..3000).map(|_| f.insert(Place::Before(last), NewOp::new(OpKind::Const))).collect();
    let order: Vec<OpId> = f.ops_in(body).collect();
    assert_eq!(order[..3000], made);
    check(&f);
    let first = order[0];
    let mut behind: Vec<OpId> = (0..3000).map(|_| f.insert(Place::After(first), NewOp::new(OpKind::Const))).collect();
    behind.reverse();
    assert_eq!(f.ops_in(body).skip(1).take(3000).collect::<Vec<_>>(), behind);
    check(&f);
}

#[test]
fn nested_blocks_are_erased_with_their_op() {
    let mut f = Function::new(Opset::Ios17);
    let body = f.body();
    let x = f.add_input(body, "x", ty());
    let cond = f.insert(Place::End(body), NewOp::new(OpKind::Cond).output("r", ty()));
    for _ in 0..2 {
        let b = f.add_block(cond);
        let relu = f.insert(Place::End(b), NewOp::new(OpKind::Relu).input("x", x).output("r", ty()));
        let v = f.op(relu).output();
        f.set_outputs_of(b, &[v]);
    }
    check(&f);
    assert_eq!(f.all_ops().len(), 3);
    assert_eq!(f.users(x), f.all_ops()[1..]);
    assert!(f.is_visible(x, f.all_ops()[2]));
    assert!(f.erase(cond));
    assert!(f.value(x).uses().is_empty());
    check(&f);
}
