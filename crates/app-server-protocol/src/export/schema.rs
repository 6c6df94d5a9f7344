//! Schemas of the catalogue: their own keys, descriptions and references.

use serde_json::{Value, json};

/// The key under which an object lists the optional members that are never absent when we write it.
pub(super) const ALWAYS_WRITTEN: &str = "x-always-written";

/// What a reference starts with.
pub(super) const REFERENCE: &str = "#/definitions/";

/// Adds a description where there is none. Beside a reference, draft 7 would not see it.
pub(super) fn describe(schema: &mut Value, description: Value) {
    if schema.get("$ref").is_some() {
        *schema = json!({ "allOf": [schema.take()] });
    }
    if let Some(object) = schema.as_object_mut() {
        object.entry("description").or_insert(description);
    }
}

/// Calls `visit` with the name of every type that a schema refers to.
pub(super) fn for_each_reference(schema: &Value, visit: &mut impl FnMut(&str)) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str().and_then(|text| text.strip_prefix(REFERENCE)) {
                    Some(name) if key == "$ref" => visit(name),
                    _ => for_each_reference(value, visit),
                }
            }
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| for_each_reference(value, visit)),
        _ => {}
    }
}
