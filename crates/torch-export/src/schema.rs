//! The JSON of a `.pt2`, as serde reads it: one struct for each record of torch's export schema, major version 8.
//!
//! Unknown fields are passed over. Names are still text here; `build` turns them into ids and checks them.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::types::Device;

mod argument;

pub(crate) use argument::{Argument, Float, OptionalTensor, Scalar};

#[derive(Deserialize)]
pub(crate) struct ExportedProgram {
    pub(crate) graph_module: GraphModule,
    #[serde(default)]
    pub(crate) opset_version: IndexMap<String, i64>,
    #[serde(default)]
    pub(crate) range_constraints: IndexMap<String, RangeConstraint>,
    #[serde(default)]
    pub(crate) verifiers: Vec<String>,
    #[serde(default)]
    pub(crate) torch_version: String,
    #[serde(default)]
    pub(crate) guards_code: Vec<String>,
}

/// Only the version, to be read before anything that may have changed with it.
#[derive(Deserialize)]
pub(crate) struct Versioned {
    pub(crate) schema_version: SchemaVersion,
}

#[derive(Deserialize)]
pub(crate) struct SchemaVersion {
    pub(crate) major: i64,
    pub(crate) minor: i64,
}

#[derive(Deserialize)]
pub(crate) struct RangeConstraint {
    #[serde(default)]
    pub(crate) min_val: Option<Float>,
    #[serde(default)]
    pub(crate) max_val: Option<Float>,
}

#[derive(Deserialize)]
pub(crate) struct GraphModule {
    pub(crate) graph: Graph,
    pub(crate) signature: Signature,
    #[serde(default)]
    pub(crate) module_call_graph: Vec<ModuleCall>,
    #[serde(default)]
    pub(crate) metadata: IndexMap<String, String>,
}

#[derive(Deserialize)]
pub(crate) struct ModuleCall {
    pub(crate) fqn: String,
    #[serde(default)]
    pub(crate) signature: Option<ModuleCallSignature>,
}

#[derive(Deserialize)]
pub(crate) struct ModuleCallSignature {
    #[serde(default)]
    pub(crate) inputs: Vec<Argument>,
    #[serde(default)]
    pub(crate) outputs: Vec<Argument>,
    pub(crate) in_spec: String,
    pub(crate) out_spec: String,
    #[serde(default)]
    pub(crate) forward_arg_names: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(crate) struct Graph {
    pub(crate) inputs: Vec<Argument>,
    pub(crate) outputs: Vec<Argument>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) tensor_values: IndexMap<String, TensorMeta>,
    #[serde(default)]
    pub(crate) sym_int_values: IndexMap<String, SymInt>,
    #[serde(default)]
    pub(crate) sym_bool_values: IndexMap<String, SymBool>,
    #[serde(default)]
    pub(crate) sym_float_values: IndexMap<String, SymFloat>,
    #[serde(default)]
    pub(crate) custom_obj_values: IndexMap<String, CustomObj>,
    #[serde(default)]
    pub(crate) is_single_tensor_return: bool,
}

#[derive(Deserialize)]
pub(crate) struct Node {
    pub(crate) target: String,
    pub(crate) inputs: Vec<NamedArgument>,
    pub(crate) outputs: Vec<Argument>,
    #[serde(default)]
    pub(crate) metadata: IndexMap<String, String>,
    #[serde(default)]
    pub(crate) is_hop_single_tensor_return: Option<bool>,
    #[serde(default)]
    pub(crate) name: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct NamedArgument {
    pub(crate) name: String,
    pub(crate) arg: Argument,
    /// 1 positional, 2 by name.
    #[serde(default)]
    pub(crate) kind: Option<i64>,
}

#[derive(Deserialize)]
pub(crate) struct TensorMeta {
    pub(crate) dtype: i64,
    pub(crate) sizes: Vec<SymInt>,
    #[serde(default)]
    pub(crate) requires_grad: bool,
    pub(crate) device: Device,
    pub(crate) strides: Vec<SymInt>,
    pub(crate) storage_offset: SymInt,
    pub(crate) layout: i64,
}

#[derive(Deserialize)]
pub(crate) struct SymExpr {
    pub(crate) expr_str: String,
    #[serde(default)]
    pub(crate) hint: Option<Hint>,
}

#[derive(Deserialize)]
pub(crate) enum Hint {
    #[serde(rename = "as_int")]
    Int(i64),
    #[serde(rename = "as_bool")]
    Bool(bool),
    #[serde(rename = "as_float")]
    Float(Float),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SymInt {
    AsExpr(SymExpr),
    AsInt(i64),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SymBool {
    AsExpr(SymExpr),
    AsBool(bool),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SymFloat {
    AsExpr(SymExpr),
    AsFloat(Float),
}

#[derive(Deserialize)]
pub(crate) struct CustomObj {
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) class_fqn: String,
}

#[derive(Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

#[derive(Deserialize)]
pub(crate) struct Signature {
    pub(crate) input_specs: Vec<InputSpec>,
    pub(crate) output_specs: Vec<OutputSpec>,
}

#[derive(Deserialize)]
pub(crate) struct Arg {
    pub(crate) arg: Argument,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InputSpec {
    UserInput(Arg),
    Parameter {
        arg: Named,
        parameter_name: String,
    },
    Buffer {
        arg: Named,
        buffer_name: String,
        #[serde(default = "yes")]
        persistent: bool,
    },
    TensorConstant {
        arg: Named,
        tensor_constant_name: String,
    },
    CustomObj {
        arg: Named,
        custom_obj_name: String,
    },
    Token {
        arg: Named,
    },
    ConstantInput {
        name: String,
        value: Argument,
    },
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputSpec {
    UserOutput(Arg),
    LossOutput { arg: Named },
    BufferMutation { arg: Named, buffer_name: String },
    GradientToParameter { arg: Named, parameter_name: String },
    GradientToUserInput { arg: Named, user_input_name: String },
    UserInputMutation { arg: Named, user_input_name: String },
    Token { arg: Named },
    ParameterMutation { arg: Named, parameter_name: String },
}

#[derive(Deserialize)]
pub(crate) struct PayloadConfig {
    pub(crate) config: IndexMap<String, PayloadMeta>,
}

#[derive(Deserialize)]
pub(crate) struct PayloadMeta {
    pub(crate) path_name: String,
    #[serde(default)]
    pub(crate) is_param: bool,
    #[serde(default)]
    pub(crate) use_pickle: bool,
    #[serde(default)]
    pub(crate) tensor_meta: Option<TensorMeta>,
}
