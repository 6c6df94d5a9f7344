//! Runs the user's program after each turn.

use std::process::Stdio;

use codex_core::{EndedTurn, TurnEnded};
use codex_system::process::leave_terminal;
use serde_json::json;

/// The program and its first arguments. It is configured by the user, so it runs without a sandbox, and nothing waits for
/// it.
#[derive(Debug)]
pub(crate) struct NotifyProgram(pub(crate) Vec<String>);

impl TurnEnded for NotifyProgram {
    fn ended(&self, turn: EndedTurn) {
        let Some((program, arguments)) = self.0.split_first() else {
            return;
        };
        let mut notification = json!({
            "type": "agent-turn-complete",
            "thread-id": turn.thread,
            "turn-id": turn.turn,
            "cwd": turn.cwd,
            "input-messages": turn.input_messages,
            "last-assistant-message": turn.last_agent_message,
        });
        if let Some(client) = turn.client {
            notification["client"] = client.into();
        }
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .arg(notification.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Err(error) = leave_terminal(&mut command).spawn() {
            tracing::warn!(%error, program, "the program of `notify` does not start");
        }
    }
}
