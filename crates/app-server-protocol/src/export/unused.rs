//! What release 0.169 describes otherwise than this program, for clients that are written for that release.
//!
//! Most of it is not used here. The members are optional: this program never sends them and ignores them. It sends none
//! of the variants, and refuses them in requests.

use std::collections::BTreeMap;

use codex_protocol::EXPERIMENTAL_KEY;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::older::{for_each_branch, is_variant};
use super::schema::describe;

const TABLE: &str = include_str!("unused.json");
const DESCRIPTION: &str = "Of release 0.169; not used here.";

/// The descriptions of what is not used.
#[derive(Default, Deserialize)]
pub(super) struct UnusedParts {
    types: BTreeMap<String, UnusedInType>,
    /// Types that only these parts refer to.
    definitions: BTreeMap<String, Value>,
}

/// What is not used of a type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UnusedInType {
    members: BTreeMap<String, UnusedMember>,
    /// Members of the variants, by tag.
    of: BTreeMap<String, BTreeMap<String, UnusedMember>>,
    variants: Vec<Value>,
    /// Members that this program always sends, as clients of 0.169 expect. Those of 0.117 need not.
    required: Vec<String>,
}

#[derive(Clone, Deserialize)]
struct UnusedMember {
    schema: Value,
    experimental: bool,
}

impl UnusedParts {
    pub(super) fn read() -> serde_json::Result<Self> {
        serde_json::from_str(TABLE)
    }

    /// Adds what is not used of a type to its schema.
    pub(super) fn add(&self, ty: &str, schema: &mut Value) {
        let Some(unused) = self.types.get(ty) else {
            return;
        };
        add_members(schema, &unused.members);
        require(schema, &unused.required);
        for (tag, members) in &unused.of {
            for_each_branch(schema, &mut |branch| {
                if is_variant(branch, tag) {
                    add_members(branch, members);
                }
            });
        }
        for variant in &unused.variants {
            add_variant(schema, described(variant.clone()));
        }
    }

    /// The types that only these parts refer to.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (String, Value)> {
        let all = self.definitions.iter();
        all.map(|(name, schema)| (name.clone(), described(schema.clone())))
    }
}

fn add_members(object: &mut Value, members: &BTreeMap<String, UnusedMember>) {
    let Some(object) = object.as_object_mut().filter(|_| !members.is_empty()) else {
        return;
    };
    let properties = object
        .entry("properties")
        .or_insert_with(|| Map::new().into());
    let Some(properties) = properties.as_object_mut() else {
        return;
    };
    for (name, member) in members {
        let mut schema = described(member.schema.clone());
        if let (true, Some(schema)) = (member.experimental, schema.as_object_mut()) {
            schema.insert(EXPERIMENTAL_KEY.to_owned(), name.clone().into());
        }
        properties.entry(name.clone()).or_insert(schema);
    }
}

fn require(schema: &mut Value, members: &[String]) {
    let Some(object) = schema.as_object_mut().filter(|_| !members.is_empty()) else {
        return;
    };
    let required = object
        .entry("required")
        .or_insert_with(|| Value::Array(Vec::new()));
    let names = members.iter().cloned().map(Value::from);
    required
        .as_array_mut()
        .into_iter()
        .for_each(|all| all.extend(names.clone()));
}

fn add_variant(schema: &mut Value, variant: Value) {
    let is_constant = variant
        .get("const")
        .and_then(Value::as_str)
        .map(str::to_owned);
    if let (Some(constant), Some(values)) = (
        &is_constant,
        schema.get_mut("enum").and_then(Value::as_array_mut),
    ) {
        values.push(constant.clone().into());
        return;
    }
    if is_open(&variant)
        && let Some(object) = schema.as_object_mut()
        && let Some(branches) = object.remove("oneOf")
    {
        // The values of the other branches fit this one as well.
        object.insert("anyOf".to_owned(), branches);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(branches) = schema.get_mut(key).and_then(Value::as_array_mut) {
            branches.push(variant);
            return;
        }
    }
}

/// Whether any string, or any object, is of this variant.
fn is_open(variant: &Value) -> bool {
    let is_free_of = |keys: [&str; 2]| keys.iter().all(|key| variant.get(key).is_none());
    match variant["type"].as_str() {
        Some("string") => is_free_of(["const", "enum"]),
        Some("object") => is_free_of(["required", "additionalProperties"]),
        _ => false,
    }
}

/// Describes a schema and the members in it.
fn described(mut schema: Value) -> Value {
    if schema == Value::Bool(true) {
        schema = Map::new().into();
    }
    describe(&mut schema, DESCRIPTION.into());
    describe_members(&mut schema);
    schema
}

fn describe_members(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        *property = described(property.take());
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        let branches = object.get_mut(key).and_then(Value::as_array_mut);
        for branch in branches.into_iter().flatten() {
            let is_shown = branch.get("properties").is_some() || branch.get("const").is_some();
            if is_shown {
                *branch = described(branch.take());
            }
        }
    }
    if let Some(items) = object.get_mut("items") {
        describe_members(items);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::super::{Release, Surface, json_schema};
    use super::*;

    #[test]
    fn what_is_not_used_is_described_for_newer_clients_alone() {
        let parts = UnusedParts::read().unwrap();
        assert!(parts.types.len() > 50 && parts.definitions.len() > 50);
        let bundle = |release| {
            let files = json_schema(Surface::Experimental, release);
            let bundle = files
                .into_iter()
                .find(|file| file.path.ends_with(".v2.schemas.json"));
            bundle.unwrap().text
        };
        assert!(bundle(Release::Current).contains("\"misalignment\""));
        assert!(!bundle(Release::Own).contains("\"misalignment\""));
        assert!(!bundle(Release::V0_117).contains("\"misalignment\""));
    }

    #[test]
    fn union_with_an_open_variant_takes_what_two_variants_fit() {
        let constant = json!({ "type": "string", "const": "a" });
        let mut closed = json!({ "oneOf": [constant] });
        add_variant(&mut closed, json!({ "type": "string", "const": "b" }));
        assert_eq!(closed["oneOf"].as_array().unwrap().len(), 2);
        for open in [
            json!({ "type": "string" }),
            json!({ "type": "object", "properties": {} }),
        ] {
            let mut union = json!({ "oneOf": [constant] });
            add_variant(&mut union, open.clone());
            assert_eq!(union, json!({ "anyOf": [constant, open] }));
        }
    }
}
