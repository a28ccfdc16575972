//! The verifier: what is wrong with a program, all of it, in time linear in the program.
//!
//! It holds a program to the op table (which ops, which inputs of which types, which of them constant, which
//! results), to the rule that a value is defined before it is used, and to what a file needs of names. It also
//! holds the function's own records (use lists, links between ops) to what they promise. A program without
//! problems is one that passes and writers take without panic.
//!
//! It repairs nothing, and says nothing of what a program computes.

mod names;
mod ops;
mod problem;
mod walk;

use crate::text::{self, Notes, PrintOptions};
use crate::{Function, OpId, Program};

pub use problem::{Port, Problem};

/// How much a program has to be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// More passes follow: ops of dialects are in order, and so are names and outputs that a later pass puts right.
    Passes,
    /// It is to be written to a file.
    Written,
}

/// One problem and its place. It displays as one line: function, op, problem, what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Name of the function.
    pub function: String,
    /// The op; `None` where the signature is wrong.
    pub op: Option<OpId>,
    /// The op's type; empty where there is no op.
    pub op_type: String,
    /// The op's name, or the name of its first result; empty where it has none.
    pub op_name: String,
    /// What is wrong.
    pub problem: Problem,
    /// What to do about it.
    pub help: String,
}

/// Everything that keeps a program from being written, by function, in program order.
///
/// ```
/// use coremill_mil::verify::{Problem, verify};
/// use coremill_mil::{Function, NewOp, OpKind, Opset, Place, Program, Type};
/// use coremill_tensor::DType;
///
/// let mut f = Function::new(Opset::Ios17);
/// let body = f.body();
/// let x = f.add_input(body, "x", Type::known(DType::Fp32, &[2]));
/// let ty = Type::known(DType::Fp32, &[2]);
/// let op = f.insert(Place::End(body), NewOp::new(OpKind::Add).input("x", x).output("y", ty));
/// f.set_outputs(vec![("y".to_owned(), f.op(op).output())]);
/// let found = verify(&Program::with_main(f));
/// assert_eq!(found[0].problem, Problem::MissingInput("y"));
/// assert_eq!(found[0].to_string(), "main: `add` of `y`: it needs `y`, which is not given; give `y` a value");
/// ```
pub fn verify(program: &Program) -> Vec<Diagnostic> {
    verify_at(program, Stage::Written)
}

/// Everything that is wrong with a program at a stage, by function, in program order.
pub fn verify_at(program: &Program, stage: Stage) -> Vec<Diagnostic> {
    program.functions.iter().flat_map(|(name, f)| verify_function(name, f, stage)).collect()
}

/// Everything that is wrong with one function at a stage, in program order.
pub fn verify_function(name: &str, f: &Function, stage: Stage) -> Vec<Diagnostic> {
    let mut found = walk::walk(f, stage);
    found.extend(names::check(name, f, stage).into_iter().map(|p| (None, p)));
    found.into_iter().map(|(op, problem)| Diagnostic::new(name, f, op, problem)).collect()
}

/// The functions with problems as text, each problem as a remark under its op; problems of a signature come first,
/// as comments. `options.context` leaves out the ops that are not near one. Empty when there are no problems.
pub fn annotate(program: &Program, found: &[Diagnostic], options: &PrintOptions<'_>) -> String {
    let mut out = String::new();
    for (name, f) in &program.functions {
        let here: Vec<&Diagnostic> = found.iter().filter(|d| d.function == *name).collect();
        if here.is_empty() {
            continue;
        }
        let mut notes = Notes::new();
        for d in here {
            match d.op.filter(|&op| f.is_live(op)) {
                Some(op) => notes.add(op, d.message()),
                None => {
                    out.push_str("// ");
                    out.push_str(&d.to_string().replace(['\n', '\r'], " "));
                    out.push('\n');
                }
            }
        }
        out.push_str(&text::print_annotated(name, f, options, &notes));
    }
    out
}

impl Diagnostic {
    fn new(function: &str, f: &Function, op: Option<OpId>, problem: Problem) -> Diagnostic {
        let live = op.filter(|&op| f.is_live(op)).map(|op| f.op(op));
        let first =
            |o: &crate::Op| o.outputs().first().filter(|&&v| f.is_live_value(v)).map(|&v| f.value(v).name.clone());
        Diagnostic {
            function: function.to_owned(),
            op,
            op_type: live.map(|o| o.type_name().to_owned()).unwrap_or_default(),
            op_name: live.and_then(|o| o.name.clone().or_else(|| first(o))).unwrap_or_default(),
            help: problem.help(),
            problem,
        }
    }

    /// The problem and what to do, without the place.
    pub fn message(&self) -> String {
        if self.help.is_empty() { self.problem.to_string() } else { format!("{}; {}", self.problem, self.help) }
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.function)?;
        if self.op.is_some() {
            write!(f, "`{}`", self.op_type)?;
            if !self.op_name.is_empty() {
                write!(f, " of `{}`", self.op_name)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message())
    }
}
