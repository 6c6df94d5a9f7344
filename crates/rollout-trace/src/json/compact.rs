//! The one compact text of a value: no white space, few escapes, numbers as they were written.

use super::escapes::escaped;
use super::value::Json;

/// The compact text of a value.
pub(crate) fn compact(value: &Json<'_>) -> String {
    let mut out = String::new();
    push_value(&mut out, value);
    out
}

fn push_value(out: &mut String, value: &Json<'_>) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(digits) => push_number(out, digits),
        Json::String(text) => push_string(out, &text.escaped()),
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_value(out, element);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (at, (key, member)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_string(out, &escaped(key));
                out.push(':');
                push_value(out, member);
            }
            out.push('}');
        }
    }
}

/// Keeps the digits; an exponent is written with a small `e` and a sign, minus zero without its sign.
fn push_number(out: &mut String, digits: &str) {
    if digits == "-0" {
        out.push('0');
        return;
    }
    let Some(at) = digits.find(['e', 'E']) else {
        out.push_str(digits);
        return;
    };
    let exponent = &digits[at + 1..];
    out.push_str(&digits[..at]);
    out.push('e');
    if !exponent.starts_with(['+', '-']) {
        out.push('+');
    }
    out.push_str(exponent);
}

/// A string with its quotes.
fn push_string(out: &mut String, escaped: &str) {
    out.push('"');
    out.push_str(escaped);
    out.push('"');
}
