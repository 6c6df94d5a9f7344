//! The confinement of commands, sent to servers that ask for it, so that they can confine theirs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use codex_mcp_client::McpConnection;
use codex_protocol::SandboxPolicy;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// The time limit for a server to confirm.
const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// What is sent to servers.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxState(Value);

impl SandboxState {
    pub fn from_policy(policy: &SandboxPolicy, cwd: &Path) -> Self {
        Self(json!({
            "sandboxPolicy": policy,
            "sandboxCwd": cwd,
            // There is no separate program that confines commands.
            "codexLinuxSandboxExe": null,
            "useLegacyLandlock": false,
        }))
    }
}

/// What was sent to a server last.
#[derive(Clone, Debug, Default)]
pub(super) struct SentSandboxState(Arc<Mutex<Option<SandboxState>>>);

impl SentSandboxState {
    /// Sends the state to a server that wants it, if it has changed. A failure is only logged.
    pub(super) async fn send(
        &self,
        server: &str,
        connection: &McpConnection,
        state: &SandboxState,
    ) {
        if !connection.wants_sandbox_states() {
            return;
        }
        let mut sent_state = self.0.lock().await;
        if sent_state.as_ref() == Some(state) {
            return;
        }
        let SandboxState(value) = state.clone();
        match connection.update_sandbox_state(value, WAIT_LIMIT).await {
            Ok(()) => *sent_state = Some(state.clone()),
            Err(error) => tracing::warn!(server, %error, "an MCP server does not know the sandbox"),
        }
    }
}
