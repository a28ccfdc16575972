//! The indices of a program that coremill, or whoever runs the program, follows without looking.

use super::PteError;
use super::program::*;

/// Collects every index that leads nowhere.
pub(super) fn check(program: &Program) -> Result<(), PteError> {
    let mut problems = Vec::new();
    let segments = program.segments.len();
    let mut segment = |what: String, index: u32| {
        if index as usize >= segments {
            problems.push(format!("{what} is segment {index}, and the program has {segments}"));
        }
    };
    for named in program.named_data.iter().flatten() {
        segment(format!("named data '{}'", named.key), named.segment_index);
    }
    for offsets in program.constant_segment.iter().filter(|offsets| !offsets.offsets.is_empty()) {
        // ExecuTorch leaves this at zero where there is no constant data and no segment.
        if offsets.segment_index != 0 || offsets.offsets.len() > 1 {
            segment("constant data".to_owned(), offsets.segment_index);
        }
    }
    for offsets in program.mutable_data_segments.iter().flatten() {
        segment("mutable data".to_owned(), offsets.segment_index);
    }
    for plan in &program.execution_plan {
        check_plan(program, plan, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(PteError::Invalid(problems)) }
}

fn check_plan(program: &Program, plan: &ExecutionPlan, problems: &mut Vec<String>) {
    let name = &plan.name;
    for (index, delegate) in plan.delegates.iter().enumerate() {
        let (list, count) = match delegate.processed.location {
            DataLocation::Inline => ("inline data", program.backend_delegate_data.len()),
            DataLocation::Segment => ("segment", program.segments.len()),
        };
        let at = delegate.processed.index;
        if at as usize >= count {
            problems.push(format!("delegate {index} of '{name}' is in {list} {at}, and the program has {count}"));
        }
    }
    let values = plan.values.len();
    let mut value = |what: &str, index: i32| {
        if usize::try_from(index).is_ok_and(|index| index < values) {
            return;
        }
        problems.push(format!("{what} of '{name}' is value {index}, and it has {values} values"));
    };
    plan.inputs.iter().for_each(|index| value("an input", *index));
    plan.outputs.iter().for_each(|index| value("an output", *index));
    for instruction in plan.chains.iter().flat_map(|chain| &chain.instructions) {
        match instruction {
            Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } => {
                args.iter().for_each(|index| value("an argument", *index));
            }
            Instruction::MoveCall { move_from, move_to } => {
                value("the source of a move", *move_from);
                value("the target of a move", *move_to);
            }
            Instruction::JumpFalseCall { cond_value_index, .. } => value("a condition", *cond_value_index),
            Instruction::FreeCall { value_index } => value("a freed value", *value_index),
            Instruction::Absent => {}
        }
    }
}
