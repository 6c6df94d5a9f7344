//! Schemas of the catalogue: their own keys, descriptions, references and variants.

use serde_json::{Map, Value, json};

use crate::method_table::Direction;

/// The unions of messages, by who sends them.
pub(super) const UNIONS: [(Direction, &str); 4] = [
    (Direction::ClientRequest, "ClientRequest"),
    (Direction::ServerRequest, "ServerRequest"),
    (Direction::ServerNotification, "ServerNotification"),
    (Direction::ClientNotification, "ClientNotification"),
];

/// The key under which an object lists the optional members that are never absent when we write it.
pub(super) const ALWAYS_WRITTEN: &str = "x-always-written";

/// The key of a member or variant that releases have and this program does not use.
pub(super) const NOT_USED: &str = "x-not-used";

/// The key under which an object lists the members that are required where unused members are described.
pub(super) const REQUIRED_BESIDE_UNUSED: &str = "x-required-beside-unused";

/// The key of an optional member that older releases require: the last of them.
pub(super) const REQUIRED_UNTIL: &str = "x-required-until";

/// The key of a member that we always write and that clients need not read: it is optional in TypeScript, since the same type
/// is sent by clients.
pub(super) const LEFT_OUT_BY_CLIENTS: &str = "x-left-out-by-clients";

/// The key of a type that has no file of TypeScript.
pub(super) const SCHEMA_ONLY: &str = "x-schema-only";

/// The key of an experimental member that releases describe on their stable surface.
pub(super) const SHOWN_IN_STABLE: &str = "x-shown-in-stable";

/// The key of a member that releases describe on their experimental surface alone.
pub(super) const HIDDEN_IN_STABLE: &str = "x-hidden-in-stable";

/// The keys that only the exporters need.
pub(super) const INTERNAL: [&str; 4] = [ALWAYS_WRITTEN, NAMED_ALONE, IN_ROOT, SCHEMA_ONLY];

/// The key of another schema in place of this one, in some releases.
pub(super) const IN_RELEASES: &str = "x-in-releases";

/// The key of a type that has a file though nothing refers to it: the first release that has it.
pub(super) const NAMED_ALONE: &str = "x-named-alone";

/// The key of such a type whose file is in the root folder.
pub(super) const IN_ROOT: &str = "x-in-root";

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
pub(super) fn for_each_reference<'a>(schema: &'a Value, visit: &mut impl FnMut(&'a str)) {
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

/// Calls `visit` with every variant of a union.
pub(super) fn for_each_branch(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    for key in ["oneOf", "anyOf"] {
        let branches = schema.get_mut(key).and_then(Value::as_array_mut);
        branches.into_iter().flatten().for_each(&mut *visit);
    }
}

/// What tells a variant from its siblings: the constant that it holds, or its only member.
pub(super) fn variant_tag(branch: &Map<String, Value>) -> Option<&str> {
    let properties = branch.get("properties")?.as_object()?;
    let constant = properties
        .values()
        .find_map(|property| property.get("const")?.as_str());
    match (constant, properties.len()) {
        (Some(tag), _) => Some(tag),
        (None, 1) => properties.keys().next().map(String::as_str),
        _ => None,
    }
}

/// Whether a branch of a union has this tag.
pub(super) fn has_tag(branch: &Value, tag: &str) -> bool {
    branch.as_object().and_then(variant_tag) == Some(tag)
}

/// Removes members from the lists of those that are required or always written.
pub(super) fn forget_members(object: &mut Map<String, Value>, removed: &[String]) {
    for key in ["required", ALWAYS_WRITTEN] {
        if let Some(names) = object.get_mut(key).and_then(Value::as_array_mut) {
            names.retain(|name| !removed.iter().any(|gone| name == gone));
            if names.is_empty() {
                object.remove(key);
            }
        }
    }
}
