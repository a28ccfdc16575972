//! `nn_backend::commingle_loop_vars`: the variables of a loop are called what its results are called.
//!
//! coremltools' older back end keeps a loop variable, inside the loop and after it, in one place under one name, and gets
//! its program with the results of a `while_loop` in place of the inputs of its blocks. Here a value is defined once,
//! and no such program exists: the inputs of the blocks get the names of the results as their wishes, and stay values of
//! their own. Nothing that is computed changes, and text and files tell the names apart by a number where they must.

use coremill_mil::{Function, OpId, OpKind, Program, ValueId};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};

pub(crate) const PASS: PassInfo = PassInfo {
    id: "nn_backend::commingle_loop_vars",
    summary: "Gives the variables inside a loop the names of its results",
    options: &[],
    spec: include_str!("../../specs/nn_backend/commingle_loop_vars.mil"),
    make: |_: &Options| Box::new(CommingleLoopVars),
};

struct CommingleLoopVars;

impl Pass for CommingleLoopVars {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            let mut loops = f.all_ops();
            loops.retain(|&op| f.op(op).kind == OpKind::WhileLoop);
            for op in loops {
                cx.visited += 1;
                if cx.is_exhausted() {
                    break;
                }
                cx.rewrites += u64::from(rename(f, op));
            }
        }
        Ok(())
    }
}

/// Renames the inputs of the blocks of a loop; whether any had another name.
fn rename(f: &mut Function, op: OpId) -> bool {
    let results = f.op(op).outputs();
    let inputs = f.op(op).blocks().iter().flat_map(|&b| f.block(b).inputs().iter().zip(results));
    let named: Vec<(ValueId, String)> = inputs
        .map(|(&input, &result)| (input, f.value(result).name.clone()))
        .filter(|(input, name)| f.value(*input).name != *name)
        .collect();
    let renames = !named.is_empty();
    for (input, name) in named {
        f.set_name(input, name);
    }
    renames
}

#[cfg(test)]
mod tests {
    use coremill_mil::text::{NoBlobs, parse};

    use super::*;

    #[test]
    fn names_of_inner_and_outer_loops() {
        let text = "func main<ios17>(tensor<int32, []> s) {
            tensor<int32, []> out = while_loop(loop_vars = (s)) (tensor<int32, []> a) {
                tensor<bool, []> c = less(x = a, y = 9);
            } -> (c), (tensor<int32, []> b) {
                tensor<int32, []> inner = while_loop(loop_vars = (b)) (tensor<int32, []> d) {
                    tensor<bool, []> e = less(x = d, y = 3);
                } -> (e), (tensor<int32, []> g) {
                    tensor<int32, []> n = add(x = g, y = 1);
                } -> (n);
                tensor<int32, []> m = add(x = inner, y = 1);
            } -> (m);
        } -> (out);";
        let mut program = parse(text, &NoBlobs).unwrap();
        let mut cx = PassContext::new(PASS.id);
        CommingleLoopVars.run(&mut program, &mut cx).unwrap();
        let f = &program.functions["main"];
        let names = |block| f.block(block).inputs().iter().map(|&v| f.value(v).name.as_str()).collect::<Vec<_>>();
        let all: Vec<_> = f.all_blocks().into_iter().flat_map(names).collect();
        assert_eq!(cx.rewrites, 2);
        assert_eq!(all.iter().filter(|n| **n == "out").count(), 2, "{all:?}");
        assert_eq!(all.iter().filter(|n| **n == "inner").count(), 2, "{all:?}");
        assert_eq!(f.value(f.inputs()[0]).name, "s");
    }
}
