//! `common::image_input_preprocess`: image inputs with the channels last get them first.
//!
//! A program does not hold which of its inputs are images; `channel_last_images` names those that are and have the channels
//! in their last dimension. Such an input becomes `[..., C, H, W]`, and a `transpose` behind it gives the program what it had.
//! An input that is an output too stays, and so does one that the pass has turned already.

use coremill_mil::{Builder, Const, Function, OpKind, Place, Program, TensorType, Type, ValueId};
use coremill_tensor::Dim;

use crate::matching::const_ints;
use crate::options::{OptionKind, OptionSpec, Options};
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::image_input_preprocess",
    summary: "Turns image inputs with the channels last into ones with the channels first",
    options: &[OptionSpec {
        name: "channel_last_images",
        kind: OptionKind::Texts,
        summary: "Names of the inputs that are images with the channels last; without it, none",
    }],
    spec: include_str!("../../specs/common/image_input_preprocess.mil"),
    make: |options: &Options| Box::new(ImageInputPreprocess { images: options.texts("channel_last_images") }),
};

struct ImageInputPreprocess {
    images: Vec<String>,
}

impl Pass for ImageInputPreprocess {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for (name, f) in &mut program.functions {
            for image in &self.images {
                cx.visited += 1;
                let input = f.inputs().iter().copied().find(|&v| f.value(v).name == *image);
                let v = input.ok_or_else(|| PassError::unsupported(format!("`{name}` has no input `{image}`")))?;
                if !cx.is_exhausted() {
                    turn(f, v, cx)?;
                }
            }
        }
        Ok(())
    }
}

fn turn(f: &mut Function, v: ValueId, cx: &mut PassContext) -> Result<(), PassError> {
    let name = f.value(v).name.clone();
    let Some(ty) = f.ty(v).as_tensor().filter(|t| t.rank() >= 3 && !f.is_function_output(v)).cloned() else {
        cx.notes.push(format!("input `{name}` stays: it is an output too, or has fewer than three dimensions"));
        return Ok(());
    };
    // From [..., C, H, W] to [..., H, W, C].
    let rank = ty.rank() as i32;
    let perm: Vec<i32> = (0..rank - 3).chain([rank - 2, rank - 1, rank - 3]).collect();
    let turned = f.only_user(v).filter(|&u| f.kind(u) == OpKind::Transpose).and_then(|u| const_ints(f, u, "perm"));
    if turned.is_some_and(|p| p.iter().copied().eq(perm.iter().map(|&p| i64::from(p)))) {
        return Ok(());
    }
    let mut dims: Vec<Dim> = ty.shape.iter().cloned().collect();
    let behind = dims.len() - 3;
    dims[behind..].rotate_right(1);
    let uses = f.value(v).uses().to_vec();
    f.set_type(v, Type::Tensor(TensorType::new(ty.dtype, dims)));
    let body = f.body();
    let mut b = Builder::new(f, Place::Start(body));
    let op = b.op(OpKind::Transpose).input("x", v).literal("perm", Const::int32s(&perm));
    let back = op.name(format!("{name}__transpose_from_nchw__")).one();
    let back = back.map_err(|error| PassError::Infer { rule: "transpose", kind: OpKind::Transpose, error })?;
    uses.into_iter().for_each(|u| f.set_use_at(u, back));
    cx.rewrites += 1;
    Ok(())
}
