//! The program that the user wants to be told of each turn that has ended.

use std::process::Stdio;

use codex_core::{EndedTurn, TurnEnded};
use serde_json::json;

/// The program and its first arguments. It is the user's own: it runs unconfined and by itself, and
/// nobody waits for it.
#[derive(Debug)]
pub(crate) struct TurnProgram(pub(crate) Vec<String>);

impl TurnEnded for TurnProgram {
    fn ended(&self, turn: EndedTurn) {
        let Some((program, arguments)) = self.0.split_first() else {
            return;
        };
        let mut told = json!({
            "type": "agent-turn-complete",
            "thread-id": turn.thread,
            "turn-id": turn.turn,
            "cwd": turn.cwd,
            "input-messages": turn.input_messages,
            "last-assistant-message": turn.last_agent_message,
        });
        if let Some(client) = turn.client {
            told["client"] = client.into();
        }
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .arg(told.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        command.process_group(0);
        if let Err(error) = command.spawn() {
            tracing::warn!(%error, program, "the program of `notify` does not start");
        }
    }
}
