//! Options of passes as typed data.

use indexmap::IndexMap;
use serde_json::Value;

/// An option that a pass has.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Its name, as pipelines spell it.
    pub name: &'static str,
    /// The values it takes.
    pub kind: OptionKind,
    /// What it does, and what holds when it is not set.
    pub summary: &'static str,
}

/// The values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// A number of at least zero; text such as `1e6` is read as one, as coremltools does.
    Number,
    /// A whole number of at least zero.
    Count,
    /// `true` or `false`.
    Bool,
    /// A text.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A list of texts; one text is a list of its parts between commas.
    Texts,
    /// An object, checked by the pass.
    Object,
}

/// Option values of one pass, checked against its specs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options(IndexMap<String, Value>);

/// An option that cannot be set so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The pass has no such option.
    #[error("pass `{pass}` has no option `{name}`; {}", known_options(.known))]
    Unknown {
        /// The pass.
        pass: String,
        /// The option asked for.
        name: String,
        /// Those it has.
        known: Vec<&'static str>,
    },
    /// The value is not what the option takes.
    #[error("option `{name}` of pass `{pass}` takes {wants}, not `{value}`")]
    Value {
        /// The pass.
        pass: String,
        /// The option.
        name: String,
        /// What it takes.
        wants: String,
        /// The value given.
        value: String,
    },
}

fn known_options(known: &[&str]) -> String {
    if known.is_empty() { "it has none".to_owned() } else { format!("it has `{}`", known.join("`, `")) }
}

impl OptionKind {
    /// What the option takes, for messages.
    pub fn wants(self) -> String {
        let wants = match self {
            OptionKind::Number => "a number of at least zero",
            OptionKind::Count => "a whole number of at least zero",
            OptionKind::Bool => "`true` or `false`",
            OptionKind::Text => "a text",
            OptionKind::OneOf(texts) => return format!("one of `{}`", texts.join("`, `")),
            OptionKind::Texts => "a list of texts",
            OptionKind::Object => "an object",
        };
        wants.to_owned()
    }

    /// The value in its canonical form, or `None` when it is not what the option takes.
    fn check(self, value: &Value) -> Option<Value> {
        let number = || match value {
            Value::Number(n) => n.as_f64(),
            Value::String(s) => s.trim().parse().ok(),
            _ => None,
        };
        match self {
            OptionKind::Number => number().filter(|n| *n >= 0.0).map(Value::from),
            OptionKind::Count => number()
                .filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n <= (1u64 << 53) as f64)
                .map(|n| Value::from(n as u64)),
            OptionKind::Bool => match value {
                Value::Bool(_) => Some(value.clone()),
                Value::String(s) => s.parse::<bool>().ok().map(Value::from),
                _ => None,
            },
            OptionKind::Text => value.is_string().then(|| value.clone()),
            OptionKind::OneOf(texts) => value.as_str().filter(|s| texts.contains(s)).map(Value::from),
            OptionKind::Texts => match value {
                Value::String(s) => Some(s.split(',').map(str::trim).filter(|s| !s.is_empty()).collect()),
                Value::Array(a) if a.iter().all(Value::is_string) => Some(value.clone()),
                _ => None,
            },
            OptionKind::Object => value.is_object().then(|| value.clone()),
        }
    }
}

impl Options {
    /// Options of `pass` from raw values.
    ///
    /// # Errors
    /// Every option that the pass does not have or that has a wrong value.
    pub fn checked(
        pass: &str,
        specs: &[OptionSpec],
        values: &IndexMap<String, Value>,
    ) -> Result<Options, Vec<OptionError>> {
        let mut options = Options::default();
        let mut errors = Vec::new();
        for (name, value) in values {
            let Some(spec) = specs.iter().find(|s| s.name == name) else {
                let known = specs.iter().map(|s| s.name).collect();
                errors.push(OptionError::Unknown { pass: pass.to_owned(), name: name.clone(), known });
                continue;
            };
            match spec.kind.check(value) {
                Some(v) => {
                    options.0.insert(name.clone(), v);
                }
                None => errors.push(OptionError::Value {
                    pass: pass.to_owned(),
                    name: name.clone(),
                    wants: spec.kind.wants(),
                    value: value.to_string(),
                }),
            }
        }
        if errors.is_empty() { Ok(options) } else { Err(errors) }
    }

    /// The value of an option, when it is set.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// A whole number.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// A list of texts; empty when not set.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let list = self.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    }
}
