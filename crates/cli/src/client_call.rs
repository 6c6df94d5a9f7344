//! Requests of commands that are clients of a server.

use anyhow::bail;
use codex_client::{Client, ClientError};
use serde_json::Value;

/// Sends a request. An error of the server is told in its own words.
pub(crate) async fn call(
    client: &mut Client,
    method: &str,
    params: &Value,
) -> anyhow::Result<Value> {
    match client.call(method, params).await {
        Err(ClientError::Refused { error, .. }) => bail!("{}", error.message),
        answer => Ok(answer?),
    }
}
