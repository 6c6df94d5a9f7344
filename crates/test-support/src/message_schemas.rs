//! Holds messages against the generated JSON Schemas that their client could have.
//!
//! A client has the schemas of its surface, stable or experimental. A client that has used nothing newer than 0.117 may
//! also have those of that release; what these do not name is skipped, since receivers ignore what they do not know. Each
//! schema is compiled once per process, when it is needed first.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use codex_app_server_protocol::Direction;
use codex_app_server_protocol::export::{Catalogue, MessageSchemas, Request, Surface};
use codex_protocol::Release;
use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// The generated files of one surface, by its name.
static SURFACES: LazyLock<Mutex<HashMap<String, Arc<SurfaceSchemas>>>> =
    LazyLock::new(Mutex::default);

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/catalogue.json");
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Catalogue::read(&text).unwrap_or_else(|error| panic!("{error}"))
});

const REFERENCE: &str = "#/definitions/";

/// Which schemas a client could have.
#[derive(Debug, Default)]
pub(crate) struct ClientSchemas {
    is_experimental: bool,
    is_newer: bool,
    is_newer_from_the_start: bool,
    /// The methods of requests without a reply, by id.
    requests: HashMap<String, String>,
}

impl ClientSchemas {
    /// A client whom the server counts as newer than 0.117 from the start.
    pub(crate) fn be_newer(&mut self) {
        (self.is_newer, self.is_newer_from_the_start) = (true, true);
    }

    /// Whether the client has said at its start that it is newer than 0.117.
    pub(crate) fn is_newer_from_the_start(&self) -> bool {
        self.is_newer_from_the_start
    }

    /// Learns from a request of the client.
    pub(crate) fn sent(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            return;
        };
        if let Some(id) = message.get("id") {
            self.requests.insert(id.to_string(), method.to_owned());
        }
        if method == "initialize" {
            let params = &message["params"];
            self.is_experimental |= params["capabilities"]["experimentalApi"] == true;
            let name = params["clientInfo"]["name"].as_str().unwrap_or_default();
            // Official clients, and a few others, say by their name that they are newer.
            self.is_newer_from_the_start |= ["codex", "ai-sdk", "hapi"]
                .iter()
                .any(|start| name.starts_with(start));
            self.is_newer |= self.is_newer_from_the_start;
        }
        self.is_newer |= !older().knows(method, &message["params"]);
    }

    /// Checks a message of the server.
    ///
    /// # Panics
    /// A schema that the client could have does not accept it.
    pub(crate) fn received(&mut self, message: &Value) {
        let method = match (message["method"].as_str(), message.get("result")) {
            (Some(method), _) => method.to_owned(),
            (None, Some(_)) => match self.requests.remove(&message["id"].to_string()) {
                Some(method) => method,
                None => return,
            },
            (None, None) => return,
        };
        let surface = if self.is_experimental {
            Surface::Experimental
        } else {
            Surface::Stable
        };
        schemas(surface, Release::OWN).check(&method, message, true);
        if !self.is_newer {
            schemas(surface, Release::FIRST).check(&method, message, false);
        }
    }
}

fn schemas(surface: Surface, release: Release) -> Arc<SurfaceSchemas> {
    let mut surfaces = SURFACES.lock();
    let name = match surface {
        Surface::Stable => format!("stable {release}"),
        Surface::Experimental => format!("experimental {release}"),
    };
    let found = surfaces.entry(name.clone()).or_insert_with(|| {
        let request = Request::of_release(surface, release);
        let messages = MessageSchemas::new(&CATALOGUE, &request);
        Arc::new(SurfaceSchemas {
            name,
            messages,
            validators: Mutex::default(),
        })
    });
    Arc::clone(found)
}

fn older() -> Arc<SurfaceSchemas> {
    schemas(Surface::Experimental, Release::FIRST)
}

/// The schemas of one surface.
#[derive(Debug)]
struct SurfaceSchemas {
    name: String,
    messages: MessageSchemas,
    validators: Mutex<HashMap<String, Option<Arc<Validator>>>>,
}

impl SurfaceSchemas {
    /// Whether a release knows a method of clients, and all of its params.
    fn knows(&self, method: &str, params: &Value) -> bool {
        let find = |direction| self.messages.method(direction, method);
        let Some(types) =
            find(Direction::ClientRequest).or_else(|| find(Direction::ClientNotification))
        else {
            return false;
        };
        let Some(type_name) = &types.params else {
            return true;
        };
        let known = self
            .messages
            .definition(type_name)
            .and_then(|schema| schema["properties"].as_object());
        let mut given = params.as_object().into_iter().flatten();
        // Values of another form are newer too.
        let fits = self
            .validator(type_name)
            .is_some_and(|type_| type_.is_valid(params));
        let mut capabilities = params["capabilities"].as_object().into_iter().flatten();
        fits && given.all(|(name, value)| {
            value.is_null() || known.is_some_and(|known| known.contains_key(name))
        }) && capabilities
            .all(|(name, _)| ["experimentalApi", "optOutNotificationMethods"].contains(&&**name))
    }

    /// Checks the params of a method of the server, or the result of one of the client.
    fn check(&self, method: &str, message: &Value, is_own: bool) {
        let (direction, part) = if message.get("method").is_none() {
            (Direction::ClientRequest, "result")
        } else if message.get("id").is_some() {
            (Direction::ServerRequest, "params")
        } else {
            (Direction::ServerNotification, "params")
        };
        let Some(types) = self.messages.method(direction, method) else {
            assert!(
                !is_own,
                "{method} has no schema in {}: {message}",
                self.name
            );
            return;
        };
        let type_name = match part {
            "result" => types.result.as_ref(),
            _ => types.params.as_ref(),
        };
        let Some(type_name) = type_name else {
            return;
        };
        let Some(validator) = self.validator(type_name) else {
            panic!("no schema of {type_name} in {}", self.name);
        };
        let value = &message[part];
        if let Err(error) = validator.validate(value) {
            let place = error.instance_path();
            let of_hook = ["/run/eventName", "/run/handlerType"].contains(&place.as_str());
            // Receivers ignore kinds of items that they do not know.
            let at_place = value.pointer(place.as_str());
            let kind = at_place.and_then(|item| item["type"].as_str());
            let is_item = place.as_str() == "/item" || place.as_str().contains("/items/");
            let is_newer_item = is_item && kind.is_some_and(|kind| !self.has_item(kind));
            if !is_own && (of_hook || is_newer_item) {
                // Runs of newer hooks are sent to every client too.
                return;
            }
            panic!(
                "{method} is no {type_name} of {} at {place}: {error}: {message}",
                self.name
            );
        }
    }

    /// Whether there is an item of this kind.
    fn has_item(&self, kind: &str) -> bool {
        let item = self.messages.definition("ThreadItem");
        let variants = item.and_then(|item| item["oneOf"].as_array());
        let mut variants = variants.into_iter().flatten();
        variants.any(|variant| variant["properties"]["type"]["const"] == kind)
    }

    fn validator(&self, type_name: &str) -> Option<Arc<Validator>> {
        let mut validators = self.validators.lock();
        let compiled = validators.entry(type_name.to_owned()).or_insert_with(|| {
            self.messages.definition(type_name)?;
            let schema = self.with_references(type_name);
            let compiled = jsonschema::validator_for(&schema);
            Some(Arc::new(
                compiled.unwrap_or_else(|error| panic!("{type_name}: {error}")),
            ))
        });
        compiled.clone()
    }

    /// The schema of a type, with all that it refers to.
    fn with_references(&self, type_name: &str) -> Value {
        let mut definitions = BTreeMap::new();
        let mut open = vec![type_name];
        while let Some(name) = open.pop() {
            if definitions.contains_key(name) {
                continue;
            }
            if let Some(schema) = self.messages.definition(name) {
                definitions.insert(name, schema.clone());
                add_references(schema, &mut open);
            }
        }
        let definitions: Map<_, _> = (definitions.into_iter())
            .map(|(name, schema)| (name.to_owned(), schema))
            .collect();
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "allOf": [{ "$ref": format!("{REFERENCE}{type_name}") }],
            "definitions": definitions,
        })
    }
}

/// Adds the names of the types that a schema refers to.
fn add_references<'s>(schema: &'s Value, names: &mut Vec<&'s str>) {
    match schema {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            names.extend(reference.and_then(|text| text.strip_prefix(REFERENCE)));
            object
                .values()
                .for_each(|value| add_references(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| add_references(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn failed_turn() -> Value {
        let error =
            json!({ "message": "no", "codexErrorInfo": "other", "additionalDetails": null });
        let params = json!({ "error": error, "willRetry": false, "threadId": "t", "turnId": "u" });
        json!({ "method": "error", "params": params })
    }

    #[test]
    fn messages_that_schemas_accept_pass() {
        for capabilities in [json!({}), json!({ "experimentalApi": true })] {
            let mut schemas = ClientSchemas::default();
            let info = json!({ "name": "tests", "version": "1" });
            let params = json!({ "clientInfo": info, "capabilities": capabilities });
            schemas.sent(&json!({ "id": 0, "method": "initialize", "params": params }));
            assert!(!schemas.is_newer);
            schemas.received(&failed_turn());
        }
    }

    #[test]
    #[should_panic(expected = "is no ErrorNotification of stable own")]
    fn a_member_of_another_type_is_noticed() {
        let mut message = failed_turn();
        message["params"]["willRetry"] = json!("no");
        ClientSchemas::default().received(&message);
    }

    #[test]
    #[should_panic(expected = "is no LogoutAccountResponse")]
    fn a_result_of_another_type_is_noticed() {
        let mut schemas = ClientSchemas::default();
        schemas.sent(&json!({ "id": 1, "method": "account/logout" }));
        schemas.received(&json!({ "id": 1, "result": [] }));
    }

    #[test]
    #[should_panic(expected = "has no schema in stable")]
    fn an_unknown_notification_is_noticed() {
        ClientSchemas::default().received(&json!({ "method": "turn/invented", "params": {} }));
    }

    #[test]
    fn a_newer_method_or_member_makes_a_newer_client() {
        for (method, params, is_newer) in [
            ("thread/start", json!({ "model": "m" }), false),
            ("thread/goal/set", json!({}), true),
            (
                "thread/resume",
                json!({ "threadId": "t", "excludeTurns": true }),
                true,
            ),
            ("account/logout", Value::Null, false),
            ("thread/start", json!({ "serviceTier": "newest" }), true),
        ] {
            let mut schemas = ClientSchemas::default();
            schemas.sent(&json!({ "id": 1, "method": method, "params": params }));
            assert_eq!(schemas.is_newer, is_newer, "{method}");
        }
    }
}
