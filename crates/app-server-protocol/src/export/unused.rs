//! What releases describe otherwise than this program, for clients that are written for them.
//!
//! Most of it is not used here. The members are optional: this program never sends them and ignores them. It sends none
//! of the variants, and refuses them in requests. All of it is marked.

use std::collections::BTreeMap;

use codex_protocol::{EXPERIMENTAL_KEY, SINCE_KEY};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::catalogue::{MethodRow, UnreadParams};
use super::definitions::name_variants;
use super::error::CatalogueError;
use super::schema::{
    IN_RELEASES, IN_ROOT, NAMED_ALONE, NOT_USED, REQUIRED_BESIDE_UNUSED, SCHEMA_ONLY,
    SHOWN_IN_STABLE, for_each_branch, has_tag,
};

const TABLE: &str = include_str!("unused.json");

/// The descriptions of what is not used.
#[derive(Deserialize)]
pub(super) struct UnusedParts {
    types: BTreeMap<String, UnusedInType>,
    /// Types that only these parts refer to, or that have another name in a release.
    definitions: BTreeMap<String, Value>,
    /// Types that have a file even where nothing refers to them.
    named: BTreeMap<String, NamedType>,
    /// Experimental members that releases describe on their stable surface, by type.
    stable: BTreeMap<String, Vec<String>>,
    /// Params of methods that take none here.
    params: BTreeMap<String, UnreadParams>,
    /// Types and members that some releases describe in another way.
    forms: BTreeMap<String, OtherForms>,
}

/// How releases describe a type, or members of it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OtherForms {
    /// The schema of the whole type, with the releases: `since`, `until`, `schema`.
    whole: Option<Value>,
    members: BTreeMap<String, Value>,
}

/// A type that clients of a release import by its name.
#[derive(Deserialize)]
struct NamedType {
    since: String,
    #[serde(default)]
    in_root: bool,
    #[serde(default)]
    schema_only: bool,
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

#[derive(Deserialize)]
struct UnusedMember {
    schema: Value,
    #[serde(default)]
    experimental: bool,
    since: String,
}

impl UnusedParts {
    pub(super) fn read() -> Result<Self, CatalogueError> {
        serde_json::from_str(TABLE).map_err(CatalogueError::of("the parts that are not used"))
    }

    /// Adds what is not used to the schemas of all types.
    pub(super) fn add_to(
        mut self,
        methods: &mut [MethodRow],
        definitions: &mut BTreeMap<String, Value>,
    ) {
        for method in methods {
            method.unread_params = self.params.remove(&method.name);
        }
        for (name, unused) in &self.types {
            if let Some(schema) = definitions.get_mut(name) {
                unused.add_to(schema);
            }
        }
        for (name, mut schema) in self.definitions {
            name_variants(&name, &mut schema);
            mark_not_used(&mut schema);
            definitions.entry(name).or_insert(schema);
        }
        for (name, forms) in self.forms {
            if let Some(schema) = definitions.get_mut(&name) {
                forms.add_to(&name, schema);
            }
        }
        for (name, members) in self.stable {
            let schema = definitions.get_mut(&name).and_then(Value::as_object_mut);
            let properties = schema.and_then(|schema| schema.get_mut("properties"));
            let properties = properties.and_then(Value::as_object_mut);
            for (_, property) in properties
                .into_iter()
                .flatten()
                .filter(|(name, _)| members.contains(name))
            {
                if let Some(property) = property.as_object_mut() {
                    property.insert(SHOWN_IN_STABLE.to_owned(), true.into());
                }
            }
        }
        for (name, named) in self.named {
            let schema = definitions.get_mut(&name).and_then(Value::as_object_mut);
            if let Some(schema) = schema {
                schema.insert(NAMED_ALONE.to_owned(), named.since.into());
                if named.schema_only {
                    schema.insert(SCHEMA_ONLY.to_owned(), true.into());
                }
                if named.in_root {
                    schema.insert(IN_ROOT.to_owned(), true.into());
                }
            }
        }
    }
}

impl OtherForms {
    fn add_to(self, ty: &str, schema: &mut Value) {
        let Some(schema) = schema.as_object_mut() else {
            return;
        };
        if let Some(mut whole) = self.whole {
            name_variants(ty, &mut whole["schema"]);
            schema.insert(IN_RELEASES.to_owned(), whole);
        }
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            if let (Some(other), Some(property)) =
                (self.members.get(name), property.as_object_mut())
            {
                property.insert(IN_RELEASES.to_owned(), other.clone());
            }
        }
    }
}

impl UnusedInType {
    fn add_to(&self, schema: &mut Value) {
        add_members(schema, &self.members);
        if let (false, Some(object)) = (self.required.is_empty(), schema.as_object_mut()) {
            let names = self.required.clone();
            object.insert(REQUIRED_BESIDE_UNUSED.to_owned(), names.into());
        }
        for (tag, members) in &self.of {
            for_each_branch(schema, &mut |branch| {
                if has_tag(branch, tag) {
                    add_members(branch, members);
                }
            });
        }
        for variant in &self.variants {
            let mut variant = variant.clone();
            mark_not_used(&mut variant);
            add_variant(schema, variant);
        }
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
        let mut schema = member.schema.clone();
        mark_not_used(&mut schema);
        if let Some(schema) = schema.as_object_mut() {
            schema.insert(SINCE_KEY.to_owned(), member.since.clone().into());
            if member.experimental {
                schema.insert(EXPERIMENTAL_KEY.to_owned(), name.clone().into());
            }
        }
        properties.entry(name.clone()).or_insert(schema);
    }
}

fn mark_not_used(schema: &mut Value) {
    if *schema == Value::Bool(true) {
        *schema = Map::new().into();
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.insert(NOT_USED.to_owned(), true.into());
    }
}

fn add_variant(schema: &mut Value, variant: Value) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

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
