//! JSON-RPC 2.0 messages.

use codex_protocol::RequestId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::McpError;

/// A message from a server.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    /// The reply to a request of this client.
    Reply {
        id: u64,
        outcome: Result<Value, McpError>,
    },
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
}

#[derive(Deserialize)]
struct JsonRpcEnvelope {
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
    data: Option<Value>,
}

/// Reads a message. `None` if it is a reply to no request of this client.
pub(crate) fn read(text: &[u8]) -> Result<Option<IncomingMessage>, serde_json::Error> {
    let envelope: JsonRpcEnvelope = serde_json::from_slice(text)?;
    let JsonRpcEnvelope { id, params, .. } = envelope;
    Ok(
        match (envelope.method, serde_json::from_value(id.clone())) {
            (Some(method), Ok(id)) => Some(IncomingMessage::Request { id, method, params }),
            (Some(method), Err(_)) => Some(IncomingMessage::Notification { method, params }),
            (None, _) => id.as_u64().map(|id| IncomingMessage::Reply {
                id,
                outcome: match envelope.error {
                    Some(RemoteError {
                        code,
                        message,
                        data,
                    }) => Err(McpError::Remote {
                        code,
                        message,
                        data,
                    }),
                    None => Ok(envelope.result),
                },
            }),
        },
    )
}

/// The error in the body of a refusal, if it has one.
pub(crate) fn error_in(body: &[u8]) -> Option<McpError> {
    let envelope: JsonRpcEnvelope = serde_json::from_slice(body).ok()?;
    let RemoteError {
        code,
        message,
        data,
    } = envelope.error?;
    Some(McpError::Remote {
        code,
        message,
        data,
    })
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
    fn message_kinds_are_distinguished_by_members() {
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
