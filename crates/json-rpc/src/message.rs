//! Single messages. Each has the member `jsonrpc`; batches are not supported.
//!
//! A message is read in two steps: first the envelope with params as raw text, then the params as the type of the method.

use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::Error;

const VERSION: &str = "2.0";

/// The id of a request, chosen by the sender and repeated in the reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JsonRpcId {
    /// `null`: discouraged, but allowed.
    Null,
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
}

impl fmt::Display for JsonRpcId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Number(id) => id.fmt(formatter),
            Self::Text(id) => formatter.write_str(id),
        }
    }
}

/// A message of the peer. Absent params are an empty object.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    Request {
        id: JsonRpcId,
        method: String,
        params: Box<RawValue>,
    },
    Notification {
        method: String,
        params: Box<RawValue>,
    },
    /// The reply to a request of this side.
    Reply {
        id: JsonRpcId,
        result: Result<Box<RawValue>, Error>,
    },
}

/// A line that is not a message.
#[derive(Debug)]
pub(crate) struct InvalidMessage {
    /// The id of the request, as far as it could be read.
    pub(crate) id: JsonRpcId,
    pub(crate) error: Box<Error>,
}

#[derive(Deserialize)]
struct MessageEnvelope {
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "present")]
    id: Option<JsonRpcId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Error>,
}

/// What can be read of a JSON object that is not an [`MessageEnvelope`].
#[derive(Deserialize)]
struct InvalidEnvelope {
    #[serde(default, deserialize_with = "present")]
    id: Option<JsonRpcId>,
    method: Option<IgnoredAny>,
}

/// Tells an id that is null from one that is absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<JsonRpcId>, D::Error> {
    JsonRpcId::deserialize(deserializer).map(Some)
}

/// Reads a line.
///
/// # Errors
/// It is not a message. A reply with an id is always one, so that the request it belongs to ends.
pub(crate) fn read(line: &str) -> Result<IncomingMessage, InvalidMessage> {
    match serde_json::from_str::<MessageEnvelope>(line) {
        Ok(envelope) => classify(envelope),
        Err(error) => read_invalid(line, &error),
    }
}

fn read_invalid(line: &str, error: &serde_json::Error) -> Result<IncomingMessage, InvalidMessage> {
    let kind = match serde_json::from_str::<IgnoredAny>(line) {
        Ok(_) => Error::invalid_request("Invalid request"),
        Err(_) => Error::parse(),
    };
    let read = serde_json::from_str::<InvalidEnvelope>(line).ok();
    let (id, has_method) = read.map_or((None, false), |read| (read.id, read.method.is_some()));
    let reason = error.to_string();
    match id {
        Some(id) if !has_method => Ok(invalid_reply(id, &reason)),
        id => Err(InvalidMessage {
            id: id.unwrap_or(JsonRpcId::Null),
            error: Box::new(kind.data(Value::from(reason))),
        }),
    }
}

fn invalid_reply(id: JsonRpcId, reason: &str) -> IncomingMessage {
    let result = Err(Error::internal(format!("the reply is invalid: {reason}")));
    IncomingMessage::Reply { id, result }
}

fn classify(envelope: MessageEnvelope) -> Result<IncomingMessage, InvalidMessage> {
    let has_version = envelope.jsonrpc.as_deref() == Some(VERSION);
    let params = envelope.params.unwrap_or_else(no_params);
    match (envelope.id, envelope.method) {
        (Some(id), Some(method)) if has_version => {
            Ok(IncomingMessage::Request { id, method, params })
        }
        (None, Some(method)) if has_version => Ok(IncomingMessage::Notification { method, params }),
        (Some(id), None) if !has_version => Ok(invalid_reply(id, "`jsonrpc` is not \"2.0\"")),
        (Some(id), None) => {
            let result = match (envelope.result, envelope.error) {
                (_, Some(error)) => Err(error),
                (Some(result), None) => Ok(result),
                // serde reads `"result": null` as absent.
                (None, None) => Ok(RawValue::NULL.to_owned()),
            };
            Ok(IncomingMessage::Reply { id, result })
        }
        (id, _) => Err(InvalidMessage {
            id: id.unwrap_or(JsonRpcId::Null),
            error: Box::new(Error::invalid_request("Invalid request")),
        }),
    }
}

fn no_params() -> Box<RawValue> {
    to_raw_value(&serde_json::Map::new()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Reads the params of a method.
///
/// # Errors
/// They have another type.
pub fn params<T: for<'de> Deserialize<'de>>(params: &RawValue) -> Result<T, Error> {
    let read = serde_json::from_str(params.get());
    read.map_err(|error| {
        Error::invalid_params("Invalid params").data(Value::from(error.to_string()))
    })
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outgoing<'a, T, E> {
    Request {
        jsonrpc: &'static str,
        id: &'a JsonRpcId,
        method: &'a str,
        params: T,
    },
    Notification {
        jsonrpc: &'static str,
        method: &'a str,
        params: T,
    },
    Result {
        jsonrpc: &'static str,
        id: &'a JsonRpcId,
        result: T,
    },
    Error {
        jsonrpc: &'static str,
        id: &'a JsonRpcId,
        error: E,
    },
}

type WithoutError<'a, T> = Outgoing<'a, T, ()>;

pub(crate) fn request(id: &JsonRpcId, method: &str, params: impl Serialize) -> String {
    line(&WithoutError::Request {
        jsonrpc: VERSION,
        id,
        method,
        params,
    })
}

pub(crate) fn notification(method: &str, params: impl Serialize) -> String {
    line(&WithoutError::Notification {
        jsonrpc: VERSION,
        method,
        params,
    })
}

pub(crate) fn reply<T: Serialize, E: Serialize>(id: &JsonRpcId, result: Result<T, E>) -> String {
    let jsonrpc = VERSION;
    line(&match result {
        Ok(result) => Outgoing::Result {
            jsonrpc,
            id,
            result,
        },
        Err(error) => Outgoing::Error { jsonrpc, id, error },
    })
}

/// Protocol types have string keys and no fallible members, so writing them as JSON does not fail.
fn line<T: Serialize, E: Serialize>(message: &Outgoing<'_, T, E>) -> String {
    let mut line = serde_json::to_string(message).unwrap_or_else(|error| {
        tracing::error!(%error, "cannot write a message as JSON");
        String::new()
    });
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_classified() {
        let read = |line: &str| read(line).unwrap();
        let request = read(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#);
        assert!(matches!(request, IncomingMessage::Request { params, .. } if params.get() == "{}"));
        let null = read(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#);
        let is_null = |message| matches!(message, IncomingMessage::Request { id, .. } if id == JsonRpcId::Null);
        assert!(is_null(null));
        let notification = read(r#"{"jsonrpc":"2.0","method":"m","params":{"a":1}}"#);
        assert!(matches!(notification, IncomingMessage::Notification { .. }));
        let reply = read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert!(matches!(
            reply,
            IncomingMessage::Reply { result: Ok(_), .. }
        ));
        let refusal = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#);
        assert!(matches!(
            refusal,
            IncomingMessage::Reply { result: Err(_), .. }
        ));
    }

    #[test]
    fn invalid_message_error_has_a_readable_id() {
        let read = |line: &str| {
            let invalid = read(line).unwrap_err();
            (invalid.id, invalid.error.code)
        };
        assert_eq!(read("{"), (JsonRpcId::Null, -32700));
        assert_eq!(read("[]"), (JsonRpcId::Null, -32600));
        let old = read(r#"{"id":7,"method":"m"}"#);
        assert_eq!(old, (JsonRpcId::Number(7), -32600));
        let fraction = read(r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#);
        assert_eq!(fraction, (JsonRpcId::Null, -32600));
        let number = read(r#"{"jsonrpc":"2.0","id":7,"method":8}"#);
        assert_eq!(number, (JsonRpcId::Number(7), -32600));
    }

    #[test]
    fn an_invalid_reply_is_an_error_for_its_request() {
        for line in [
            r#"{"id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":"x"}}"#,
        ] {
            let Ok(IncomingMessage::Reply { id, result }) = read(line) else {
                panic!("{line}");
            };
            assert_eq!(
                (id, result.is_err()),
                (JsonRpcId::Number(7), true),
                "{line}"
            );
        }
        let both = r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":-1,"message":"no"}}"#;
        let read = read(both).unwrap();
        assert!(
            matches!(read, IncomingMessage::Reply { result: Err(error), .. } if error.code == -1)
        );
    }

    #[test]
    fn every_line_has_the_version() {
        let id = JsonRpcId::Number(1);
        let result = reply::<_, ()>(&id, Ok(1));
        assert_eq!(result, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n");
        let error = reply(&id, Err::<(), _>(Error::internal("no")));
        assert!(error.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603"));
    }
}
