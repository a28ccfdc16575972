//! JSON text as Python's `json.dumps` writes it with its default settings.
//!
//! Compile specs are compared byte for byte by caches and people, so spacing, escapes and the spelling of floats
//! follow Python. Values that JSON itself cannot hold (`NaN`, infinities) cannot occur in a [`Value`].

use std::fmt::Write;

use serde_json::{Number, Value};

/// `value` as Python's `json.dumps` writes it: `", "` and `": "` between items, all but printable ASCII escaped.
pub fn to_python_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (i, (key, item)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_string(out, key);
                out.push_str(": ");
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    push_formatted(out, format_args!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

fn write_number(out: &mut String, number: &Number) {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(int), _, _) => push_formatted(out, format_args!("{int}")),
        (_, Some(int), _) => push_formatted(out, format_args!("{int}")),
        (_, _, Some(float)) => write_float(out, float),
        _ => push_formatted(out, format_args!("{number}")),
    }
}

/// A float as Python's `repr` spells it: the shortest digits that read back, with an exponent of at least two digits
/// below 1e-4 and from 1e16 up.
fn write_float(out: &mut String, float: f64) {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if float == 0.0 || (-4..16).contains(&exponent) {
        push_formatted(out, format_args!("{float:?}"));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        push_formatted(out, format_args!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()));
    }
}

fn push_formatted(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String has no way to fail.
    let _ = out.write_fmt(arguments);
}
