//! What the tests share.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};

use coremill_mil::compare::{Checks, compare};
use coremill_mil::{Const, Function, NewOp, OpKind, Opset, Place, Program, Type};
use coremill_mlpackage::{Describe, Model, Source};
use coremill_tensor::{DType, Data};

/// A fixture.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The shared folder, when it is there.
pub fn shared() -> Option<PathBuf> {
    let path = match std::env::var_os("COREMILL_SHARED") {
        Some(p) => PathBuf::from(p),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let found = path.join("models").is_dir().then_some(path);
    if found.is_none() {
        #[expect(clippy::print_stderr, reason = "a skipped test says so")]
        {
            eprintln!("skipped: the shared folder is not there (set COREMILL_SHARED)");
        }
    }
    found
}

/// Every check at once.
pub const STRICT: Checks = Checks { consts: true, order: true, names: true, positional: false };

/// Fails unless the two programs are the same, down to names and order.
#[track_caller]
pub fn assert_same(a: &Program, b: &Program) {
    assert_eq!(compare(a, b, STRICT), None);
}

/// `y = x + w` with a weight of 12 elements, and `x` itself as output `copy`.
pub fn small_program(opset: Opset) -> Program {
    let mut f = Function::new(opset);
    let body = f.body();
    let x = f.add_input(body, "x", Type::known(DType::Fp32, &[3, 4]));
    let w: Vec<f32> = (0..12u8).map(f32::from).collect();
    let w = f.insert_const(Place::End(body), "w", Const::Tensor(Data::from_vec(&[3, 4], w)));
    let add = NewOp::new(OpKind::Add).input("x", x).input("y", w).output("y", Type::known(DType::Fp32, &[3, 4]));
    let add = f.insert(Place::End(body), add);
    let y = f.op(add).output();
    f.set_outputs(vec![("y".to_owned(), y), ("copy".to_owned(), x)]);
    Program::with_main(f)
}

/// [`small_program`] as a model.
pub fn small_model(opset: Opset) -> Model {
    let source = Source { framework: Some("torch==2.13.0".to_owned()), dialect: Some("TorchExport::ATEN".to_owned()) };
    Model::new(small_program(opset), &source, Describe::default())
}
