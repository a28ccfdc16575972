//! Names that MIL text can hold.

use coremill_mil::{Function, ValueId};
use rustc_hash::FxHashSet;

use crate::pass::PassContext;

/// Words that MIL text keeps for itself.
const RESERVED: &[&str] = &[
    "any", "bool", "program", "func", "tensor", "list", "dict", "tuple", "true", "false", "string", "bf16", "fp16",
    "fp32", "fp64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "state",
];

/// Makes names identifiers and remembers them.
pub(crate) struct NameSanitizer {
    prefix: &'static str,
    taken: FxHashSet<String>,
}

impl NameSanitizer {
    /// A sanitizer that puts `prefix` before a name that starts with a digit.
    pub(crate) fn new(prefix: &'static str) -> NameSanitizer {
        NameSanitizer { prefix, taken: FxHashSet::default() }
    }

    /// Keeps a name for whom it belongs to, where it is an identifier already.
    fn reserve(&mut self, name: &str) {
        if self.identifier(name) == name {
            self.taken.insert(name.to_owned());
        }
    }

    /// The name with everything changed that an identifier does not have.
    fn identifier(&self, name: &str) -> String {
        let mut new: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if !new.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            new.insert_str(0, self.prefix);
        }
        if RESERVED.contains(&new.as_str()) {
            new.push_str("_workaround");
        }
        new
    }

    /// The name as an identifier; a changed one is unlike any seen before.
    pub(crate) fn claim(&mut self, name: &str) -> String {
        let mut new = self.identifier(name);
        if new != name {
            let mut suffix = 0;
            while self.taken.contains(&new) {
                new.push_str(&format!("_{suffix}"));
                suffix += 1;
            }
        }
        self.taken.insert(new.clone());
        new
    }
}

/// Makes the names of the function's inputs and outputs identifiers, each once. One that is an identifier already stays,
/// and none becomes what another one is.
pub(crate) fn sanitize_public_names(f: &mut Function, names: &mut NameSanitizer, cx: &mut PassContext) {
    f.inputs().iter().for_each(|&v| names.reserve(&f.value(v).name));
    f.output_names().iter().for_each(|n| names.reserve(n));
    for v in f.inputs().to_vec() {
        rename(f, v, names, cx);
    }
    let outputs: Vec<(String, ValueId)> = f.output_names().iter().cloned().zip(f.outputs()).collect();
    let renamed: Vec<(String, ValueId)> =
        outputs.iter().map(|(n, v)| (if is_input(f, *v, n) { n.clone() } else { names.claim(n) }, *v)).collect();
    for (name, v) in &renamed {
        if !f.inputs().contains(v) {
            f.set_name(*v, name.clone());
        }
    }
    if renamed != outputs {
        cx.rewrites += 1;
        f.set_outputs(renamed);
    }
}

fn is_input(f: &Function, v: ValueId, name: &str) -> bool {
    f.inputs().contains(&v) && f.value(v).name == name
}

/// Makes the name of a value an identifier.
pub(crate) fn rename(f: &mut Function, v: ValueId, names: &mut NameSanitizer, cx: &mut PassContext) {
    let old = f.value(v).name.clone();
    let new = names.claim(&old);
    if new != old {
        f.set_name(v, new);
        cx.rewrites += 1;
    }
}

#[cfg(test)]
mod tests {
    use coremill_mil::{Builder, OpKind, Opset, Place, Type};
    use coremill_tensor::DType;

    use super::*;

    /// Names of a function of these inputs whose output of this name is the last input's `relu`.
    fn sanitized(inputs: &[&str], output: &str) -> Vec<String> {
        let mut f = Function::new(Opset::Ios17);
        let body = f.body();
        let vs: Vec<ValueId> = inputs.iter().map(|n| f.add_input(body, *n, Type::known(DType::Fp32, &[2]))).collect();
        let mut b = Builder::new(&mut f, Place::End(body));
        let y = b.op(OpKind::Relu).input("x", vs[vs.len() - 1]).name(output).one().unwrap();
        f.set_outputs(vec![(output.to_owned(), y)]);
        sanitize_public_names(&mut f, &mut NameSanitizer::new("var_"), &mut PassContext::new("test"));
        let names = f.inputs().iter().map(|&v| f.value(v).name.clone());
        names.chain(f.output_names().iter().cloned()).collect()
    }

    #[test]
    fn public_names_become_identifiers_and_never_one() {
        assert_eq!(sanitized(&["a b", "a.b"], "1"), ["a_b", "a_b_0", "var_1"]);
        assert_eq!(sanitized(&["x"], "x!"), ["x", "x_"]);
        assert_eq!(sanitized(&["x_", "state"], "x!"), ["x_", "state_workaround", "x__0"]);
        assert_eq!(sanitized(&["x", "y"], "z"), ["x", "y", "z"]);
    }

    #[test]
    fn a_name_that_is_fine_does_not_give_way_to_one_that_is_made() {
        // `a b` would become `a_b`, which is the name of a later input.
        assert_eq!(sanitized(&["a b", "a_b"], "y"), ["a_b_0", "a_b", "y"]);
    }
}
