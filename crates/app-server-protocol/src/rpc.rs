//! JSON-RPC as it is spoken here: messages without the `jsonrpc` member, which is ignored when it is
//! there; ids that are strings or integers.
//!
//! A message is read in two steps: the envelope first, with params and results left as raw text, then
//! those as the type that the method names.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The id of a request, chosen by who sends it and repeated in the reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RequestId {
    /// A string, used as it is.
    String(String),
    /// A whole number, 0 included.
    Integer(i64),
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(id) => formatter.write_str(id),
            Self::Integer(id) => id.fmt(formatter),
        }
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self::String(id.to_owned())
    }
}

impl From<i64> for RequestId {
    fn from(id: i64) -> Self {
        Self::Integer(id)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RequestIdVisitor)
    }
}

struct RequestIdVisitor;

impl Visitor<'_> for RequestIdVisitor {
    type Value = RequestId;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or an integer")
    }

    fn visit_str<E: serde::de::Error>(self, id: &str) -> Result<RequestId, E> {
        Ok(RequestId::String(id.to_owned()))
    }

    fn visit_i64<E: serde::de::Error>(self, id: i64) -> Result<RequestId, E> {
        Ok(RequestId::Integer(id))
    }

    fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<RequestId, E> {
        i64::try_from(id).map(RequestId::Integer).map_err(E::custom)
    }
}

/// Any message, as it is on the wire.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "JSONRPCMessage")]
pub enum Message<'a> {
    /// Wants a reply.
    Request(#[serde(borrow)] Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// The reply to a request that was carried out.
    Response(Response<'a>),
    /// The reply to a request that was not.
    Error(ErrorResponse),
}

/// A message that wants a reply.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "JSONRPCRequest")]
pub struct Request<'a> {
    /// Repeated in the reply.
    pub id: RequestId,
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// What the method takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub params: Option<&'a RawValue>,
    /// The trace that the request belongs to, for distributed tracing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// A message that wants no reply.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "JSONRPCNotification")]
pub struct Notification<'a> {
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// What the method takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub params: Option<&'a RawValue>,
}

/// The reply to a request that was carried out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "JSONRPCResponse")]
pub struct Response<'a> {
    /// The id of the request.
    pub id: RequestId,
    /// What the method answers.
    #[schemars(with = "Value")]
    pub result: &'a RawValue,
}

/// The reply to a request that was not carried out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "JSONRPCError")]
pub struct ErrorResponse {
    /// The id of the request; null if the message could not be read at all.
    pub id: Option<RequestId>,
    /// What went wrong.
    pub error: ErrorObject,
}

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "JSONRPCErrorError")]
pub struct ErrorObject {
    /// One of the codes of [`error_code`].
    pub code: i64,
    /// A sentence for people.
    pub message: String,
    /// More for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Where a request stands in a distributed trace, in the terms of the W3C recommendation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "W3cTraceContext")]
pub struct TraceContext {
    /// The trace and the span that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What vendors add to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// The codes of an [`ErrorObject`].
pub mod error_code {
    /// The line was not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The request cannot be carried out as it stands: wrong params, wrong state, unknown thing.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No method has this name.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The params are well-formed but over a limit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed at something that should have worked.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// The server has too much to do; try again later.
    pub const OVERLOADED: i64 = -32001;

    /// Every code with what it means, for the documentation.
    pub const ALL: [(i64, &str); 6] = [
        (PARSE_ERROR, "The line was not JSON."),
        (
            INVALID_REQUEST,
            "Wrong params, wrong state, or an unknown thread, turn or file.",
        ),
        (METHOD_NOT_FOUND, "No method has this name."),
        (
            INVALID_PARAMS,
            "The params are well-formed but over a limit.",
        ),
        (
            INTERNAL_ERROR,
            "The server failed at something that should have worked.",
        ),
        (
            OVERLOADED,
            "The server has too much to do; try again later.",
        ),
    ];
}

/// Every member that a message may have; which of them are present decides its kind.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, deserialize_with = "present")]
    id: Option<Option<RequestId>>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    error: Option<ErrorObject>,
    #[serde(default, deserialize_with = "lenient")]
    trace: Option<TraceContext>,
}

const KINDS: &str =
    "a request (id, method), a notification (method) or a reply (id, result or error)";

/// Takes objects only, where the derived code would take an array of the members as well.
struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object that is {KINDS}")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Envelope<'de>, A::Error> {
        Envelope::deserialize(MapAccessDeserializer::new(members))
    }
}

/// Distinguishes a null member from an absent one.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}

/// A trace that cannot be read is no trace.
fn lenient<'de, D: Deserializer<'de>>(d: D) -> Result<Option<TraceContext>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(d)?).ok())
}

impl<'de: 'a, 'a> Deserialize<'de> for Message<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let envelope = deserializer.deserialize_map(EnvelopeVisitor)?;
        let Envelope {
            method,
            params,
            trace,
            ..
        } = envelope;
        match (envelope.id, method, envelope.result, envelope.error) {
            (Some(Some(id)), Some(method), None, None) => Ok(Self::Request(Request {
                id,
                method,
                params,
                trace,
            })),
            (None | Some(None), Some(method), None, None) => {
                Ok(Self::Notification(Notification { method, params }))
            }
            (Some(Some(id)), None, Some(result), None) => {
                Ok(Self::Response(Response { id, result }))
            }
            (Some(id), None, None, Some(error)) => Ok(Self::Error(ErrorResponse { id, error })),
            _ => Err(D::Error::custom(format!("expected {KINDS}"))),
        }
    }
}

/// A request as it is written: the method and its params beside the id.
#[derive(Debug)]
pub struct OutgoingRequest<'a, M> {
    /// Repeated in the reply.
    pub id: &'a RequestId,
    /// A `ClientRequest` or `ServerRequest`.
    pub message: &'a M,
}

impl<M: Serialize> Serialize for OutgoingRequest<'_, M> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a, M> {
            id: &'a RequestId,
            #[serde(flatten)]
            message: &'a M,
        }
        Flat {
            id: self.id,
            message: self.message,
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads a message, writes it back, and returns its kind.
    fn check(wire: Value, kind: &str) {
        let text = wire.to_string();
        let message: Message<'_> = serde_json::from_str(&text).unwrap();
        let found = match &message {
            Message::Request(_) => "request",
            Message::Notification(_) => "notification",
            Message::Response(_) => "response",
            Message::Error(_) => "error",
        };
        assert_eq!(found, kind);
        let mut expected = wire;
        expected.as_object_mut().unwrap().remove("jsonrpc");
        assert_eq!(serde_json::to_value(&message).unwrap(), expected);
    }

    #[test]
    fn message_kind_follows_its_members() {
        check(
            json!({ "id": 0, "method": "thread/list", "params": { "limit": 1 } }),
            "request",
        );
        check(
            json!({ "jsonrpc": "2.0", "id": "a", "method": "thread/list" }),
            "request",
        );
        check(json!({ "method": "initialized" }), "notification");
        check(json!({ "id": 7, "result": null }), "response");
        check(
            json!({ "id": null, "error": { "code": -32700, "message": "not JSON" } }),
            "error",
        );
    }

    #[test]
    fn a_message_of_no_kind_is_refused() {
        for wire in [
            json!({}),
            json!({ "id": 1 }),
            json!({ "id": 1, "result": 1, "error": { "code": 1, "message": "" } }),
            json!({ "id": true, "method": "thread/list" }),
            json!({ "id": 1.5, "method": "thread/list" }),
            json!([]),
        ] {
            let text = wire.to_string();
            assert!(
                serde_json::from_str::<Message<'_>>(&text).is_err(),
                "{wire}"
            );
        }
    }

    #[test]
    fn array_error_names_the_expected_type() {
        for text in ["[]", "[1]", r#"[1,"m",{},null,null,null]"#] {
            let error = serde_json::from_str::<Message<'_>>(text).unwrap_err();
            let expected = format!("invalid type: sequence, expected an object that is {KINDS}");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn an_unreadable_trace_is_no_trace() {
        let text = r#"{"id":1,"method":"m","trace":7}"#;
        let Message::Request(request) = serde_json::from_str(text).unwrap() else {
            panic!("not a request");
        };
        assert_eq!(request.trace, None);
    }
}
