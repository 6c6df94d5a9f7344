//! The schemas of types, as schemars makes them.
//!
//! They are draft 7, with references of the form `#/definitions/Name` and additions: every object variant of a union has
//! a `title`, an object says under [`ALWAYS_WRITTEN`] which of its optional members we always write, and a part that not
//! every surface or release has is marked.

use std::collections::BTreeMap;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::schema::{ALWAYS_WRITTEN, LEFT_OUT_BY_CLIENTS, describe, variant_tag};
use crate::method_table::{Method, TypeReference};
use crate::rpc;

/// The schemas of all types that the methods reach.
pub(super) fn define_all(methods: &[Method]) -> BTreeMap<String, Value> {
    let mut definitions = define(SchemaSettings::draft07(), methods);
    let written = define(SchemaSettings::draft07().for_serialize(), methods);
    for (name, schema) in &mut definitions {
        if let Some(written) = written.get(name) {
            note_always_written(schema, written);
        }
        name_variants(name, schema);
    }
    definitions
}

/// The JSON-RPC messages, whatever their method.
pub(super) fn message_types() -> Vec<TypeReference> {
    [
        TypeReference::for_type::<rpc::RequestId>(),
        TypeReference::for_type::<rpc::Message<'_>>(),
        TypeReference::for_type::<rpc::TraceContext>(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The definitions of everything that the methods reach, by name.
fn define(settings: SchemaSettings, methods: &[Method]) -> BTreeMap<String, Value> {
    let mut generator: SchemaGenerator = settings.into_generator();
    let types = methods
        .iter()
        .flat_map(|method| [method.params, method.response]);
    for ty in types.flatten().chain(message_types()) {
        (ty.schema)(&mut generator);
    }
    generator.take_definitions(true).into_iter().collect()
}

/// Marks the members of `schema` that are optional to read but required in what we write.
fn note_always_written(schema: &mut Value, written: &Value) {
    match (schema, written) {
        (Value::Object(schema), Value::Object(written)) => {
            let is_left_out = |name: &Value| {
                let member = name.as_str().map(|name| &schema["properties"][name]);
                member.is_some_and(|member| member.get(LEFT_OUT_BY_CLIENTS).is_some())
            };
            let required: Vec<Value> = required_members(written)
                .filter(|name| !required_members(schema).any(|known| known == *name))
                .filter(|name| !is_left_out(name))
                .cloned()
                .collect();
            for (key, value) in schema.iter_mut() {
                if let Some(written) = written.get(key) {
                    note_always_written(value, written);
                }
            }
            if !required.is_empty() && schema.contains_key("properties") {
                schema.insert(ALWAYS_WRITTEN.to_owned(), required.into());
            }
        }
        (Value::Array(schema), Value::Array(written)) => {
            for (value, written) in schema.iter_mut().zip(written) {
                note_always_written(value, written);
            }
        }
        _ => {}
    }
}

pub(super) fn required_members(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Gives every object variant of a union a title of its own, its tag and then the name of the union,
/// and describes the member that holds the tag.
pub(super) fn name_variants(union: &str, schema: &mut Value) {
    for key in ["oneOf", "anyOf"] {
        let branches = schema.get_mut(key).and_then(Value::as_array_mut);
        for branch in branches
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            if let Some(tag) = variant_tag(branch).map(str::to_owned) {
                describe_tag(branch);
                let title = format!("{}{union}", pascal_case(&tag));
                name_content(branch, &title);
                branch.insert("title".to_owned(), title.into());
            }
        }
    }
}

/// Names the object that is the only member of a variant: generators would give it the name of the member.
fn name_content(variant: &mut Map<String, Value>, title: &str) {
    let properties = variant.get_mut("properties").and_then(Value::as_object_mut);
    let Some(properties) = properties.filter(|properties| properties.len() == 1) else {
        return;
    };
    for content in properties.values_mut().filter_map(Value::as_object_mut) {
        if content.contains_key("properties") {
            content.insert("title".to_owned(), format!("{title}Content").into());
        }
    }
}

/// A constant tells the variant; a single member is described as the variant is.
fn describe_tag(variant: &mut Map<String, Value>) {
    let description = variant.get("description").cloned();
    let Some(properties) = variant.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let is_single = properties.len() == 1;
    for property in properties.values_mut() {
        if property.get("const").is_some() {
            describe(property, "Tells which variant this is.".into());
        } else if let (true, Some(description)) = (is_single, &description) {
            describe(property, description.clone());
        }
    }
}

fn pascal_case(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .flat_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|c| c.to_ascii_uppercase())
                .into_iter()
                .chain(letters)
        })
        .collect()
}
