//! The text form of MIL: the `model.mil` of a compiled Core ML model, printed and read.
//!
//! # The form
//!
//! ```text
//! program(1.0)
//! [buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"coremltools-version", "9.0"}})]
//! {
//!     func main<ios17>(tensor<fp16, [1, ?]> x) {
//!             tensor<fp16, [1, ?]> h = relu(x = x)[name = tensor<string, []>("h")];
//!             tensor<int32, []> axis = const()[name = tensor<string, []>("axis"), val = tensor<int32, []>(-1)];
//!             tensor<fp16, [1, ?]> y = concat(axis = axis, values = (x, h));
//!         } -> (y);
//! }
//! ```
//!
//! There are two spellings ([`Spelling`]): up to ios17 a scalar is `tensor<string, []>("a")`, from ios18 on it is
//! `string("a")`. The parser takes both anywhere. An op states the types of its results, so reading infers nothing.
//! Weights are `BLOBFILE(path = ..., offset = ...)`, read through a [`BlobResolver`] and printed where
//! [`PrintOptions::blobs`] gives a place.
//!
//! # What is ours
//!
//! Real files that show these are not at hand, so the form is the nearest that follows from the rest, and is ours:
//! * Nested blocks stand after the attributes of their op: `cond(pred = p)[...] {...} -> (a), {...} -> (b);`, and with
//!   inputs `while_loop(loop_vars = (i))[...] (tensor<int32, []> i_x) {...} -> (c), (...) {...} -> (n);`.
//! * Attributes of a block stand after its outputs: `} -> (y)[name = ...];`.
//! * An input or output whose public name is no identifier, or is not the name of its value: `"my out:0" = y`.
//! * Symbolic extents: `tensor<fp32, [s0, 2*s0 + 1]>`.
//! * `// comments`, and the conveniences of hand-written text: attributes are optional, floats may be decimal,
//!   a literal may stand where a value does and becomes a `const` op (`relu(x = fp32(1.5))`, `axis = 1`), one
//!   element may stand for all of a tensor (`tensor<fp32, [8]>(0.5)`), and functions need no `program` around them.
//! * `(...)`: a constant left out by [`PrintOptions::elide_above`]. It cannot be read back.
//!
//! # What holds
//!
//! Reading what was printed gives the same program (the values' wishes for names become the names printed), and
//! printing what was read gives the same text where the text is as the printer lays it out. Printing takes linear
//! time and depends on nothing but the program. Reading never panics; nesting is bounded.

mod error;
mod lexer;
mod literal;
mod names;
mod number;
mod parser;
mod printer;
pub mod spec;
mod values;

use coremill_tensor::Data;

pub use error::{ParseError, Problem};
pub use names::Names;
pub use printer::{Notes, print, print_annotated, print_function, print_op};

use crate::{Function, OpId, Opset, Program, TensorType};

/// Gives the data of `BLOBFILE`s.
pub trait BlobResolver {
    /// The blob at `offset` of the file that the text calls `path`. Its type and shape must be `ty`.
    ///
    /// # Errors
    /// Why there is none, as a phrase; the parser adds the place.
    fn blob(&self, path: &str, offset: u64, ty: &TensorType) -> Result<Data, String>;
}

impl<F: Fn(&str, u64, &TensorType) -> Result<Data, String>> BlobResolver for F {
    fn blob(&self, path: &str, offset: u64, ty: &TensorType) -> Result<Data, String> {
        self(path, offset, ty)
    }
}

/// For text without weight files: every `BLOBFILE` is a problem.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBlobs;

impl BlobResolver for NoBlobs {
    fn blob(&self, _: &str, _: u64, _: &TensorType) -> Result<Data, String> {
        Err("this text is read without weight files".to_owned())
    }
}

/// Reads a program, or one or more functions without a `program` around them.
///
/// # Errors
/// Every problem found, with line, column and the line of text it is in.
pub fn parse(text: &str, blobs: &dyn BlobResolver) -> Result<Program, ParseError> {
    parser::parse(text, blobs)
}

/// Reads the text of exactly one function, with or without a `program` around it: its name and the function.
///
/// # Errors
/// As [`parse`], and when there are several functions.
pub fn parse_function(text: &str, blobs: &dyn BlobResolver) -> Result<(String, Function), ParseError> {
    let mut functions = parse(text, blobs)?.functions;
    match (functions.len(), functions.pop()) {
        (1, Some(f)) => Ok(f),
        (n, _) => {
            let message = format!("expected one function, found {n}");
            Err(ParseError { problems: vec![Problem::at(text, 0, 0, message)] })
        }
    }
}

/// How scalars are spelled, which the number after `program` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `program(1.0)`: `tensor<string, []>("a")`.
    V1_0,
    /// `program(1.3)`: `string("a")`.
    V1_3,
}

impl Spelling {
    /// The spelling that Core ML's compiler uses for an opset.
    pub fn of(opset: Opset) -> Spelling {
        if opset < Opset::Ios18 { Spelling::V1_0 } else { Spelling::V1_3 }
    }
}

/// The place of a constant in a weight file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobPlace {
    /// Path as files spell it (`@model_path/weights/weight.bin`).
    pub path: String,
    /// Byte offset of the blob's record in that file.
    pub offset: u64,
}

/// Says where a constant lies in a weight file: called with the op, the name of the attribute and the data.
/// `None` prints the constant in line.
pub type PlaceBlob<'a> = &'a dyn Fn(OpId, &str, &Data) -> Option<BlobPlace>;

/// What to print, and how. The default prints everything.
#[derive(Clone, Copy, Default)]
pub struct PrintOptions<'a> {
    /// The spelling; `None`: the one that belongs to the opset.
    pub spelling: Option<Spelling>,
    /// Print constants of more elements than this as `(...)`. `None`: print all.
    pub elide_above: Option<usize>,
    /// Print constants for which this gives a place as `BLOBFILE`.
    pub blobs: Option<PlaceBlob<'a>>,
    /// Leave types and attributes out (but the `val` of a `const`). Does not read back.
    pub names_only: bool,
    /// Show where each op came from, as a comment.
    pub origins: bool,
    /// Under [`print_annotated`]: show only this many ops before and after one with a remark.
    pub context: Option<usize>,
}

impl PrintOptions<'_> {
    /// For people: constants of more than 16 elements are left out.
    pub fn brief() -> PrintOptions<'static> {
        PrintOptions { elide_above: Some(16), ..PrintOptions::default() }
    }
}

impl std::fmt::Debug for PrintOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrintOptions")
            .field("spelling", &self.spelling)
            .field("elide_above", &self.elide_above)
            .field("blobs", &self.blobs.is_some())
            .field("names_only", &self.names_only)
            .field("origins", &self.origins)
            .field("context", &self.context)
            .finish()
    }
}
