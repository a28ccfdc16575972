//! Random programs come back from text as they were, and random text never brings the parser down.

use coremill_mil::text::{NoBlobs, PrintOptions, Spelling, parse, print};
use coremill_mil::{BlockId, Const, Function, NewOp, OpKind, Opset, Place, Program, Type, ValueId};
use coremill_tensor::{DType, Data, Dim, Shape};
use proptest::prelude::*;

/// Numbers that decide what a program looks like, used up one by one.
struct Choices(std::vec::IntoIter<u64>);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |c| (c % n as u64) as usize)
    }

    fn bits(&mut self) -> u64 {
        self.0.next().unwrap_or(0)
    }

    fn name(&mut self) -> String {
        ["x", "x", "y", "x_1", "", "0", "a.b:0", "true", "tensor", "é \"\\\n"][self.below(10)].to_owned()
    }

    fn data(&mut self) -> Data {
        let numeric: Vec<DType> = DType::ALL.iter().copied().filter(|d| *d != DType::String).collect();
        let dtype = numeric[self.below(numeric.len())];
        let shape: Vec<usize> = (0..self.below(4)).map(|_| self.below(4)).collect();
        let n: usize = shape.iter().product();
        let mut bytes: Vec<u8> = (0..dtype.byte_len(n).unwrap()).map(|_| self.bits() as u8).collect();
        if dtype == DType::Bool {
            bytes.iter_mut().for_each(|b| *b &= 1);
        }
        if let Some(last) = bytes.last_mut().filter(|_| dtype.is_sub_byte() && !(n * dtype.bits()).is_multiple_of(8)) {
            *last &= (1 << (n * dtype.bits() % 8)) - 1;
        }
        Data::new(dtype, &shape, bytes).unwrap()
    }

    fn constant(&mut self, depth: usize) -> Const {
        match self.below(if depth > 0 { 6 } else { 3 }) {
            0 | 1 => Const::Tensor(self.data()),
            2 => Const::string(self.name()),
            3 => {
                let v = self.constant(depth - 1);
                Const::List(v.ty(), vec![v; self.below(3)])
            }
            4 => Const::Tuple((0..self.below(3)).map(|_| self.constant(depth - 1)).collect()),
            _ => {
                let v = self.constant(depth - 1);
                let entries = (0..self.below(3)).map(|i| (Const::string(i.to_string()), v.clone())).collect();
                Const::Dict(Type::Dict(Box::new((Const::string("").ty(), v.ty()))), entries)
            }
        }
    }

    fn ty(&mut self) -> Type {
        let dtype = DType::ALL[self.below(DType::ALL.len())];
        match self.below(6) {
            0 => Type::Unranked(dtype),
            1 => Type::State(Box::new(Type::known(dtype, &[2]))),
            2 => Type::List(Box::new(Type::scalar(dtype)), [None, Some(3)][self.below(2)]),
            _ => {
                let mut shape = Shape::scalar();
                for _ in 0..self.below(4) {
                    let symbolic = "2*s0 + Max(1, s1)".parse().map(Dim::from_expr).unwrap();
                    shape.push([Dim::Known(3), Dim::Unknown, symbolic, Dim::symbol("s2")][self.below(4)].clone());
                }
                Type::tensor(dtype, shape)
            }
        }
    }

    fn block(&mut self, f: &mut Function, block: BlockId, seen: &mut Vec<ValueId>, depth: usize) {
        let kinds = [OpKind::Relu, OpKind::Const, OpKind::Concat, OpKind::Cond, OpKind::Unknown];
        for _ in 0..self.below(6) {
            let kind = kinds[self.below(kinds.len())];
            let mut new = match kind {
                OpKind::Const => NewOp::constant(self.name(), self.constant(2)),
                _ => NewOp::new(kind),
            };
            new.unknown_type = (kind == OpKind::Unknown).then(|| format!("my {}", self.name()));
            new.name = [None, Some(self.name())][self.below(2)].clone();
            if kind != OpKind::Const {
                for _ in 0..self.below(3) {
                    new.outputs.push((self.name(), self.ty()));
                }
                for param in ["x", "values"].iter().take(if seen.is_empty() { 0 } else { self.below(3) }) {
                    let args: Vec<ValueId> = (0..self.below(3) + 1).map(|_| seen[self.below(seen.len())]).collect();
                    new = new.input_list(param, &args);
                }
                for key in ["epsilon", "shape"].iter().take(self.below(3)) {
                    new = new.attribute(*key, self.constant(1));
                }
            }
            let op = f.insert(Place::End(block), new);
            for _ in 0..if kind == OpKind::Cond && depth > 0 { self.below(3) } else { 0 } {
                let inner = f.add_block(op);
                let mut inside = seen.clone();
                for _ in 0..self.below(3) {
                    let (name, ty) = (self.name(), self.ty());
                    inside.push(f.add_input(inner, name, ty));
                }
                self.block(f, inner, &mut inside, depth - 1);
                let outputs: Vec<ValueId> = inside.into_iter().rev().take(self.below(3)).collect();
                f.set_outputs_of(inner, &outputs);
            }
            seen.extend_from_slice(f.op(op).outputs());
        }
    }

    fn program(&mut self) -> Program {
        let mut program = Program::default();
        for i in 0..self.below(2) + 1 {
            let mut f = Function::new(Opset::ALL[self.below(4)]);
            let body = f.body();
            let mut seen = Vec::new();
            for k in 0..self.below(3) {
                let ty = self.ty();
                seen.push(f.add_input(body, format!("{}{k}", self.name()), ty));
            }
            self.block(&mut f, body, &mut seen, 2);
            let outputs = (0..if seen.is_empty() { 0 } else { self.below(4) })
                .map(|k| (format!("{}{k}", self.name()), seen[self.below(seen.len())]));
            let outputs = outputs.collect();
            f.set_outputs(outputs);
            f.attributes.insert("a".to_owned(), self.constant(2));
            program.functions.insert(format!("f{i}"), f);
        }
        program
    }
}

/// All that text keeps of a program, but the values' names.
fn content(p: &Program) -> String {
    let mut out = String::new();
    for (name, f) in &p.functions {
        let mut ids = std::collections::HashMap::new();
        let mut id = |v: ValueId| {
            let next = ids.len();
            *ids.entry(v).or_insert(next)
        };
        let inputs: Vec<_> = f.inputs().iter().map(|&v| (&f.value(v).name, f.ty(v), id(v))).collect();
        out += &format!("{name} {} {:?} {inputs:?}\n", f.opset, f.attributes);
        for o in f.all_ops() {
            let op = f.op(o);
            let inputs: Vec<(&str, Vec<usize>)> = op.inputs().map(|(n, a)| (n, a.map(&mut id).collect())).collect();
            let outputs: Vec<_> = op.outputs().iter().map(|&v| (f.ty(v), id(v))).collect();
            let blocks: Vec<_> = op.blocks().iter().map(|&b| f.block(b)).map(|b| b.inputs().len()).collect();
            out += &format!("{} {:?} {:?} {inputs:?} {outputs:?} {blocks:?}\n", op.type_name(), op.name, op.attributes);
            for c in op.attributes.values() {
                if let Const::Tensor(d) = c {
                    out += &format!("{:?}\n", &d.bytes()[..]);
                }
            }
        }
        for b in f.all_blocks() {
            out += &format!("{:?}\n", f.block(b).outputs().map(&mut id).collect::<Vec<_>>());
        }
        out += &format!("{:?}\n", f.output_names());
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_come_back(choices in prop::collection::vec(any::<u64>(), 0..400), terse: bool) {
        let program = Choices(choices.into_iter()).program();
        let spelling = Some(if terse { Spelling::V1_3 } else { Spelling::V1_0 });
        let options = PrintOptions { spelling, origins: true, ..PrintOptions::default() };
        let text = print(&program, &options);
        let back = parse(&text, &NoBlobs).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(content(&back), content(&program));
        prop_assert_eq!(print(&back, &options), text);
    }

    #[test]
    fn mangled_text_does_no_harm(choices in prop::collection::vec(any::<u64>(), 0..200), at: usize, junk in ".{0,6}") {
        let mut text = print(&Choices(choices.into_iter()).program(), &PrintOptions::default());
        let mut at = at % (text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &junk);
        if let Err(e) = parse(&text, &NoBlobs) {
            prop_assert!(e.problems.iter().all(|p| p.line >= 1 && p.width >= 1));
        }
    }

    #[test]
    fn soup_of_tokens_does_no_harm(words in prop::collection::vec(
        prop::sample::select(vec!["func", "main", "<ios17>", "(", ")", "{", "}", "[", "]", "<", ">", "=", ",", ";", "->", "...",
            "tensor<fp32, [2]>", "x", "1", "-", "0x1p", "\"", "\"s\"", "const", "BLOBFILE", "nan", "//", "\n", "?", "é"]), 0..60)) {
        let text = words.join(" ");
        if let Err(e) = parse(&text, &NoBlobs) {
            prop_assert!(!e.to_string().is_empty());
        }
    }
}
