//! The vocabulary of 0.117: schemas without the members and variants that came later.

use serde_json::{Map, Value};

use super::schema::{ALWAYS_WRITTEN, REFERENCE};
use crate::releases::newer_members;

/// Removes what is newer than 0.117 from the schema of a type.
pub(super) fn remove_newer(ty: &str, schema: &mut Value) {
    for newer in newer_members(ty) {
        match (newer.strip_prefix('='), newer.split_once('.')) {
            (Some(variant), _) => remove_variant(schema, variant),
            (None, Some((variant, member))) => {
                for_each_branch(schema, &mut |branch| {
                    if is_variant(branch, variant) {
                        remove_member(branch, member);
                    }
                });
            }
            (None, None) => remove_member(schema, newer),
        }
    }
}

fn remove_member(schema: &mut Value, member: &str) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(member);
    }
    for key in ["required", ALWAYS_WRITTEN] {
        if let Some(names) = object.get_mut(key).and_then(Value::as_array_mut) {
            names.retain(|name| name != member);
            if names.is_empty() {
                object.remove(key);
            }
        }
    }
}

fn remove_variant(schema: &mut Value, variant: &str) {
    for key in ["oneOf", "anyOf"] {
        if let Some(branches) = schema.get_mut(key).and_then(Value::as_array_mut) {
            branches.retain(|branch| !is_variant(branch, variant));
        }
    }
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.retain(|value| value != variant);
    }
}

pub(super) fn for_each_branch(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    for key in ["oneOf", "anyOf"] {
        let branches = schema.get_mut(key).and_then(Value::as_array_mut);
        branches.into_iter().flatten().for_each(&mut *visit);
    }
}

/// Whether a branch of a union is the one with this constant or tag, the type of this name, or a plain `string` or
/// `array`.
pub(super) fn is_variant(branch: &Value, variant: &str) -> bool {
    let Some(object) = branch.as_object() else {
        return false;
    };
    if let Some(constant) = object.get("const") {
        return constant == variant;
    }
    if ["string", "array"].contains(&variant) {
        return object.get("type").is_some_and(|ty| ty == variant);
    }
    let has_tag = |properties: &Map<String, Value>| {
        properties
            .values()
            .any(|property| property.get("const").is_some_and(|tag| tag == variant))
    };
    let properties = object.get("properties").and_then(Value::as_object);
    let refers = |value: &Value| {
        let to = value.get("$ref").and_then(Value::as_str);
        to.and_then(|to| to.strip_prefix(REFERENCE)) == Some(variant)
    };
    let inner = object.get("allOf").and_then(Value::as_array);
    properties.is_some_and(has_tag)
        || refers(branch)
        || inner.is_some_and(|parts| parts.iter().any(refers))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Release, Surface};
    use super::*;

    #[test]
    fn variants_are_found_by_tag_name_and_kind() {
        let mut union = json!({ "anyOf": [
            { "type": "string", "const": "low" }, { "type": "string" }, { "const": "max" },
            { "allOf": [{ "$ref": format!("{REFERENCE}Other") }] },
        ] });
        for variant in ["string", "max", "Other"] {
            remove_variant(&mut union, variant);
        }
        assert_eq!(
            union,
            json!({ "anyOf": [{ "type": "string", "const": "low" }] })
        );
    }

    #[test]
    fn the_older_surface_has_no_newer_methods_and_members() {
        let files = super::super::typescript(Surface::Experimental, Release::V0_117);
        let file = |path: &str| files.iter().find(|file| file.path == path);
        let requests = &file("ClientRequest.ts").unwrap().text;
        assert!(requests.contains("\"thread/start\"") && !requests.contains("thread/goal/set"));
        let thread = &file("v2/Thread.ts").unwrap().text;
        assert!(
            thread.contains("preview") && !thread.contains("recencyAt"),
            "{thread}"
        );
        assert!(file("v2/ThreadGoalSetParams.ts").is_none());
        let now = super::super::typescript(Surface::Experimental, Release::Current);
        assert!(
            now.iter()
                .any(|file| file.path == "v2/ThreadGoalSetParams.ts")
        );
    }
}
