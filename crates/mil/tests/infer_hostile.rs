//! Type inference answers any arguments with types or an error: no op of the table panics on random ones.

use coremill_mil::{Arg, Const, OpArgs, Opset, Type, all_schemas, infer, schema};
use coremill_tensor::{DType, Data, Dim, Shape};

/// A small linear congruential generator: the series must be the same on every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

fn dim(rng: &mut Rng) -> Dim {
    match rng.below(12) {
        0 => Dim::Unknown,
        1 => Dim::symbol("n"),
        2 => Dim::Known(u64::MAX - rng.below(3) as u64),
        3 => Dim::Known(i64::MAX as u64 - rng.below(3) as u64),
        _ => Dim::Known(rng.below(6) as u64),
    }
}

fn any_type(rng: &mut Rng) -> Type {
    let dtype = rng.pick(DType::ALL);
    let rank = rng.below(7);
    let tensor = Type::tensor(dtype, (0..rank).map(|_| dim(rng)).collect::<Shape>());
    match rng.below(20) {
        0 => Type::Unranked(dtype),
        1 => Type::List(Box::new(tensor), Some(rng.below(3) as u64)),
        2 => Type::State(Box::new(tensor)),
        3 => Type::Tuple(vec![tensor]),
        _ => tensor,
    }
}

fn any_const(rng: &mut Rng) -> Const {
    const WORDS: &[&str] =
        &["valid", "same", "custom", "fp16", "int32", "uint8", "", "nchw,nwhu->nchu", "default", "EXACT"];
    let shape: Vec<usize> = (0..rng.below(3)).map(|_| rng.below(5)).collect();
    let n = shape.iter().product();
    match rng.below(6) {
        0 => Const::string(rng.pick(WORDS)),
        1 => Const::bools(&(0..rng.below(5)).map(|i| i % 2 == 0).collect::<Vec<_>>()),
        2 => Const::bool(rng.below(2) == 0),
        3 => Data::from_vec(&shape, (0..n).map(|_| rng.below(4) as f32 - 1.0).collect::<Vec<f32>>()).into(),
        _ => {
            let number = |rng: &mut Rng| match rng.below(8) {
                0 => rng.pick(&[i32::MIN, i32::MAX, i32::MIN + 1]),
                _ => rng.below(9) as i32 - 3,
            };
            Data::from_vec(&shape, (0..n).map(|_| number(rng)).collect::<Vec<i32>>()).into()
        }
    }
}

/// The type of an argument, and its value where it is constant.
type Given = (Type, Option<Const>);

fn argument(rng: &mut Rng, constant: bool) -> Given {
    match (constant, rng.below(10)) {
        (true, 1..) | (false, 0) => {
            let c = any_const(rng);
            (c.ty(), Some(c))
        }
        _ => (any_type(rng), None),
    }
}

#[test]
fn random_arguments_never_panic() {
    let mut rng = Rng(7);
    let mut inferred = 0;
    for schema in all_schemas() {
        for round in 0..300 {
            let opset = rng.pick(&Opset::ALL);
            let Some(version) = schema.version(opset) else { continue };
            // The arguments must outlive `args`: first the values, then what refers to them.
            let given: Vec<(&str, Vec<Given>)> = version
                .inputs
                .iter()
                .filter_map(|i| {
                    let left_out = rng.below(if i.optional { 2 } else { 12 }) == 0;
                    let count = if i.variadic { rng.below(4) } else { 1 };
                    (!left_out).then(|| (i.name, (0..count).map(|_| argument(&mut rng, i.constant)).collect()))
                })
                .collect();
            let mut args = OpArgs::new(schema.kind, opset);
            for (name, list) in &given {
                args.inputs.push((name, list.iter().map(|(ty, v)| Arg::new(ty, v.as_ref())).collect()));
            }
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = schema::check_inputs(&args);
                infer(&args).is_ok()
            }));
            match result {
                Ok(ok) => inferred += usize::from(ok),
                Err(_) => panic!("{} panicked in round {round} on {args:?}", schema.kind),
            }
        }
    }
    assert!(inferred > 1000, "only {inferred} calls went through: the arguments are too wild to test much");
}
