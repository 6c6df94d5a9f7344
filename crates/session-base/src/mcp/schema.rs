//! The schema of a tool's arguments, reduced to what models understand.

use serde_json::{Map, Value, json};

/// The maximum depth of a schema.
const MAX_DEPTH: usize = 64;

const TYPES: [&str; 6] = ["object", "array", "string", "number", "integer", "boolean"];

/// Reduces a schema to what models understand; none if it names an unknown type or is too deep.
pub(super) fn for_models(schema: &Value) -> Option<Value> {
    let mut schema = schema.clone();
    if let Value::Object(map) = &mut schema
        && map.get("properties").is_none_or(Value::is_null)
    {
        map.insert("properties".to_owned(), json!({}));
    }
    reduced(&schema, MAX_DEPTH)
}

fn reduced(schema: &Value, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let map = match schema {
        Value::Object(map) => map,
        // `true` and `false` do not name a type.
        _ => return Some(json!({ "type": "string" })),
    };
    let kind = kind(map)?;
    let mut kept = Map::new();
    kept.insert("type".to_owned(), model_type(kind).into());
    if kind != "object"
        && let Some(description @ Value::String(_)) = map.get("description")
    {
        kept.insert("description".to_owned(), description.clone());
    }
    match kind {
        "object" => {
            let mut properties = Map::new();
            if let Some(Value::Object(all)) = map.get("properties") {
                for (name, schema) in all {
                    properties.insert(name.clone(), reduced(schema, depth)?);
                }
            }
            kept.insert("properties".to_owned(), properties.into());
            if let Some(required @ Value::Array(_)) = map.get("required") {
                kept.insert("required".to_owned(), required.clone());
            }
            match map.get("additionalProperties") {
                Some(allowed @ Value::Bool(_)) => {
                    kept.insert("additionalProperties".to_owned(), allowed.clone());
                }
                Some(schema @ Value::Object(_)) => {
                    let schema = reduced(schema, depth)?;
                    kept.insert("additionalProperties".to_owned(), schema);
                }
                _ => {}
            }
        }
        "array" => {
            let items = match map.get("items") {
                Some(Value::Array(_)) | None => json!({ "type": "string" }),
                Some(items) => reduced(items, depth)?,
            };
            kept.insert("items".to_owned(), items);
        }
        _ => {}
    }
    Some(kept.into())
}

/// Models know one type of number.
fn model_type(kind: &str) -> &str {
    match kind {
        "integer" => "number",
        other => other,
    }
}

/// The type that a schema names or implies; none if it is unknown.
fn kind(map: &Map<String, Value>) -> Option<&str> {
    let known = |name: &str| TYPES.into_iter().find(|known| *known == name);
    match map.get("type") {
        Some(Value::String(name)) => return known(name),
        Some(Value::Array(names)) => {
            let named = |kind: &&str| names.iter().any(|name| name == *kind);
            if let Some(kind) = TYPES.into_iter().find(named) {
                return Some(kind);
            }
        }
        _ => {}
    }
    let has = |names: &[&str]| names.iter().any(|name| map.contains_key(*name));
    Some(
        if has(&["properties", "required", "additionalProperties"]) {
            "object"
        } else if has(&["items", "prefixItems"]) {
            "array"
        } else if has(&["enum", "const", "format"]) {
            "string"
        } else if has(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]) {
            "number"
        } else {
            "string"
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_reduced_to_supported_keywords() {
        let table = [
            (
                json!({ "type": "object" }),
                json!({ "type": "object", "properties": {} }),
            ),
            (
                json!({ "properties": { "a": true, "b": { "type": ["null", "integer"] } } }),
                json!({ "type": "object", "properties": {
                    "a": { "type": "string" }, "b": { "type": "number" },
                } }),
            ),
            (
                json!({ "type": "object", "description": "x", "required": ["a"], "properties": {
                    "a": { "enum": ["x"], "description": "one of them" },
                    "b": { "items": { "minimum": 1 } },
                    "c": { "type": "array" },
                }, "additionalProperties": false, "$schema": "s" }),
                json!({ "type": "object", "properties": {
                    "a": { "type": "string", "description": "one of them" },
                    "b": { "type": "array", "items": { "type": "number" } },
                    "c": { "type": "array", "items": { "type": "string" } },
                }, "required": ["a"], "additionalProperties": false }),
            ),
        ];
        for (schema, expected) in table {
            assert_eq!(for_models(&schema), Some(expected));
        }
        let unknown = json!({ "type": "object", "properties": { "a": { "type": "null" } } });
        assert_eq!(for_models(&unknown), None);
    }

    #[test]
    fn a_schema_without_end_is_none() {
        let mut schema = json!({ "type": "string" });
        for _ in 0..100 {
            schema = json!({ "type": "array", "items": schema });
        }
        assert_eq!(for_models(&schema), None);
    }
}
