//! Placeholders in the arguments of hooks that are tools: `${tool_input.command}` stands for a member of the hook's input.

use serde_json::{Map, Value};

/// A placeholder that names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hook input placeholder `${{{0}}}` was not found")]
pub struct UnknownPlaceholder(String);

/// The arguments with all placeholders replaced. A text that is one placeholder becomes the value itself; in other texts,
/// values that are not texts are written as JSON.
///
/// # Errors
/// The input has no member of that name.
pub fn fill_placeholders(
    arguments: &Map<String, Value>,
    input: &Value,
) -> Result<Value, UnknownPlaceholder> {
    let filled = arguments
        .iter()
        .map(|(key, value)| Ok((key.clone(), fill(value, input)?)));
    filled.collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

fn fill(value: &Value, input: &Value) -> Result<Value, UnknownPlaceholder> {
    match value {
        Value::String(text) => fill_text(text, input),
        Value::Array(list) => list.iter().map(|value| fill(value, input)).collect(),
        Value::Object(members) => fill_placeholders(members, input),
        other => Ok(other.clone()),
    }
}

fn fill_text(text: &str, input: &Value) -> Result<Value, UnknownPlaceholder> {
    if let Some((name, "")) = text
        .strip_prefix("${")
        .and_then(|rest| rest.split_once('}'))
    {
        return find(name, input).cloned();
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        filled.push_str(before);
        match find(name, input)? {
            Value::String(text) => filled.push_str(text),
            other => filled.push_str(&other.to_string()),
        }
        rest = behind;
    }
    filled.push_str(rest);
    Ok(Value::String(filled))
}

fn find<'a>(name: &str, input: &'a Value) -> Result<&'a Value, UnknownPlaceholder> {
    let found = name
        .split('.')
        .try_fold(input, |value, member| value.get(member));
    found.ok_or_else(|| UnknownPlaceholder(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(arguments: Value) -> Result<Value, String> {
        let input = json!({ "tool_name": "Bash", "tool_input": { "command": "echo hi" } });
        let Value::Object(arguments) = arguments else {
            panic!()
        };
        fill_placeholders(&arguments, &input).map_err(|error| error.to_string())
    }

    /// Recorded from a reference.
    #[test]
    fn placeholders_are_replaced_by_input_members() {
        let arguments = json!({
            "whole": "${tool_input}", "part": "<${tool_input}>", "two": "${tool_name} ${tool_name}",
            "nested": { "list": ["${tool_input.command}", 1] }, "open": "${x", "plain": "$x {y}",
        });
        let expected = json!({
            "whole": { "command": "echo hi" }, "part": "<{\"command\":\"echo hi\"}>",
            "two": "Bash Bash", "nested": { "list": ["echo hi", 1] }, "open": "${x", "plain": "$x {y}",
        });
        assert_eq!(filled(arguments).unwrap(), expected);
    }

    #[test]
    fn a_placeholder_for_nothing_is_an_error() {
        for text in ["${none}", "a ${none} b"] {
            let error = filled(json!({ "a": [text] })).unwrap_err();
            assert_eq!(error, "hook input placeholder `${none}` was not found");
        }
    }
}
