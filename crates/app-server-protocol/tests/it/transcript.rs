//! Checks a transcript of a connection: each message reads into our types, writes back equal, and is
//! accepted by the generated schema.

use std::collections::BTreeMap;

use codex_app_server_protocol::rpc::{Message, RequestId};
use codex_app_server_protocol::{
    ClientNotification, ClientRequest, ClientResponse, MessageReadError, Method,
    ServerNotification, ServerRequest, ServerResponse, methods,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::schemas::SchemaFiles;

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
}

/// The requests of a connection that wait for their replies.
pub(crate) struct CorpusTranscript<'a> {
    schemas: &'a mut SchemaFiles,
    from_client: BTreeMap<RequestId, String>,
    from_server: BTreeMap<RequestId, String>,
    /// Whether another program sent the messages: members that it does not know may be added to them.
    is_recorded: bool,
}

impl<'a> CorpusTranscript<'a> {
    pub(crate) fn new(schemas: &'a mut SchemaFiles) -> Self {
        Self {
            schemas,
            from_client: BTreeMap::new(),
            from_server: BTreeMap::new(),
            is_recorded: false,
        }
    }

    /// Of a conversation with another program, perhaps of an older release.
    pub(crate) fn of_recording(schemas: &'a mut SchemaFiles) -> Self {
        Self {
            is_recorded: true,
            ..Self::new(schemas)
        }
    }

    fn equal(&self, written: &Value, wire: &Value) -> Result<(), String> {
        if self.is_recorded {
            equal(&without_added(written, wire), wire)
        } else {
            equal(written, wire)
        }
    }

    /// Reads a message and writes it back; what comes out must equal what went in.
    ///
    /// Of what a client sent, members that hold nothing do not count: where it may leave one out it
    /// may as well write null, `false` or an empty list. What we send is exact.
    pub(crate) fn check(&mut self, sender: Sender, wire: &Value) -> Result<(), String> {
        let text = wire.to_string();
        let message: Message<'_> =
            serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let envelope = serde_json::to_value(&message).map_err(|error| error.to_string())?;
        equal(&envelope, wire)?;
        match message {
            Message::Request(request) => {
                self.asked(sender)
                    .insert(request.id.clone(), request.method.to_string());
                let written = match sender {
                    Sender::Client => rewrite(ClientRequest::read(&request.method, request.params)),
                    Sender::Server => rewrite(ServerRequest::read(&request.method, request.params)),
                }?;
                let union = match sender {
                    Sender::Client => "ClientRequest",
                    Sender::Server => "ServerRequest",
                };
                if let Some(params) = params_of(&request.method) {
                    self.schemas.validate(&params, &wire["params"])?;
                    self.schemas.validate(union, wire)?;
                }
                match sender {
                    Sender::Client => equal(&dense(&written), &dense(&without_id(wire))),
                    Sender::Server => self.equal(&written, &without_id(wire)),
                }
            }
            Message::Notification(notification) => {
                let written = match sender {
                    Sender::Client => rewrite(ClientNotification::read(
                        &notification.method,
                        notification.params,
                    )),
                    Sender::Server => rewrite(ServerNotification::read(
                        &notification.method,
                        notification.params,
                    )),
                }?;
                let union = match sender {
                    Sender::Client => "ClientNotification",
                    Sender::Server => "ServerNotification",
                };
                self.schemas.validate(union, wire)?;
                self.equal(&written, wire)
            }
            Message::Response(response) => {
                let asker = if sender == Sender::Client {
                    Sender::Server
                } else {
                    Sender::Client
                };
                let method = self
                    .asked(asker)
                    .remove(&response.id)
                    .ok_or("a reply to no request")?;
                let result: Option<&RawValue> = Some(response.result);
                let written = match asker {
                    Sender::Client => rewrite(ClientResponse::read(&method, result)),
                    Sender::Server => rewrite(ServerResponse::read(&method, result)),
                }?;
                self.schemas
                    .validate(&response_of(&method), &wire["result"])?;
                self.equal(&written, &wire["result"])
            }
            Message::Error(_) => Ok(()),
        }
    }

    fn asked(&mut self, sender: Sender) -> &mut BTreeMap<RequestId, String> {
        match sender {
            Sender::Client => &mut self.from_client,
            Sender::Server => &mut self.from_server,
        }
    }
}

/// The name of the type that a method takes, unless it takes nothing.
fn params_of(method: &str) -> Option<String> {
    let params = row(method).params?;
    Some((params.name)().into_owned())
}

/// The name of the type that a method answers.
fn response_of(method: &str) -> String {
    row(method)
        .response
        .map(|response| (response.name)().into_owned())
        .unwrap_or_default()
}

fn row(method: &str) -> Method {
    methods()
        .into_iter()
        .find(|row| row.name == method)
        .unwrap()
}

fn rewrite<T: Serialize>(read: Result<T, MessageReadError>) -> Result<Value, String> {
    let value = read.map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// What was written, without the members that the original does not have.
fn without_added(written: &Value, wire: &Value) -> Value {
    match (written, wire) {
        (Value::Object(written), Value::Object(wire)) => written
            .iter()
            .filter_map(|(name, value)| Some((name, value, wire.get(name)?)))
            .map(|(name, value, original)| (name.clone(), without_added(value, original)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        (Value::Array(written), Value::Array(wire)) if written.len() == wire.len() => written
            .iter()
            .zip(wire)
            .map(|(value, original)| without_added(value, original))
            .collect(),
        _ => written.clone(),
    }
}

/// A value without the members that hold nothing.
fn dense(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), dense(member)))
            .filter(|(_, member)| !is_empty_value(member))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(dense).collect(),
        other => other.clone(),
    }
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn without_id(wire: &Value) -> Value {
    let mut message = wire.clone();
    if let Some(object) = message.as_object_mut() {
        object.remove("id");
    }
    message
}

fn equal(written: &Value, wire: &Value) -> Result<(), String> {
    match first_difference(written, wire, "$") {
        None => Ok(()),
        Some(difference) => Err(format!("written back differently: {difference}")),
    }
}

fn first_difference(written: &Value, wire: &Value, path: &str) -> Option<String> {
    match (written, wire) {
        (Value::Object(written), Value::Object(wire)) => wire
            .keys()
            .chain(written.keys().filter(|name| !wire.contains_key(*name)))
            .find_map(|name| {
                let path = format!("{path}.{name}");
                match (written.get(name), wire.get(name)) {
                    (Some(written), Some(wire)) => first_difference(written, wire, &path),
                    (None, Some(wire)) => Some(format!("{path} was {wire} and is gone")),
                    (Some(written), None) => Some(format!("{path} was absent and is {written}")),
                    (None, None) => None,
                }
            }),
        (Value::Array(written), Value::Array(wire)) if written.len() == wire.len() => written
            .iter()
            .zip(wire)
            .enumerate()
            .find_map(|(index, (a, b))| first_difference(a, b, &format!("{path}[{index}]"))),
        _ if written == wire => None,
        _ => Some(format!("{path} was {wire} and is {written}")),
    }
}
