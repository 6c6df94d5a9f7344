//! What releases describe otherwise than this program, for clients that are written for them.
//!
//! Most of it is not used here. The members are optional: this program never sends them and ignores them. It sends none
//! of the variants, and refuses them in requests. All of it is marked.

use std::collections::BTreeMap;

use codex_protocol::{EXPERIMENTAL_KEY, SINCE_KEY};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::catalogue::{MethodByRelease, MethodRow, UnreadParams};
use super::definitions::name_variants;
use super::error::CatalogueError;
use super::forms::Forms;
use super::names;
use super::schema::{
    HIDDEN_IN_STABLE, IN_RELEASES, IN_ROOT, NAMED_ALONE, NOT_USED, REQUIRED_BESIDE_UNUSED,
    SCHEMA_ONLY, SHOWN_IN_STABLE, UNIONS, for_each_branch, has_tag,
};

const TABLE: &str = include_str!("unused.json");
const TABLE_NAME: &str = "unused.json";

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
    /// Members that releases describe on their experimental surface alone, by type.
    experimental: BTreeMap<String, Vec<String>>,
    /// What servers of releases send and this program does not.
    notifications: Vec<UnusedNotification>,
    /// Params of methods that take none here.
    params: BTreeMap<String, UnreadParams>,
    /// Methods that some releases describe in another way.
    methods: BTreeMap<String, MethodByRelease>,
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
    /// Members that this program always sends, as clients of later releases expect. Those of the first need not.
    required: Vec<String>,
}

/// A notification that is never sent here.
#[derive(Deserialize)]
pub(super) struct UnusedNotification {
    pub(super) name: String,
    pub(super) variant: String,
    pub(super) params: String,
    pub(super) since: String,
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
        serde_json::from_str(TABLE)
            .map_err(CatalogueError::for_document("the parts that are not used"))
    }

    /// Checks that a name of these tables is one of a type, and that it does not compile when the type has another one.
    pub(super) fn check_names(&self, forms: &Forms) -> Result<(), CatalogueError> {
        let types = self
            .types
            .keys()
            .chain(self.named.keys())
            .chain(self.stable.keys())
            .chain(self.experimental.keys())
            .chain(self.forms.keys())
            .chain(forms.types())
            .chain(self.params.values().map(|params| &params.ty));
        for ty in types {
            let is_union = UNIONS.iter().any(|(_, union)| union == ty);
            if !is_union && !self.definitions.contains_key(ty) && names::find(ty).is_none() {
                return Err(CatalogueError::unnamed(ty));
            }
        }
        let members = self.stable.iter().chain(&self.experimental);
        let members = members.flat_map(|(ty, members)| members.iter().map(move |one| (ty, one)));
        for (ty, member) in members.chain(forms.members()) {
            let of_type = self.types.get(ty);
            let is_unused = of_type.is_some_and(|unused| unused.has(member));
            let of_forms = self.forms.get(ty);
            let is_described = of_forms
                .is_some_and(|forms| forms.whole.is_some() || forms.members.contains_key(member));
            let is_named = names::find(ty).is_none_or(|named| named.has(member));
            // A tag is no member in Rust.
            let is_tag = member == "type";
            if !is_named && !is_unused && !is_described && !is_tag {
                return Err(CatalogueError::unnamed(&format!("{ty}.{member}")));
            }
        }
        Ok(())
    }

    /// Adds what is not used to the schemas of all types.
    pub(super) fn add_to(
        mut self,
        methods: &mut Vec<MethodRow>,
        definitions: &mut BTreeMap<String, Value>,
    ) -> Result<(), CatalogueError> {
        for method in methods.iter_mut() {
            method.unread_params = self.params.remove(&method.name);
            if let Some(by_release) = self.methods.remove(&method.name) {
                method.by_release = by_release;
            }
        }
        let mut unknown = self.params.into_keys().chain(self.methods.into_keys());
        if let Some(name) = unknown.next() {
            return Err(CatalogueError::unknown_name(TABLE_NAME, name));
        }
        methods.extend(self.notifications.into_iter().map(MethodRow::from));
        for (name, unused) in &self.types {
            unused.add_to(name, find(definitions, name)?)?;
        }
        for (name, mut schema) in self.definitions {
            name_variants(&name, &mut schema);
            mark_not_used(&mut schema);
            definitions.entry(name).or_insert(schema);
        }
        for (name, forms) in self.forms {
            forms.add_to(&name, find(definitions, &name)?)?;
        }
        for (marks, key) in [
            (self.stable, SHOWN_IN_STABLE),
            (self.experimental, HIDDEN_IN_STABLE),
        ] {
            for (name, members) in marks {
                let schema = find(definitions, &name)?;
                for member in members {
                    let property = find_member(&name, schema, &member)?;
                    property.insert(key.to_owned(), true.into());
                }
            }
        }
        for (name, named) in self.named {
            let Some(schema) = find(definitions, &name)?.as_object_mut() else {
                continue;
            };
            schema.insert(NAMED_ALONE.to_owned(), named.since.into());
            if named.schema_only {
                schema.insert(SCHEMA_ONLY.to_owned(), true.into());
            }
            if named.in_root {
                schema.insert(IN_ROOT.to_owned(), true.into());
            }
        }
        Ok(())
    }
}

/// The schema of a type.
fn find<'d>(
    definitions: &'d mut BTreeMap<String, Value>,
    name: &str,
) -> Result<&'d mut Value, CatalogueError> {
    let unknown = || CatalogueError::unknown_name(TABLE_NAME, name);
    definitions.get_mut(name).ok_or_else(unknown)
}

/// The schema of a member of a type.
fn find_member<'s>(
    ty: &str,
    schema: &'s mut Value,
    member: &str,
) -> Result<&'s mut Map<String, Value>, CatalogueError> {
    let properties = schema.get_mut("properties");
    let property = properties.and_then(|properties| properties.get_mut(member));
    let property = property.and_then(Value::as_object_mut);
    property.ok_or_else(|| CatalogueError::unknown_name(TABLE_NAME, format!("{ty}.{member}")))
}

impl OtherForms {
    fn add_to(self, ty: &str, schema: &mut Value) -> Result<(), CatalogueError> {
        if let (Some(mut whole), Some(schema)) = (self.whole, schema.as_object_mut()) {
            name_variants(ty, &mut whole["schema"]);
            schema.insert(IN_RELEASES.to_owned(), whole);
        }
        for (member, other) in self.members {
            find_member(ty, schema, &member)?.insert(IN_RELEASES.to_owned(), other);
        }
        Ok(())
    }
}

impl UnusedInType {
    /// Whether a member, of an enumeration `variant.member`, is among these.
    fn has(&self, member: &str) -> bool {
        let Some((tag, of_variant)) = member.split_once('.') else {
            return self.members.contains_key(member);
        };
        let of_tag = self.of.get(tag);
        of_tag.is_some_and(|members| members.contains_key(of_variant))
            || self.variants.iter().any(|variant| has_tag(variant, tag))
    }

    fn add_to(&self, ty: &str, schema: &mut Value) -> Result<(), CatalogueError> {
        add_members(schema, &self.members);
        if let (false, Some(object)) = (self.required.is_empty(), schema.as_object_mut()) {
            let names = self.required.clone();
            object.insert(REQUIRED_BESIDE_UNUSED.to_owned(), names.into());
        }
        for (tag, members) in &self.of {
            let mut is_known = false;
            for_each_branch(schema, &mut |branch| {
                if has_tag(branch, tag) {
                    is_known = true;
                    add_members(branch, members);
                }
            });
            if !is_known {
                return Err(CatalogueError::unknown_name(
                    TABLE_NAME,
                    format!("{ty}.{tag}"),
                ));
            }
        }
        for variant in &self.variants {
            let mut variant = variant.clone();
            mark_not_used(&mut variant);
            add_variant(schema, variant);
        }
        Ok(())
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
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_union_variant_takes_ambiguous_values() {
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
