//! The messages: `jsonrpc` in each, no batches.
//!
//! A message is read in two steps: the envelope with params as raw text, then those as the type of the method.

use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

const VERSION: &str = "2.0";

/// The id of a request, chosen by who sends it and repeated in the reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// `null`, which is unwise and allowed.
    Null,
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Number(id) => id.fmt(formatter),
            Self::Text(id) => formatter.write_str(id),
        }
    }
}

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// What kind of thing.
    pub code: i64,
    /// A sentence about it.
    pub message: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The line is no JSON.
    #[must_use]
    pub fn parse() -> Self {
        Self::new(-32700, "Parse error")
    }

    /// The line is no message, or one that makes no sense now.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message)
    }

    /// Nobody knows this method.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {method}"))
    }

    /// The params cannot be read, or make no sense.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// It was tried and did not come about.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(-32603, message)
    }

    /// Nobody answers any more.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(-32800, "Request cancelled")
    }

    /// With more about it.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// A message of the peer. Params that are not there are an empty object.
#[derive(Debug)]
pub enum Message {
    /// Wants a reply.
    Request {
        /// Repeated in the reply.
        id: RequestId,
        /// The name of the method.
        method: String,
        /// What the method takes.
        params: Box<RawValue>,
    },
    /// Wants none.
    Notification {
        /// The name of the method.
        method: String,
        /// What the method takes.
        params: Box<RawValue>,
    },
    /// The reply to a request of this side.
    Reply {
        /// That of the request.
        id: RequestId,
        /// What came of it.
        result: Result<Box<RawValue>, Error>,
    },
}

/// A line that is no message.
#[derive(Debug)]
pub struct Unreadable {
    /// That of the request that it may have been.
    pub id: RequestId,
    /// Why.
    pub error: Box<Error>,
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Error>,
}

/// An id that is null is there all the same.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
    RequestId::deserialize(deserializer).map(Some)
}

fn no_message() -> Error {
    Error::invalid_request("Invalid request")
}

/// Reads a line.
///
/// # Errors
/// It is no message.
pub fn read(line: &str) -> Result<Message, Unreadable> {
    let envelope: Envelope = serde_json::from_str(line).map_err(|error| {
        let kind = match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => no_message(),
            Err(_) => Error::parse(),
        };
        Unreadable {
            id: RequestId::Null,
            error: Box::new(kind.data(Value::from(error.to_string()))),
        }
    })?;
    let id = envelope.id.clone();
    classify(envelope).ok_or_else(|| Unreadable {
        id: id.unwrap_or(RequestId::Null),
        error: Box::new(no_message()),
    })
}

fn classify(envelope: Envelope) -> Option<Message> {
    if envelope.jsonrpc.as_deref() != Some(VERSION) {
        return None;
    }
    let params = envelope.params.unwrap_or_else(no_params);
    match (envelope.id, envelope.method) {
        (Some(id), Some(method)) => Some(Message::Request { id, method, params }),
        (None, Some(method)) => Some(Message::Notification { method, params }),
        (Some(id), None) => {
            let result = match (envelope.result, envelope.error) {
                (_, Some(error)) => Err(error),
                (Some(result), None) => Ok(result),
                // `"result": null` reads as absent.
                (None, None) => Ok(RawValue::NULL.to_owned()),
            };
            Some(Message::Reply { id, result })
        }
        (None, None) => None,
    }
}

fn no_params() -> Box<RawValue> {
    to_raw_value(&serde_json::Map::new()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Reads the params of a method.
///
/// # Errors
/// They are of another type.
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
        id: &'a RequestId,
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
        id: &'a RequestId,
        result: T,
    },
    Error {
        jsonrpc: &'static str,
        id: &'a RequestId,
        error: E,
    },
}

/// What has no error in it.
type Plain<'a, T> = Outgoing<'a, T, ()>;

pub(crate) fn request(id: &RequestId, method: &str, params: impl Serialize) -> String {
    line(&Plain::Request {
        jsonrpc: VERSION,
        id,
        method,
        params,
    })
}

pub(crate) fn notification(method: &str, params: impl Serialize) -> String {
    line(&Plain::Notification {
        jsonrpc: VERSION,
        method,
        params,
    })
}

pub(crate) fn reply<T: Serialize, E: Serialize>(id: &RequestId, result: Result<T, E>) -> String {
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

/// Types of a protocol have text as keys and no fallible members, so they always become JSON.
fn line<T: Serialize, E: Serialize>(message: &Outgoing<'_, T, E>) -> String {
    let mut line = serde_json::to_string(message).unwrap_or_else(|error| {
        tracing::error!(%error, "a message could not be written");
        String::new()
    });
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let read = |line: &str| read(line).unwrap();
        let request = read(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#);
        assert!(matches!(request, Message::Request { params, .. } if params.get() == "{}"));
        let null = read(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#);
        let is_null =
            |message| matches!(message, Message::Request { id, .. } if id == RequestId::Null);
        assert!(is_null(null));
        let notification = read(r#"{"jsonrpc":"2.0","method":"m","params":{"a":1}}"#);
        assert!(matches!(notification, Message::Notification { .. }));
        let reply = read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        assert!(matches!(reply, Message::Reply { result: Ok(_), .. }));
        let refusal = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#);
        assert!(matches!(refusal, Message::Reply { result: Err(_), .. }));
    }

    #[test]
    fn what_is_no_message_is_an_error_with_the_id_as_far_as_known() {
        let read = |line: &str| {
            let unreadable = read(line).unwrap_err();
            (unreadable.id, unreadable.error.code)
        };
        assert_eq!(read("{"), (RequestId::Null, -32700));
        assert_eq!(read("[]"), (RequestId::Null, -32600));
        let old = read(r#"{"id":7,"method":"m"}"#);
        assert_eq!(old, (RequestId::Number(7), -32600));
        let fraction = read(r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#);
        assert_eq!(fraction, (RequestId::Null, -32600));
    }

    #[test]
    fn every_line_has_the_version() {
        let id = RequestId::Number(1);
        let result = reply::<_, ()>(&id, Ok(1));
        assert_eq!(result, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}\n");
        let error = reply(&id, Err::<(), _>(Error::internal("no")));
        assert!(error.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603"));
    }
}
