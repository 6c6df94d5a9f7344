//! The form of messages: JSON-RPC 2.0.

use codex_protocol::RequestId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::McpError;

/// Something that a server sent.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The answer to a request of ours.
    Reply {
        id: u64,
        outcome: Result<Value, McpError>,
    },
    /// Something that it asks.
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    /// Something that it tells.
    Notification { method: String, params: Value },
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<RemoteError>,
}

#[derive(Deserialize)]
struct RemoteError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

/// Reads a message; none if it is not one that anybody waits for.
pub(crate) fn read(text: &[u8]) -> Result<Option<Incoming>, serde_json::Error> {
    let envelope: Envelope = serde_json::from_slice(text)?;
    let Envelope { id, params, .. } = envelope;
    Ok(
        match (envelope.method, serde_json::from_value(id.clone())) {
            (Some(method), Ok(id)) => Some(Incoming::Request { id, method, params }),
            (Some(method), Err(_)) => Some(Incoming::Notification { method, params }),
            (None, _) => id.as_u64().map(|id| Incoming::Reply {
                id,
                outcome: match envelope.error {
                    Some(RemoteError { code, message }) => Err(McpError::Remote { code, message }),
                    None => Ok(envelope.result),
                },
            }),
        },
    )
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

pub(crate) fn notification(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

pub(crate) fn result(id: &RequestId, result: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

pub(crate) fn error(id: &RequestId, code: i64, message: &str) -> String {
    let error = json!({ "code": code, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_by_what_they_have() {
        let table = [
            (r#"{"id":3,"result":{"a":1}}"#, "Reply"),
            (r#"{"id":3,"error":{"code":-1,"message":"no"}}"#, "Reply"),
            (r#"{"id":"x","method":"ping"}"#, "Request"),
            (
                r#"{"method":"notifications/message","params":{}}"#,
                "Notification",
            ),
        ];
        for (text, kind) in table {
            let message = format!("{:?}", read(text.as_bytes()).unwrap().unwrap());
            assert!(message.starts_with(kind), "{message}");
        }
        for text in [r#"{"id":"own","result":1}"#, "{}", r#"{"id":null}"#] {
            assert!(read(text.as_bytes()).unwrap().is_none(), "{text}");
        }
        assert!(read(b"listening on port 80").is_err());
    }
}
