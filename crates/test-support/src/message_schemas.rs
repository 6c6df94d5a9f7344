//! Holds messages against the generated JSON Schemas that their client could have.
//!
//! A client has the schemas of its surface, stable or experimental, and may also have those of a release: the one that the
//! server is told, otherwise 0.117, or 0.169 once it has used what is newer. What these do not name is skipped, since receivers ignore what they do not know. What
//! clients send is checked where the server accepts it. Each schema is compiled once per process, when it is needed first.

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

/// The release of which a client counts that shows that it is newer than 0.117, and not how new.
const NEWER_RELEASE: Release = Release::of_mark("0.169");

const REFERENCE: &str = "#/definitions/";

/// Which schemas a client could have.
#[derive(Debug, Default)]
pub(crate) struct ClientSchemas {
    is_experimental: bool,
    is_newer: bool,
    is_newer_from_the_start: bool,
    /// The release that the server is told, in place of what the client shows.
    release: Option<Release>,
    /// The requests of the client without a reply, by id.
    requests: HashMap<String, Value>,
    /// The methods of the requests of the server without a reply, by id.
    server_requests: HashMap<String, String>,
}

impl ClientSchemas {
    /// A client whom the server counts from the start as one of this release.
    pub(crate) fn be_of(&mut self, release: Release) {
        self.release = Some(release);
        let is_newer = release > Release::FIRST;
        (self.is_newer, self.is_newer_from_the_start) = (is_newer, is_newer);
    }

    /// Whether the client has said at its start that it is newer than 0.117.
    pub(crate) fn is_newer_from_the_start(&self) -> bool {
        self.is_newer_from_the_start
    }

    /// Checks an answer of the client, and learns from its requests. These are checked when the server has accepted them:
    /// tests send wrong ones too.
    ///
    /// # Panics
    /// The schema does not accept the answer.
    pub(crate) fn sent(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            if let Err(wrong) = self.check_answer(message) {
                panic!("{wrong}");
            }
            return;
        };
        if let Some(id) = message.get("id") {
            self.requests.insert(id.to_string(), message.clone());
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
        let params = &message["params"];
        let edits = params["edits"].as_array().into_iter().flatten();
        let mut written = edits.chain([params]).map(|edit| &edit["value"]);
        // Settings may have any value; this one is a newer name.
        let is_setting = method.starts_with("config/");
        self.is_newer |= is_setting && written.any(|value| value == "auto_review");
        self.is_newer |= !older().knows(method, params);
    }

    /// Records an answer that is wrong on purpose.
    ///
    /// # Panics
    /// The schema accepts it.
    pub(crate) fn sent_wrong_answer(&mut self, message: &Value) {
        let is_of_question = self
            .server_requests
            .contains_key(&message["id"].to_string());
        let checked = self.check_answer(message);
        assert!(!is_of_question || checked.is_err(), "not wrong: {message}");
    }

    fn check_answer(&mut self, message: &Value) -> Result<(), String> {
        let method = self.server_requests.remove(&message["id"].to_string());
        let (Some(method), Some(result)) = (method, message.get("result")) else {
            return Ok(());
        };
        let own = schemas(self.surface(), Release::OWN);
        own.check(Direction::ServerRequest, &method, Part::Result, result)
    }

    /// Checks a message of the server, and the request of the client that it accepts.
    ///
    /// # Panics
    /// A schema that the client could have does not accept one of them.
    pub(crate) fn received(&mut self, message: &Value) {
        if let Some(method) = message["method"].as_str() {
            let direction = match message.get("id") {
                Some(id) => {
                    self.server_requests
                        .insert(id.to_string(), method.to_owned());
                    Direction::ServerRequest
                }
                None => Direction::ServerNotification,
            };
            return self.check_received(direction, method, Part::Params, &message["params"]);
        }
        let request = self.requests.remove(&message["id"].to_string());
        if let Some(error) = message.get("error") {
            let is_error = error["code"].is_i64() && error["message"].is_string();
            assert!(
                is_error && message.get("result").is_none(),
                "no error: {message}"
            );
            return;
        }
        let Some(result) = message.get("result") else {
            panic!("neither a request, a notification nor a reply: {message}");
        };
        let Some(request) = request else {
            return;
        };
        let Some(method) = request["method"].as_str() else {
            return;
        };
        let own = schemas(self.surface(), Release::OWN);
        let params = &request["params"];
        if let Err(wrong) = own.check(Direction::ClientRequest, method, Part::Params, params) {
            panic!("the server accepts a request: {wrong}");
        }
        self.check_received(Direction::ClientRequest, method, Part::Result, result);
    }

    fn check_received(&self, direction: Direction, method: &str, part: Part, value: &Value) {
        let own = schemas(self.surface(), Release::OWN);
        assert!(
            own.messages.method(direction, method).is_some(),
            "{method} has no schema in {}: {value}",
            own.name
        );
        if let Err(wrong) = own.check(direction, method, part, value) {
            panic!("{wrong}");
        }
        let release = self.release.unwrap_or(if self.is_newer {
            NEWER_RELEASE
        } else {
            Release::FIRST
        });
        let other = schemas(self.surface(), release);
        if let Err(wrong) = other.check(direction, method, part, value) {
            panic!("{wrong}");
        }
    }

    fn surface(&self) -> Surface {
        if self.is_experimental {
            Surface::Experimental
        } else {
            Surface::Stable
        }
    }
}

/// Which part of a message is of a type.
#[derive(Clone, Copy, Debug)]
enum Part {
    Params,
    Result,
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

    /// Checks the params or the result of a method. A method that there is not is skipped, and so are unknown members, as
    /// receivers skip them.
    fn check(
        &self,
        direction: Direction,
        method: &str,
        part: Part,
        value: &Value,
    ) -> Result<(), String> {
        let types = self.messages.method(direction, method);
        let type_name = types.and_then(|types| match part {
            Part::Result => types.result.as_ref(),
            Part::Params => types.params.as_ref(),
        });
        let Some(type_name) = type_name else {
            return Ok(());
        };
        let Some(validator) = self.validator(type_name) else {
            panic!("no schema of {type_name} in {}", self.name);
        };
        validator.validate(value).map_err(|error| {
            let place = error.instance_path();
            let name = &self.name;
            format!("{method} is no {type_name} of {name} at {place}: {error}: {value}")
        })
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

    #[test]
    #[should_panic(expected = "accepts a request: account/login/cancel is no")]
    fn accepted_request_of_wrong_type_is_reported() {
        let mut schemas = ClientSchemas::default();
        let params = json!({ "loginId": 1 });
        schemas.sent(&json!({ "id": 1, "method": "account/login/cancel", "params": params }));
        schemas.received(&json!({ "id": 1, "result": { "status": "canceled" } }));
    }

    #[test]
    fn a_request_of_another_type_that_is_refused_passes() {
        let mut schemas = ClientSchemas::default();
        schemas.sent(&json!({ "id": 1, "method": "account/login/cancel", "params": {} }));
        let error = json!({ "code": -32602, "message": "no" });
        schemas.received(&json!({ "id": 1, "error": error }));
    }

    fn asked() -> ClientSchemas {
        let mut schemas = ClientSchemas::default();
        let question = json!({ "threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 1 });
        let method = "item/fileChange/requestApproval";
        schemas.received(&json!({ "id": 1, "method": method, "params": question }));
        schemas
    }

    fn answer(decision: &str) -> Value {
        json!({ "id": 1, "result": { "decision": decision } })
    }

    #[test]
    fn schema_check_finds_the_expected_errors() {
        asked().sent(&answer("accept"));
        asked().sent_wrong_answer(&answer("perhaps"));
    }

    #[test]
    #[should_panic(expected = "item/fileChange/requestApproval is no")]
    fn an_answer_of_another_type_is_noticed() {
        asked().sent(&answer("perhaps"));
    }

    #[test]
    #[should_panic(expected = "not wrong")]
    fn a_right_answer_is_not_called_wrong() {
        asked().sent_wrong_answer(&answer("accept"));
    }
}
