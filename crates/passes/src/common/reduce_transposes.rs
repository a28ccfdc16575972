//! `common::reduce_transposes`: transposes that undo each other go, together with the layout between them.
//!
//! A value is *turned* when it is the transpose of what its op would give if a `transpose` further up were not there:
//! the result of that `transpose`, and whatever ops make of it that can work in the other layout as well. Such ops are
//! the element-wise ones (a constant beside a turned value is transposed, a computed value reshaped, where a reshape is
//! enough), `concat`, `split`, `pad` and the reductions that keep dimensions, whose axes are renumbered. A `transpose`
//! that gives a turned value its old layout back *cancels*; where any other op, a nested block or an output of the block
//! takes a turned value, a `transpose` has to stay.
//!
//! One walk over each block finds the turned values; transposes that meet in an op form a group, and a group is taken
//! away as a whole or left as it is. It is taken away where that leaves fewer transposes, never where it leaves
//! more. As in coremltools, one that leaves as many moves down too, where several transposes then meet in one op.
//!
//! A `transpose` whose result is an output of its block is left alone. An op that ties a parameter to axis 1 (`prelu`,
//! `softplus_parametric`) works in the other layout where that axis stays. Outputs keep their names and types.

mod apply;
mod flow;
mod groups;
mod order;
mod through;

use coremill_mil::{BlockId, Function, Program};

use crate::options::Options;
use crate::pass::{Pass, PassContext, PassError, PassInfo};
use flow::Flow;

pub(crate) const PASS: PassInfo = PassInfo {
    id: "common::reduce_transposes",
    summary: "Cancels transposes that undo each other across the ops between them",
    options: &[],
    spec: include_str!("../../specs/common/reduce_transposes.mil"),
    make: |_: &Options| Box::new(ReduceTransposes),
};

struct ReduceTransposes;

impl Pass for ReduceTransposes {
    fn run(&self, program: &mut Program, cx: &mut PassContext) -> Result<(), PassError> {
        for f in program.functions.values_mut() {
            for block in f.all_blocks() {
                reduce(f, block, cx)?;
            }
        }
        Ok(())
    }
}

fn reduce(f: &mut Function, block: BlockId, cx: &mut PassContext) -> Result<(), PassError> {
    let mut flow = Flow::of(f, block, cx);
    let chosen = flow.groups.choose(cx);
    if chosen.contains(&true) { apply::apply(f, block, &flow, &chosen, cx) } else { Ok(()) }
}
