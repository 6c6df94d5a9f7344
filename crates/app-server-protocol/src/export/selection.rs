//! What one client can meet: the methods and types of one surface and one release.

use std::collections::{BTreeMap, BTreeSet};

use codex_protocol::{EXPERIMENTAL_KEY, Release, SINCE_KEY, UNTIL_KEY};
use serde_json::{Map, Value, json};

use super::catalogue::{Catalogue, MethodRow, read_releases};
use super::definitions::message_types;
use super::request::{Request, Surface};
use super::schema::{
    HIDDEN_IN_STABLE, IN_RELEASES, INTERNAL, LEFT_OUT_BY_CLIENTS, NAMED_ALONE, NOT_USED, REFERENCE,
    REQUIRED_BESIDE_UNUSED, REQUIRED_UNTIL, SHOWN_IN_STABLE, UNIONS, describe, for_each_reference,
    forget_members,
};
use crate::method_table::Direction;

/// The methods and types of one surface and release.
pub(super) struct Selection<'a> {
    pub(super) methods: Vec<&'a MethodRow>,
    definitions: BTreeMap<String, Value>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(catalogue: &'a Catalogue, request: &Request<'_>) -> Self {
        let is_wanted = |method: &&MethodRow| {
            method.releases().contain(request.release)
                && !(method.not_used && request.release == Release::OWN)
                && (!method.is_experimental(request.release)
                    || request.surface == Surface::Experimental)
        };
        let mut selection = Self {
            methods: catalogue.methods.iter().filter(is_wanted).collect(),
            definitions: BTreeMap::new(),
        };
        for (name, schema) in &catalogue.definitions {
            // Whatever mark a type has: without a reference to it, it goes below.
            let mut selected = match of_release(schema, request) {
                Value::Object(object) => select_parts(object, request),
                _ => continue,
            };
            for key in INTERNAL {
                if let Some(note) = schema.get(key) {
                    selected.entry(key).or_insert_with(|| note.clone());
                }
            }
            selection.definitions.insert(name.clone(), selected.into());
        }
        for (direction, name) in UNIONS {
            let union = message_union(direction, name, &selection.methods, request.release);
            selection.definitions.insert(name.to_owned(), union);
        }
        let reachable: BTreeSet<String> = {
            let roots = selection.roots(request.release);
            let reachable = selection.closure(roots.iter().map(String::as_str));
            reachable.into_iter().map(str::to_owned).collect()
        };
        selection
            .definitions
            .retain(|name, _| reachable.contains(name));
        selection
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
    pub(super) fn closure<'n>(&'n self, names: impl Iterator<Item = &'n str>) -> BTreeSet<&'n str> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = names.collect();
        while let Some(name) = open.pop() {
            if found.insert(name) {
                for_each_reference(self.schema(name), &mut |to| open.push(to));
            }
        }
        found
    }

    /// The types that the server sends, and all that they refer to.
    pub(super) fn sent_by_server(&self) -> BTreeSet<&str> {
        self.closure(self.methods.iter().filter_map(|method| {
            let ty = match method.direction {
                Direction::ServerRequest | Direction::ServerNotification => &method.params,
                Direction::ClientRequest => &method.response,
                Direction::ClientNotification => &None,
            };
            ty.as_deref()
        }))
    }

    /// The types that clients send, and all that they refer to.
    pub(super) fn sent_by_client(&self) -> BTreeSet<&str> {
        self.closure(self.methods.iter().filter_map(|method| {
            let ty = match method.direction {
                Direction::ClientRequest | Direction::ClientNotification => &method.params,
                Direction::ServerRequest => &method.response,
                Direction::ServerNotification => &None,
            };
            ty.as_deref()
        }))
    }

    /// Whether a type is what a request of the server brings, or the reply to one.
    pub(super) fn is_of_server_request(&self, name: &str) -> bool {
        self.methods
            .iter()
            .filter(|method| method.direction == Direction::ServerRequest)
            .flat_map(|method| [&method.params, &method.response])
            .any(|ty| ty.as_deref() == Some(name))
    }

    /// The types that nothing has to refer to: messages, params and responses, and those that have a name alone.
    fn roots(&self, release: Release) -> Vec<String> {
        let types = self
            .methods
            .iter()
            .flat_map(|method| [&method.params, &method.response]);
        let names = types.flatten().cloned();
        let unions = UNIONS.iter().map(|(_, name)| (*name).to_owned());
        let messages = message_types()
            .into_iter()
            .map(|ty| (ty.name)().into_owned());
        let is_named = |schema: &Value| {
            let since = schema.get(NAMED_ALONE).and_then(Value::as_str);
            since
                .and_then(Release::parse)
                .is_some_and(|since| since <= release)
        };
        let alone = self
            .definitions
            .iter()
            .filter(|(_, schema)| is_named(schema));
        let alone = alone.map(|(name, _)| name.clone());
        names.chain(unions).chain(messages).chain(alone).collect()
    }
}

/// A schema with the parts that a request is about; none if it is about nothing of it.
///
/// Experimental variants stay: what a client is sent may hold one whoever asked for it, for example a policy that stands
/// in the user's configuration file. Using one in a request needs the opt-in all the same.
fn select(schema: &Value, request: &Request<'_>) -> Option<Value> {
    match of_release(schema, request) {
        Value::Object(object) => is_selected(object, request)
            .then(|| select_parts(object, request))
            .map(Value::Object),
        Value::Array(values) => Some(
            values
                .iter()
                .filter_map(|value| select(value, request))
                .collect(),
        ),
        other => Some(other.clone()),
    }
}

/// A schema, or the one that the release has in place of it.
fn of_release<'s>(schema: &'s Value, request: &Request<'_>) -> &'s Value {
    let Some(other) = schema.get(IN_RELEASES) else {
        return schema;
    };
    let mark = |key| other.get(key).and_then(Value::as_str);
    let releases = read_releases(mark("since"), mark("until"));
    let is_other = request.release != Release::OWN && releases.contain(request.release);
    other.get("schema").filter(|_| is_other).unwrap_or(schema)
}

fn is_selected(schema: &Map<String, Value>, request: &Request<'_>) -> bool {
    let mark = |key| schema.get(key).and_then(Value::as_str);
    read_releases(mark(SINCE_KEY), mark(UNTIL_KEY)).contain(request.release)
        && (request.with_unused || !schema.contains_key(NOT_USED))
        && !(request.surface == Surface::Stable
            && request.release != Release::OWN
            && schema.contains_key(HIDDEN_IN_STABLE))
}

/// Whether a release requires an optional member.
fn is_still_required(property: &Value, release: Release) -> bool {
    let until = property.get(REQUIRED_UNTIL).and_then(Value::as_str);
    until
        .and_then(Release::parse)
        .is_some_and(|until| release <= until)
}

/// Whether a member is experimental on the stable surface.
fn is_hidden(property: &Value, request: &Request<'_>) -> bool {
    let is_shown = request.release != Release::OWN && property.get(SHOWN_IN_STABLE).is_some();
    request.surface == Surface::Stable && property.get(EXPERIMENTAL_KEY).is_some() && !is_shown
}

fn select_parts(object: &Map<String, Value>, request: &Request<'_>) -> Map<String, Value> {
    let mut selected = Map::new();
    let mut removed = Vec::new();
    let mut required: Vec<Value> = Vec::new();
    for (key, value) in object {
        match (key.as_str(), value) {
            (
                SINCE_KEY
                | UNTIL_KEY
                | REQUIRED_BESIDE_UNUSED
                | REQUIRED_UNTIL
                | LEFT_OUT_BY_CLIENTS
                | IN_RELEASES
                | SHOWN_IN_STABLE
                | HIDDEN_IN_STABLE,
                _,
            ) => {}
            ("properties", Value::Object(properties)) => {
                let mut kept = Map::new();
                for (name, property) in properties {
                    let is_hidden = is_hidden(of_release(property, request), request);
                    match select(property, request).filter(|_| !is_hidden) {
                        Some(selected) => {
                            if is_still_required(property, request.release) {
                                required.push(name.clone().into());
                            }
                            kept.insert(name.clone(), selected);
                        }
                        None => removed.push(name.clone()),
                    }
                }
                selected.insert(key.clone(), kept.into());
            }
            _ => {
                if let Some(value) = select(value, request) {
                    selected.insert(key.clone(), value);
                }
            }
        }
    }
    if request.with_unused {
        let beside = object.get(REQUIRED_BESIDE_UNUSED).and_then(Value::as_array);
        required.extend(beside.into_iter().flatten().cloned());
    }
    if !required.is_empty() {
        let names = selected
            .entry("required")
            .or_insert_with(|| Value::Array(Vec::new()));
        names
            .as_array_mut()
            .into_iter()
            .for_each(|names| names.append(&mut required));
    }
    if !removed.is_empty() {
        forget_members(&mut selected, &removed);
    }
    if request.release == Release::OWN
        && let Some(since) = object.get(SINCE_KEY).and_then(Value::as_str)
    {
        describe_since(&mut selected, since);
    }
    selected
}

/// Says in the description since which release there is a part. What no release has says nothing.
fn describe_since(schema: &mut Map<String, Value>, since: &str) {
    let is_later = |since: &Release| Release::FIRST < *since && *since < Release::OWN;
    if Release::parse(since).filter(is_later).is_some()
        && let Some(Value::String(description)) = schema.get_mut("description")
    {
        description.push_str(&format!(" Since release {since}."));
    }
}

/// The union of all messages of one kind.
fn message_union(
    direction: Direction,
    name: &str,
    methods: &[&MethodRow],
    release: Release,
) -> Value {
    let is_request = matches!(
        direction,
        Direction::ClientRequest | Direction::ServerRequest
    );
    let variants: Vec<Value> = methods
        .iter()
        .filter(|method| method.direction == direction)
        .map(|method| message_variant(method, name, is_request, release))
        .collect();
    let description = match direction {
        Direction::ClientRequest => "Every request that a client can send.",
        Direction::ServerRequest => "Every request that the server can send.",
        Direction::ServerNotification => "Every notification that the server can send.",
        Direction::ClientNotification => "Every notification that a client can send.",
    };
    json!({ "description": description, "oneOf": variants })
}

fn message_variant(method: &MethodRow, union: &str, is_request: bool, release: Release) -> Value {
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
    match method.params_of(release) {
        Some(params) => {
            let params = refer_to(params, "What the method takes.");
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
    if method.is_experimental(release) {
        variant[EXPERIMENTAL_KEY] = method.name.clone().into();
    }
    variant
}
