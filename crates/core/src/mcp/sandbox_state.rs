//! How commands are confined, told to the servers that ask for it, so that they can confine theirs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_mcp_client::Connection;
use codex_protocol::SandboxPolicy;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// How long a server may take to take note.
const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// What servers are told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SandboxState(Value);

impl SandboxState {
    pub(crate) fn of(policy: &SandboxPolicy, cwd: &Path) -> Self {
        Self(json!({
            "sandboxPolicy": policy,
            "sandboxCwd": cwd,
            // There is no program that others could start to confine commands.
            "codexLinuxSandboxExe": null,
            "useLegacyLandlock": false,
        }))
    }
}

/// What one server was told last.
#[derive(Clone, Debug, Default)]
pub(super) struct SentSandboxState(Arc<Mutex<Option<SandboxState>>>);

impl SentSandboxState {
    /// Tells the server, if it wants to know and does not. That it could not be told is no failure.
    pub(super) async fn send(&self, server: &str, connection: &Connection, state: &SandboxState) {
        if !connection.wants_sandbox_states() {
            return;
        }
        let mut sent_state = self.0.lock().await;
        if sent_state.as_ref() == Some(state) {
            return;
        }
        let SandboxState(value) = state.clone();
        match connection.tell_sandbox_state(value, WAIT_LIMIT).await {
            Ok(()) => *sent_state = Some(state.clone()),
            Err(error) => tracing::warn!(server, %error, "an MCP server does not know the sandbox"),
        }
    }
}
