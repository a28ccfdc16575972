//! MIL, the intermediate language of Core ML.
//!
//! # What a program is
//!
//! A [`Program`] holds [`Function`]s by name. A function has an [`Opset`], typed inputs, a body and named
//! outputs. The body is a block: a list of ops, each with named parameters that take values, and with results
//! that are values. An op may hold nested blocks (`cond`, `while_loop`), which see the values around them.
//! A value is defined once, before its uses. A constant is a `const` op whose `val` attribute is the value.
//!
//! # Identity
//!
//! Ops, values and blocks are ids into their function; a name is never looked up to find one. A value's name is
//! a wish: text and files make it unique on the way out. The names of a function's inputs and outputs are its
//! signature and stay whatever happens to the values ([`Function::output_names`]).
//!
//! # What is true of every function
//!
//! Use lists are exact: "has one user" and "replace all uses" cost what they touch. Ops of a block are a linked
//! list with order keys: inserting, moving and comparing positions are constant-time. Only the methods of
//! [`Function`] change it.
//!
//! # The op table
//!
//! [`schema_of`] tells an op's inputs by opset, its flags and how its result types follow. An op that the table
//! does not have is [`OpKind::Unknown`]: it is kept with its name, parameters, attributes and blocks, is written
//! back as it was, and the verifier reports it.
//!
//! # What it deliberately does not do
//!
//! It computes no values (`coremill-interp`), reads and writes no model format (`coremill-mlpackage`) and rewrites
//! nothing (`coremill-passes`).

mod arena;
mod args;
mod attributes;
mod builder;
mod constant;
mod edit;
mod function;
mod ids;
mod infer;
mod kind;
mod ops;
mod opset;
mod order;
mod origin;
mod program;
mod refine;
mod symbolic;
mod types;

pub mod compare;
pub mod schema;
pub mod text;
pub mod verify;

pub use args::{Arg, ArgList, OpArgs};
pub use attributes::Attributes;
pub use builder::{Builder, PendingOp};
pub use constant::Const;
pub use edit::{NewOp, OpEdit, Place};
pub use function::{Block, Def, Function, Op, Use, Value};
pub use ids::{BlockId, OpId, ValueId};
pub use infer::{InferError, infer, infer_op};
pub use kind::OpKind;
pub use ops::{all_schemas, schema_of, version_of};
pub use opset::{Opset, UnknownOpset};
pub use order::ProgramOrder;
pub use origin::{Origin, SourceNode};
pub use program::Program;
pub use refine::refine;
pub use schema::{Flags, OpSchema, OpVersion};
pub use symbolic::extents_of;
pub use types::{TensorType, Type};
