//! A graph pass of one's own: written, registered under its own namespace, and named in a pipeline.
//!
//! `cargo run -p coremill --example own_pass -- IN.mlpackage OUT.mlpackage` runs it after a pass of coremill's and
//! prints how often it found something. `clip(x, 0, 6)` becomes `relu6(x)`.

use std::path::Path;

use coremill::{Session, open_model};
use coremill_mil::{Function, OpId, OpKind, Program};
use coremill_passes::{NewPatchOp, Options, Pass, PassContext, PassError, PassInfo, Patch, Pipeline, Rewrite, rewrite};

/// What there is to know of the pass. The namespace is ours; `common` and its like belong to coremill.
static CLIP_TO_RELU6: PassInfo = PassInfo {
    id: "acme::clip_to_relu6",
    summary: "Turns clip(x, 0, 6) into relu6(x)",
    options: &[],
    spec: "",
    make: |_: &Options| Box::new(ClipToRelu6),
};

struct ClipToRelu6;

impl Pass for ClipToRelu6 {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        rewrite(program, &[self], cx)
    }
}

impl Rewrite for ClipToRelu6 {
    fn roots(&self) -> &'static [OpKind] {
        &[OpKind::Clip]
    }

    fn find(&self, f: &Function, clip: OpId) -> Option<Patch> {
        let bound = |name| f.const_arg(clip, name)?.as_f64();
        if bound("alpha")? != 0.0 || bound("beta")? != 6.0 {
            return None;
        }
        let name = f.value(f.op(clip).output()).name.clone();
        let mut patch = Patch::before(f, clip, "clip_0_6");
        let relu6 = patch.make(NewPatchOp::new(OpKind::Relu6, name).same(f, clip, "x"));
        patch.replace_op(f, clip, relu6);
        Some(patch)
    }
}

fn transform(input: &Path, output: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let mut model = open_model(input)?;
    let pipeline = Pipeline::from_ids("mine", ["common::noop_elimination", "acme::clip_to_relu6"]);
    let summary = Session::new().register(&CLIP_TO_RELU6)?.opt(&mut model, &pipeline)?;
    model.save(output)?;
    Ok(summary.rewrites)
}

#[allow(clippy::print_stdout, reason = "an example says what it did")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = args.as_slice() else { return Err("usage: own_pass IN OUT".into()) };
    println!("{} rewrites", transform(Path::new(input), Path::new(output))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use coremill_mil::text::{NoBlobs, parse};
    use coremill_passes::{RegisterError, Registry};

    use super::*;

    fn kinds(text: &str) -> Vec<OpKind> {
        let mut program = parse(text, &NoBlobs).unwrap();
        let pipeline = Pipeline::from_ids("mine", ["acme::clip_to_relu6"]);
        let mut session = Session::new().register(&CLIP_TO_RELU6).unwrap();
        session.run(&pipeline, &mut program).unwrap();
        let f = program.functions.values().next().unwrap();
        f.all_ops().into_iter().map(|op| f.op(op).kind).filter(|k| *k != OpKind::Const).collect()
    }

    fn clip(beta: &str) -> String {
        format!(
            "program(1.3)\n{{ func main<ios17>(tensor<fp32, [2]> x) {{
             tensor<fp32, [2]> y = clip(x = x, alpha = fp32(0), beta = fp32({beta})); }} -> (y); }}"
        )
    }

    #[test]
    fn it_runs_by_its_name() {
        assert_eq!(kinds(&clip("6")), [OpKind::Relu6]);
        assert_eq!(kinds(&clip("5")), [OpKind::Clip]);
    }

    #[test]
    fn ids_of_coremill_are_not_for_taking() {
        static TAKEN: PassInfo = PassInfo { id: "common::clip_to_relu6", ..CLIP_TO_RELU6_TEMPLATE };
        const CLIP_TO_RELU6_TEMPLATE: PassInfo =
            PassInfo { id: "", summary: "", options: &[], spec: "", make: |_: &Options| Box::new(ClipToRelu6) };
        static NO_ID: PassInfo = PassInfo { id: "clip_to_relu6", ..CLIP_TO_RELU6_TEMPLATE };
        let mut registry = Registry::new();
        assert!(matches!(registry.register(&TAKEN), Err(RegisterError::ReservedNamespace { .. })));
        assert!(matches!(registry.register(&NO_ID), Err(RegisterError::NotAnId(_))));
        registry.register(&CLIP_TO_RELU6).unwrap();
        assert!(matches!(registry.register(&CLIP_TO_RELU6), Err(RegisterError::Taken(_))));
    }
}
