//! Tools as TypeScript, for their descriptions.

use serde_json::Value;

/// How deep a schema is rendered. What is deeper is `unknown`.
const MAX_DEPTH: usize = 12;

/// The declaration of a tool: the type of its input, none for text, and of its output.
#[must_use]
pub fn declaration(name: &str, input: Option<&Value>, output: Option<&str>) -> String {
    let input = match input {
        Some(schema) => format!("args: {}", type_of(schema)),
        None => "input: string".to_owned(),
    };
    let output = output.unwrap_or("unknown");
    format!("declare const tools: {{ {name}({input}): Promise<{output}>; }};")
}

/// A JSON Schema as a type.
#[must_use]
pub fn type_of(schema: &Value) -> String {
    rendered(schema, 0)
}

fn rendered(schema: &Value, depth: usize) -> String {
    if depth > MAX_DEPTH {
        return "unknown".to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return joined(values.iter().map(Value::to_string), " | ");
    }
    for (key, separator) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
        if let Some(parts) = schema[key].as_array() {
            return joined(
                parts.iter().map(|part| rendered(part, depth + 1)),
                separator,
            );
        }
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            joined(kinds.map(|kind| of_kind(kind, schema, depth)), " | ")
        }
        Value::String(kind) => of_kind(kind, schema, depth),
        _ if schema["properties"].is_object() => object(schema, depth),
        _ if schema.get("items").is_some() => of_kind("array", schema, depth),
        _ => "unknown".to_owned(),
    }
}

fn of_kind(kind: &str, schema: &Value, depth: usize) -> String {
    match kind {
        "string" | "number" | "boolean" | "null" => kind.to_owned(),
        "integer" => "number".to_owned(),
        "array" => match schema.get("items") {
            Some(items) => format!("Array<{}>", rendered(items, depth + 1)),
            None => "unknown[]".to_owned(),
        },
        "object" => object(schema, depth),
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Value, depth: usize) -> String {
    let no_properties = serde_json::Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&no_properties);
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let indent = "  ".repeat(depth + 1);
    let mut members = String::new();
    for (name, property) in properties {
        for line in property["description"].as_str().unwrap_or_default().lines() {
            members.push_str(&format!("{indent}// {line}\n"));
        }
        let mark = if is_required(name) { "" } else { "?" };
        let kind = rendered(property, depth + 1);
        let is_plain = name
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || one == '_');
        let name = if is_plain {
            name.clone()
        } else {
            Value::from(name.as_str()).to_string()
        };
        members.push_str(&format!("{indent}{name}{mark}: {kind};\n"));
    }
    match &schema["additionalProperties"] {
        Value::Bool(false) => {}
        others @ Value::Object(_) => {
            let others = rendered(others, depth + 1);
            members.push_str(&format!("{indent}[key: string]: {others};\n"));
        }
        _ => members.push_str(&format!("{indent}[key: string]: unknown;\n")),
    }
    if members.is_empty() {
        return "{}".to_owned();
    }
    format!("{{\n{members}{}}}", "  ".repeat(depth))
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return "unknown".to_owned();
    }
    parts.join(separator)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: &str) {
        assert_eq!(type_of(&schema), expected);
    }

    #[test]
    fn schemas_become_types() {
        check(json!({"type": "integer"}), "number");
        check(json!({"type": ["string", "null"]}), "string | null");
        check(json!({"enum": ["a", 1]}), "\"a\" | 1");
        check(
            json!({"anyOf": [{"type": "string"}, {}]}),
            "string | unknown",
        );
        check(
            json!({"type": "array", "items": {"type": "boolean"}}),
            "Array<boolean>",
        );
        check(
            json!({"type": "object", "additionalProperties": false}),
            "{}",
        );
        check(
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": "One.\nTwo."},
                    "b-c": {"type": "number"},
                },
                "required": ["a"],
                "additionalProperties": false,
            }),
            "{\n  // One.\n  // Two.\n  a: string;\n  \"b-c\"?: number;\n}",
        );
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"type": "array", "items": deep});
        }
        assert!(type_of(&deep).len() < 200);
    }

    #[test]
    fn a_tool_is_declared() {
        assert_eq!(
            declaration("apply_patch", None, Some("{}")),
            "declare const tools: { apply_patch(input: string): Promise<{}>; };"
        );
    }
}
