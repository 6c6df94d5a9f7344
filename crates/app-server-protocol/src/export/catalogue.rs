//! What there is to describe: the methods and the schema of every type that they reach, on one
//! surface.
//!
//! The schemas are draft 7, as schemars makes them from the Rust types, with references of the form
//! `#/definitions/Name` and two additions: every object variant of a union has a `title`, and an
//! object says under [`ALWAYS_WRITTEN`] which of its optional members we always write.

use std::collections::{BTreeMap, BTreeSet};

use codex_protocol::EXPERIMENTAL_KEY;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::older;
use super::request::{Release, Surface};
use super::schema::{ALWAYS_WRITTEN, REFERENCE, describe, for_each_reference};
use super::unused::UnusedParts;
use crate::method_table::{Direction, Method, TypeReference};
use crate::methods::methods;
use crate::releases::is_newer_method;
use crate::rpc;

/// The unions of messages, by who sends them.
pub(super) const UNIONS: [(Direction, &str); 4] = [
    (Direction::ClientRequest, "ClientRequest"),
    (Direction::ServerRequest, "ServerRequest"),
    (Direction::ServerNotification, "ServerNotification"),
    (Direction::ClientNotification, "ClientNotification"),
];

/// The methods and types of one surface.
pub(super) struct Catalogue {
    pub(super) methods: Vec<Method>,
    definitions: BTreeMap<String, Value>,
}

impl Catalogue {
    pub(super) fn new(surface: Surface, release: Release) -> Self {
        let mut methods = methods();
        if release == Release::V0_117 {
            methods.retain(|method| !is_newer_method(method.name));
        }
        if surface == Surface::Stable {
            methods.retain(|method| !method.experimental);
        }
        let mut definitions = define(SchemaSettings::draft07(), &methods);
        let written = define(SchemaSettings::draft07().for_serialize(), &methods);
        let unused = match release {
            Release::Current => UnusedParts::read().unwrap_or_default(),
            Release::Own | Release::V0_117 => UnusedParts::default(),
        };
        for (name, schema) in &mut definitions {
            if let Some(written) = written.get(name) {
                note_always_written(schema, written);
            }
            name_variants(name, schema);
            unused.add(name, schema);
            if release == Release::V0_117 {
                older::remove_newer(name, schema);
            }
        }
        for (name, mut schema) in unused.definitions() {
            name_variants(&name, &mut schema);
            definitions.entry(name).or_insert(schema);
        }
        for (direction, name) in UNIONS {
            definitions.insert(name.to_owned(), message_union(direction, name, &methods));
        }
        let mut catalogue = Self {
            methods,
            definitions,
        };
        let reachable = catalogue.closure(catalogue.roots().iter().map(String::as_str));
        catalogue
            .definitions
            .retain(|name, _| reachable.contains(name));
        if surface == Surface::Stable {
            catalogue
                .definitions
                .values_mut()
                .for_each(remove_experimental_fields);
        }
        catalogue
    }

    /// The names of all types, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(String::as_str)
    }

    /// The schema of a type; anything at all if there is no such type.
    pub(super) fn schema(&self, name: &str) -> &Value {
        self.definitions.get(name).unwrap_or(&Value::Bool(true))
    }

    /// These types and every type that they refer to, directly or not.
    pub(super) fn closure<'a>(&self, names: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open: Vec<String> = names.map(str::to_owned).collect();
        while let Some(name) = open.pop() {
            if found.insert(name.clone()) {
                for_each_reference(self.schema(&name), &mut |to| open.push(to.to_owned()));
            }
        }
        found
    }

    /// The types that the server sends, and all that they refer to.
    pub(super) fn sent_by_server(&self) -> BTreeSet<String> {
        let names: Vec<_> = self
            .methods
            .iter()
            .filter_map(|method| match method.direction {
                Direction::ServerRequest | Direction::ServerNotification => method.params,
                Direction::ClientRequest => method.response,
                Direction::ClientNotification => None,
            })
            .map(|ty| (ty.name)())
            .collect();
        self.closure(names.iter().map(AsRef::as_ref))
    }

    /// The types that nothing has to refer to: messages, params and responses.
    fn roots(&self) -> Vec<String> {
        let types = self
            .methods
            .iter()
            .flat_map(|method| [method.params, method.response]);
        let names = types.flatten().map(|ty| (ty.name)().into_owned());
        let unions = UNIONS.iter().map(|(_, name)| (*name).to_owned());
        let messages = message_types()
            .into_iter()
            .map(|ty| (ty.name)().into_owned());
        names.chain(unions).chain(messages).collect()
    }
}

/// The JSON-RPC messages, whatever their method.
fn message_types() -> Vec<TypeReference> {
    [
        TypeReference::of::<rpc::RequestId>(),
        TypeReference::of::<rpc::Message<'_>>(),
        TypeReference::of::<rpc::TraceContext>(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The definitions of everything that the methods reach.
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
            let required: Vec<Value> = required_members(written)
                .filter(|name| !required_members(schema).any(|known| known == *name))
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

fn required_members(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Removes the fields that are marked as experimental.
///
/// Variants stay: what a client is sent may hold one whoever asked for it, for example a policy that
/// stands in the user's configuration file. Using one in a request needs the opt-in all the same.
fn remove_experimental_fields(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
                properties.retain(|_, property| property.get(EXPERIMENTAL_KEY).is_none());
            }
            object.values_mut().for_each(remove_experimental_fields);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_experimental_fields),
        _ => {}
    }
}

/// Gives every object variant of a union a title of its own, its tag and then the name of the union,
/// and describes the member that holds the tag.
fn name_variants(union: &str, schema: &mut Value) {
    for key in ["oneOf", "anyOf"] {
        let branches = schema.get_mut(key).and_then(Value::as_array_mut);
        for branch in branches
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            if let Some(tag) = variant_tag(branch) {
                describe_tag(branch);
                branch.insert(
                    "title".to_owned(),
                    format!("{}{union}", pascal_case(&tag)).into(),
                );
            }
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

/// What tells a variant from its siblings: the constant that it holds, or its only member.
fn variant_tag(branch: &Map<String, Value>) -> Option<String> {
    let properties = branch.get("properties")?.as_object()?;
    let constant = properties
        .values()
        .find_map(|property| property.get("const")?.as_str());
    match (constant, properties.len()) {
        (Some(tag), _) => Some(tag.to_owned()),
        (None, 1) => properties.keys().next().cloned(),
        _ => None,
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

/// The union of all messages of one kind.
fn message_union(direction: Direction, name: &str, methods: &[Method]) -> Value {
    let is_request = matches!(
        direction,
        Direction::ClientRequest | Direction::ServerRequest
    );
    let variants: Vec<Value> = methods
        .iter()
        .filter(|method| method.direction == direction)
        .map(|method| message_variant(method, name, is_request))
        .collect();
    let description = match direction {
        Direction::ClientRequest => "Every request that a client can send.",
        Direction::ServerRequest => "Every request that the server can send.",
        Direction::ServerNotification => "Every notification that the server can send.",
        Direction::ClientNotification => "Every notification that a client can send.",
    };
    json!({ "description": description, "oneOf": variants })
}

fn message_variant(method: &Method, union: &str, is_request: bool) -> Value {
    let refer_to = |name: &str, description: &str| {
        let mut schema = json!({ "$ref": format!("{REFERENCE}{name}") });
        describe(&mut schema, description.into());
        schema
    };
    let mut properties = Map::new();
    let mut required = vec!["method"];
    if is_request {
        let id = refer_to("RequestId", "Repeated in the reply.");
        properties.insert("id".to_owned(), id);
        required.push("id");
    }
    let name = json!({
        "type": "string",
        "const": method.name,
        "description": "The name of the method.",
    });
    properties.insert("method".to_owned(), name);
    match method.params {
        Some(params) => {
            let params = refer_to(&(params.name)(), "What the method takes.");
            properties.insert("params".to_owned(), params);
            required.push("params");
        }
        None if is_request => {
            let params = json!({ "type": "null", "description": "The method takes nothing." });
            properties.insert("params".to_owned(), params);
        }
        None => {}
    }
    let mut variant = json!({
        "title": format!("{}{union}", method.variant),
        "description": method.description,
        "type": "object",
        "properties": properties,
        "required": required,
    });
    if method.experimental {
        variant[EXPERIMENTAL_KEY] = method.name.into();
    }
    variant
}
