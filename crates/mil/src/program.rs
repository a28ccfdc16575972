//! A program: functions by name.

use indexmap::IndexMap;

use crate::{Attributes, Function};

/// A MIL program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Functions by name, in file order; `main` is the entry of a model with one function.
    pub functions: IndexMap<String, Function>,
    /// Attributes of the program (`buildInfo`, ...), as in the file.
    pub attributes: Attributes,
    /// Version of the program format; 1 so far.
    pub version: i64,
    /// The free text of the protobuf.
    pub doc_string: String,
}

impl Program {
    /// A program of one function.
    pub fn with_main(main: Function) -> Program {
        Program { functions: IndexMap::from([("main".to_owned(), main)]), version: 1, ..Program::default() }
    }

    /// The newest opset of its functions.
    pub fn opset(&self) -> Option<crate::Opset> {
        self.functions.values().map(|f| f.opset).max()
    }

    /// A number that grows with every change to any function.
    pub fn revision(&self) -> u64 {
        self.functions.values().map(Function::revision).sum()
    }
}
