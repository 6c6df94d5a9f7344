//! Messages of exec servers: JSON-RPC without the member `jsonrpc`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request or, without an id, a notification.
#[derive(Debug, Serialize)]
pub(crate) struct OutgoingMessage<'a, P> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    pub(crate) method: &'a str,
    pub(crate) params: P,
}

impl<P: Serialize> OutgoingMessage<'_, P> {
    pub(crate) fn encode(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A message of the server. Only replies have a result or an error.
#[derive(Debug, Deserialize)]
pub(crate) struct ExecMessage {
    pub(crate) id: Option<u64>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) error: Option<Refusal>,
}

/// The error of a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

impl Refusal {
    pub(crate) fn text(&self) -> String {
        let Self { code, message } = self;
        format!("exec-server rejected request ({code}): {message}")
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HelloParams<'a> {
    pub(crate) client_name: &'a str,
    /// The session to go on with after a lost connection.
    pub(crate) resume_session_id: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BegunSession {
    pub(crate) session_id: String,
}

/// What an exec server says about its machine.
#[derive(Clone, Debug, Deserialize)]
pub struct EnvironmentInfo {
    pub shell: Shell,
    /// The folder in which it was started, as a URL.
    pub cwd: Option<String>,
}

/// The shell of a machine.
#[derive(Clone, Debug, Deserialize)]
pub struct Shell {
    pub name: String,
    pub path: String,
}
