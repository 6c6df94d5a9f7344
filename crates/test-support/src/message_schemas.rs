//! Holds messages against the generated JSON Schemas that their client could have.
//!
//! A client has the schemas of its surface, stable or experimental. A client that has used nothing newer than 0.117 may
//! also have those of that release; what these do not name is skipped, since receivers ignore what they do not know. Each
//! schema is compiled once per process, when it is needed first.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::Value;

/// The generated files of one surface.
static SURFACES: LazyLock<Mutex<HashMap<String, Arc<SurfaceFiles>>>> =
    LazyLock::new(Mutex::default);

/// Which schemas a client could have.
#[derive(Debug, Default)]
pub(crate) struct ClientSchemas {
    is_experimental: bool,
    is_newer: bool,
    /// The methods of requests without a reply, by id.
    requests: HashMap<String, String>,
}

impl ClientSchemas {
    /// A client whom the server counts as newer than 0.117 from the start.
    pub(crate) fn be_newer(&mut self) {
        self.is_newer = true;
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
            self.is_newer |= ["codex", "ai-sdk", "hapi"]
                .iter()
                .any(|start| name.starts_with(start));
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
        let name = if self.is_experimental {
            "experimental"
        } else {
            "stable"
        };
        surface(name).check(&method, message, true);
        if !self.is_newer {
            surface(&format!("{name}-0.117")).check(&method, message, false);
        }
    }
}

fn surface(name: &str) -> Arc<SurfaceFiles> {
    let mut surfaces = SURFACES.lock();
    let files = surfaces.entry(name.to_owned());
    Arc::clone(files.or_insert_with(|| Arc::new(SurfaceFiles::read(name))))
}

fn older() -> Arc<SurfaceFiles> {
    surface("experimental-0.117")
}

/// The schemas of one surface.
struct SurfaceFiles {
    name: String,
    folder: PathBuf,
    /// The texts of the files that name the types of methods.
    notifications: String,
    requests: String,
    own_requests: String,
    methods: String,
    /// The types of items.
    items: String,
    validators: Mutex<HashMap<String, Option<Arc<Validator>>>>,
}

impl SurfaceFiles {
    fn read(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
        let folder = root.join("json").join(name);
        let text = |path: PathBuf| {
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        Self {
            name: name.to_owned(),
            notifications: text(folder.join("ServerNotification.json")),
            requests: text(folder.join("ServerRequest.json")),
            own_requests: text(folder.join("ClientRequest.json")),
            items: text(folder.join("v2").join("ItemStartedNotification.json")),
            methods: text(root.join("openrpc").join(name).join("openrpc.json")),
            folder,
            validators: Mutex::default(),
        }
    }

    /// Whether a release knows a method of clients, and all of its params.
    fn knows(&self, method: &str, params: &Value) -> bool {
        if method == "initialized" {
            return true;
        }
        let Some(type_name) = params_type(&self.own_requests, method) else {
            // A method without params.
            return has_method(&self.own_requests, method);
        };
        let members = self.read_type(&type_name);
        let known = members
            .as_ref()
            .and_then(|schema| schema["properties"].as_object());
        let mut given = params.as_object().into_iter().flatten();
        let is_known = |(name, value): (&String, &Value)| {
            let member = known.and_then(|known| known.get(name));
            let text = member.and_then(|member| member["description"].as_str());
            let is_newer = text.is_some_and(|text| text.contains("Newer than 0.117"));
            value.is_null() || (member.is_some() && !is_newer)
        };
        // Values of another form are newer too.
        let fits = self
            .validator(&type_name)
            .is_some_and(|type_| type_.is_valid(params));
        fits && given.all(is_known)
            && params["capabilities"]
                .as_object()
                .into_iter()
                .flatten()
                .all(|(name, _)| {
                    ["experimentalApi", "optOutNotificationMethods"].contains(&&**name)
                })
    }

    /// Checks the params of a method of the server, or the result of one of the client.
    fn check(&self, method: &str, message: &Value, is_own: bool) {
        let (type_name, value) = if message.get("method").is_none() {
            (result_type(&self.methods, method), &message["result"])
        } else if message.get("id").is_some() {
            (params_type(&self.requests, method), &message["params"])
        } else {
            (params_type(&self.notifications, method), &message["params"])
        };
        let Some(type_name) = type_name else {
            let is_known = [&self.notifications, &self.requests, &self.methods]
                .iter()
                .any(|text| has_method(text, method));
            assert!(
                is_known || !is_own,
                "{method} has no schema in {}: {message}",
                self.name
            );
            return;
        };
        let Some(validator) = self.validator(&type_name) else {
            assert!(!is_own, "no schema of {type_name} in {}", self.name);
            return;
        };
        if let Err(error) = validator.validate(value) {
            let place = error.instance_path();
            let of_hook = ["/run/eventName", "/run/handlerType"].contains(&place.as_str());
            // Receivers ignore kinds of items that they do not know.
            let at_place = value.pointer(place.as_str());
            let kind = at_place.and_then(|item| item["type"].as_str());
            let is_item = place.as_str() == "/item" || place.as_str().contains("/items/");
            let is_newer_item = is_item && kind.is_some_and(|kind| !has_method(&self.items, kind));
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

    fn validator(&self, type_name: &str) -> Option<Arc<Validator>> {
        let mut validators = self.validators.lock();
        let compiled = validators.entry(type_name.to_owned()).or_insert_with(|| {
            let schema = self.read_type(type_name)?;
            let compiled = jsonschema::validator_for(&schema);
            Some(Arc::new(
                compiled.unwrap_or_else(|error| panic!("{type_name}: {error}")),
            ))
        });
        compiled.clone()
    }

    fn read_type(&self, type_name: &str) -> Option<Value> {
        let file = format!("{type_name}.json");
        let text = fs::read_to_string(self.folder.join("v2").join(&file))
            .or_else(|_| fs::read_to_string(self.folder.join(&file)))
            .ok()?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{type_name}: {error}")))
    }
}

fn has_method(text: &str, method: &str) -> bool {
    text.contains(&format!("\"const\": \"{method}\""))
        || text.contains(&format!("\"name\": \"{method}\""))
}

/// The type of the params of a method, in a file with all methods of a direction.
fn params_type(text: &str, method: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"const\": \"{method}\""))?;
    let (variant, _) = rest.split_once("\"required\"")?;
    let (_, params) = variant.split_once("\"params\"")?;
    let (_, name) = params.split_once("\"#/definitions/")?;
    name.split_once('"').map(|(name, _)| name.to_owned())
}

/// The type of the result of a method, in an OpenRPC document.
fn result_type(text: &str, method: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("\"name\": \"{method}\",\n      \"summary\""))?;
    let (_, result) = rest.split_once("\"result\": {")?;
    let (_, name) = result.split_once("\"name\": \"")?;
    name.split_once('"').map(|(name, _)| name.to_owned())
}

impl std::fmt::Debug for SurfaceFiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SurfaceFiles({})", self.name)
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
    #[should_panic(expected = "is no ErrorNotification of stable")]
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
