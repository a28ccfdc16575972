//! Ops named by type, name or module, for options that leave ops out.
//!
//! A file cannot hold a function that looks at an op, as coremltools' `op_selector` is; patterns on what an op is
//! called and where it comes from serve instead. In a pattern, `*` stands for any text and `?` for one character.

use coremill_mil::{Function, OpId, OpKind, Program};
use wildmatch::WildMatch;

use crate::options::{OptionKind, OptionSpec, Options};

/// The options that select ops.
pub(crate) const SELECTION: [OptionSpec; 3] = [
    OptionSpec {
        name: "skip_ops_by_type",
        kind: OptionKind::Texts,
        summary: "Leave ops of these types alone (`mul,softmax`)",
    },
    OptionSpec {
        name: "skip_ops_by_name",
        kind: OptionKind::Texts,
        summary: "Leave ops of these names alone; `*` and `?` stand for any part (`layers.3.*`)",
    },
    OptionSpec {
        name: "skip_ops_by_module",
        kind: OptionKind::Texts,
        summary: "Leave ops that come from these modules of the source model alone; `*` and `?` stand for any part",
    },
];

/// The ops that the options select.
pub(crate) struct OpSelection {
    types: Vec<String>,
    names: Vec<WildMatch>,
    modules: Vec<WildMatch>,
}

impl OpSelection {
    /// What these options select.
    pub(crate) fn new(options: &Options) -> OpSelection {
        let patterns = |name| options.texts(name).iter().map(|p| WildMatch::new(p)).collect();
        OpSelection {
            types: options.texts(SELECTION[0].name),
            names: patterns(SELECTION[1].name),
            modules: patterns(SELECTION[2].name),
        }
    }

    /// Is the op selected?
    pub(crate) fn skips(&self, f: &Function, op: OpId) -> bool {
        self.types.iter().any(|t| t == f.op(op).type_name())
            || self.names.iter().any(|p| is_called(f, op, p))
            || self.modules.iter().any(|p| is_of_module(f, op, p))
    }

    /// Says which patterns match nothing in the program: most often a misspelling.
    pub(crate) fn report(&self, program: &Program, notes: &mut Vec<String>) {
        let any = |test: &dyn Fn(&Function, OpId) -> bool| {
            program.functions.values().any(|f| f.all_ops().into_iter().any(|op| test(f, op)))
        };
        let mut say = |option: &OptionSpec, pattern: &str, found: bool| {
            if !found {
                notes.push(format!("`{}`: no op matches `{pattern}`", option.name));
            }
        };
        for t in &self.types {
            say(&SELECTION[0], t, any(&|f, op| f.op(op).type_name() == t));
        }
        for p in &self.names {
            say(&SELECTION[1], &p.to_string(), any(&|f, op| is_called(f, op, p)));
        }
        for p in &self.modules {
            say(&SELECTION[2], &p.to_string(), any(&|f, op| is_of_module(f, op, p)));
        }
    }
}

/// What the op is called: its own name, else its first result's.
pub(crate) fn op_name(f: &Function, op: OpId) -> &str {
    let op = f.op(op);
    let result = || op.outputs().first().map(|&v| f.value(v).name.as_str());
    op.name.as_deref().or_else(result).unwrap_or_default()
}

/// By its own name, that of a result, or that of an output of the function that it gives.
fn is_called(f: &Function, op: OpId, pattern: &WildMatch) -> bool {
    if f.kind(op) == OpKind::Const {
        return false;
    }
    let results = f.op(op).outputs();
    let public = f.output_names().iter().zip(f.outputs()).filter(|(_, v)| results.contains(v));
    pattern.matches(op_name(f, op))
        || results.iter().any(|&v| pattern.matches(&f.value(v).name))
        || (results.iter().any(|&v| f.is_function_output(v)) && public.into_iter().any(|(n, _)| pattern.matches(n)))
}

fn is_of_module(f: &Function, op: OpId, pattern: &WildMatch) -> bool {
    f.op(op).origin.source.as_ref().is_some_and(|s| pattern.matches(&s.module_path))
}
