//! The texts of a question of an MCP server, so that all of them show. Pure.
//!
//! What a person reads gets escapes. What the answer has in it (names of fields, values to choose) stays as it is; where it
//! would be its own label and does not show as it is, it gets a label. The address of a page is percent-encoded, which
//! leads to the same page.

use codex_protocol::ElicitationRequest;
use codex_visible_text::{visible_line, visible_lines, visible_script};
use serde_json::{Map, Value, json};

/// Members of a form that an answer contains, or that only programs read.
const OF_ANSWERS: [&str; 7] = [
    "$ref", "const", "enum", "format", "pattern", "required", "type",
];

/// Members that are one line. All others may have several.
const LINES: [&str; 5] = ["enumNames", "header", "label", "placeholder", "title"];

/// The question with escapes for what would not show.
pub(super) fn visible_question(mut request: ElicitationRequest) -> ElicitationRequest {
    use ElicitationRequest as Q;
    let (Q::Form { meta, message, .. }
    | Q::OpenaiForm { meta, message, .. }
    | Q::Url { meta, message, .. }) = &mut request;
    *meta = meta.as_ref().map(visible_value);
    *message = visible_lines(message);
    match &mut request {
        Q::Form {
            requested_schema, ..
        }
        | Q::OpenaiForm {
            requested_schema, ..
        } => *requested_schema = visible_form(requested_schema),
        Q::Url { url, .. } => *url = visible_address(url),
    }
    request
}

/// A value for display, with escapes in its texts.
pub(super) fn visible_value(value: &Value) -> Value {
    match value {
        Value::String(text) => visible_script(text).into(),
        Value::Array(values) => values.iter().map(visible_value).collect(),
        Value::Object(members) => (members.iter())
            .map(|(name, value)| (visible_line(name), visible_value(value)))
            .collect(),
        other => other.clone(),
    }
}

fn visible_form(form: &Value) -> Value {
    match form {
        Value::Array(values) => values.iter().map(visible_form).collect(),
        Value::Object(members) => visible_members(members).into(),
        other => other.clone(),
    }
}

fn visible_members(members: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = Map::new();
    for (name, value) in members {
        let value = match value {
            // An answer that nobody sees is not filled in beforehand.
            Value::String(text) if name == "default" && visible_script(text) != *text => continue,
            value if name == "default" || OF_ANSWERS.contains(&name.as_str()) => value.clone(),
            Value::String(_) | Value::Array(_) if LINES.contains(&name.as_str()) => {
                each_text(value, visible_line)
            }
            Value::String(_) | Value::Array(_) => each_text(value, visible_lines),
            Value::Object(fields) if name == "properties" => labelled_fields(fields).into(),
            Value::Object(choice) if name == "items" => {
                labelled_choice(visible_members(choice), "anyOf").into()
            }
            value => visible_form(value),
        };
        shown.insert(name.clone(), value);
    }
    if let Some(value) = members.get("const").filter(|value| hides_value(value))
        && !shown.contains_key("title")
    {
        shown.insert("title".to_owned(), each_text(value, visible_line));
    }
    shown
}

/// Fields with labels where their names do not show.
fn labelled_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let fields = fields.iter().map(|(name, field)| {
        let Value::Object(field) = field else {
            return (name.clone(), visible_form(field));
        };
        let mut field = labelled_choice(visible_members(field), "oneOf");
        if hides(name) && !field.contains_key("title") {
            field.insert("title".to_owned(), visible_line(name).into());
        }
        (name.clone(), field.into())
    });
    fields.collect()
}

/// A choice of values, each with a label in `list` where one of them does not show.
fn labelled_choice(mut choice: Map<String, Value>, list: &str) -> Map<String, Value> {
    let values = choice.get("enum").and_then(Value::as_array);
    let Some(values) = values.filter(|values| values.iter().any(hides_value)) else {
        return choice;
    };
    let names = choice.get("enumNames").and_then(Value::as_array);
    let choices = values.iter().enumerate().map(|(index, value)| {
        let label = names.and_then(|names| names.get(index)).cloned();
        let label = label.unwrap_or_else(|| each_text(value, visible_line));
        json!({ "const": value, "title": label })
    });
    let choices = choices.collect();
    choice.retain(|name, _| !matches!(name.as_str(), "enum" | "enumNames"));
    choice.insert(list.to_owned(), choices);
    choice
}

fn each_text(value: &Value, visible: fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => visible(text).into(),
        Value::Array(values) => (values.iter())
            .map(|value| each_text(value, visible))
            .collect(),
        other => visible_form(other),
    }
}

fn hides_value(value: &Value) -> bool {
    value.as_str().is_some_and(hides)
}

fn hides(text: &str) -> bool {
    visible_line(text) != text
}

/// An address whose hidden characters are percent-encoded. Those that a browser leaves out are left out.
fn visible_address(url: &str) -> String {
    let mut shown = String::with_capacity(url.len());
    let is_left_out = |letter: &char| ['\t', '\r', '\n'].contains(letter);
    let url = url.trim_matches(|letter: char| letter <= ' ');
    for letter in url.chars().filter(|letter| !is_left_out(letter)) {
        let mut bytes = [0; 4];
        let text = letter.encode_utf8(&mut bytes);
        if hides(text) || letter.is_whitespace() {
            shown.extend(text.bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_texts_are_escaped_and_answers_kept() {
        let odd = "a\u{202e}b";
        let form = json!({
            "type": "object",
            "properties": {
                odd: { "type": "string", "default": odd },
                "title": { "type": "string", "title": odd, "description": odd, "default": "x" },
                "one": { "type": "string", "enum": [odd, "c"] },
                "many": { "type": "array", "items": { "type": "string", "enum": [odd] } },
                "named": { "type": "string", "oneOf": [{ "const": odd, "title": odd }] },
                "old": { "type": "string", "enum": [odd], "enumNames": [odd] },
            },
            "required": [odd],
        });
        let seen = r"a\u{202e}b";
        let expected = json!({
            "type": "object",
            "properties": {
                odd: { "type": "string", "title": seen },
                "title": { "type": "string", "title": seen, "description": seen, "default": "x" },
                "one": { "type": "string", "oneOf": [{ "const": odd, "title": seen }, { "const": "c", "title": "c" }] },
                "many": { "type": "array", "items": { "type": "string", "anyOf": [{ "const": odd, "title": seen }] } },
                "named": { "type": "string", "oneOf": [{ "const": odd, "title": seen }] },
                "old": { "type": "string", "oneOf": [{ "const": odd, "title": seen }] },
            },
            "required": [odd],
        });
        assert_eq!(visible_form(&form), expected);
    }

    #[test]
    fn texts_of_unknown_forms_show_too() {
        let odd = "a\u{202e}b";
        let form = json!({
            "submitLabel": odd,
            "content": [{ "markdown": odd, "hint": [odd], "default": "two\nlines" }],
            "choices": [{ "const": odd }, { "const": "c" }],
        });
        let seen = r"a\u{202e}b";
        let expected = json!({
            "submitLabel": seen,
            "content": [{ "markdown": seen, "hint": [seen], "default": "two\nlines" }],
            "choices": [{ "const": odd, "title": seen }, { "const": "c" }],
        });
        assert_eq!(visible_form(&form), expected);
    }

    #[test]
    fn addresses_show_and_lead_to_the_same_page() {
        for (url, expected) in [
            ("https://a.test/x?y=1#z", "https://a.test/x?y=1#z"),
            (
                " https://a.test/\u{202e}x\t y\n",
                "https://a.test/%E2%80%AEx%20y",
            ),
        ] {
            assert_eq!(visible_address(url), expected);
        }
    }
}
