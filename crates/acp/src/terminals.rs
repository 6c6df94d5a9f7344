//! Terminals of the editor, for commands that the user wants to see run there.
//!
//! If the client offers terminals, the model gets a tool for them. The engine decides whether such a command may run, as
//! about every command that leaves its sandbox, and calls the tool only then. All other commands run in the engine.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, ReleaseTerminalRequest,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse, ToolCallStatus,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use codex_app_server_protocol::v2::DynamicToolCallParams;
use codex_json_rpc::Error;
use codex_system::facts::TERMINAL_SHELL;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::ask::session_of;
use crate::command_calls;
use crate::session::AcpSession;

/// The name of the tool.
pub(crate) use crate::command_calls::TERMINAL_TOOL as TOOL;

/// The largest output of a command, of which the editor keeps the end.
const OUTPUT_LIMIT: u64 = 64 * 1024;

/// How long a command may run if the model does not say.
const TIME_LIMIT: Duration = Duration::from_mins(10);

#[derive(Deserialize)]
struct TerminalArguments {
    command: String,
    timeout_ms: Option<u64>,
}

/// The tool, for the engine.
pub(crate) fn spec() -> Value {
    json!({
        "name": TOOL,
        "description": "Runs a shell command in a terminal of the user's editor, in the folder of the session, and \
                        returns its output. Only for commands that the user asks to see in the editor's terminal, \
                        or that need what only the editor has. Use the other tools for everything else.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "command": { "type": "string", "description": "The command line." },
                "timeout_ms": { "type": "integer", "minimum": 1,
                                "description": "When to stop it; ten minutes by default." },
            },
            "required": ["command"],
            "additionalProperties": false,
        },
    })
}

/// Runs a command in the editor, and returns the reply to the engine.
pub(crate) async fn call(agent: &Arc<Agent>, params: &DynamicToolCallParams) -> Value {
    match run(agent, params).await {
        Ok(output) => reply(&output.text, output.is_success),
        Err(reason) => reply(&reason, false),
    }
}

fn reply(text: &str, success: bool) -> Value {
    json!({ "contentItems": [{ "type": "inputText", "text": text }], "success": success })
}

/// The result of a command, for the model.
#[derive(Debug, PartialEq)]
struct CommandOutput {
    text: String,
    is_success: bool,
}

async fn run(agent: &Arc<Agent>, params: &DynamicToolCallParams) -> Result<CommandOutput, String> {
    let arguments = TerminalArguments::deserialize(&params.arguments)
        .map_err(|error| format!("the arguments cannot be read: {error}"))?;
    let session = session_of(agent, &params.thread_id)
        .filter(|_| agent.client_features().terminals)
        .ok_or("the editor has no terminals")?;
    let terminal = EditorTerminal::create(agent, &session, &arguments.command).await;
    let terminal = terminal.map_err(|error| format!("the editor refused: {}", error.message))?;
    show(
        agent,
        &session,
        &params.call_id,
        &arguments.command,
        &terminal.id,
    )
    .await;
    let limit = arguments
        .timeout_ms
        .map_or(TIME_LIMIT, Duration::from_millis);
    let ended = tokio::time::timeout(limit, terminal.end()).await.is_ok();
    if !ended {
        terminal.kill().await;
    }
    let output = terminal.output().await;
    terminal.release().await;
    let output = output.map_err(|error| format!("the output is lost: {}", error.message))?;
    Ok(described(&output, ended))
}

/// Shows the terminal as the content of the tool call.
async fn show(agent: &Agent, session: &AcpSession, call: &str, command: &str, id: &TerminalId) {
    let call = command_calls::in_terminal(call, command, Some(id.clone()));
    let call = call.status(ToolCallStatus::InProgress);
    let update = session.state().projection.tool_call_update(call);
    agent.update(&session.id, update).await;
}

fn described(output: &TerminalOutputResponse, ended: bool) -> CommandOutput {
    let TerminalExitStatus {
        exit_code, signal, ..
    } = output.exit_status.clone().unwrap_or_default();
    let end = match (exit_code, signal) {
        _ if !ended => "It took too long and was stopped.".to_owned(),
        (Some(code), _) => format!("Exit code: {code}"),
        (None, Some(signal)) => format!("Ended by signal {signal}"),
        (None, None) => "Ended".to_owned(),
    };
    let cut = if output.truncated {
        " (only its end)"
    } else {
        ""
    };
    CommandOutput {
        text: format!("{end}\nOutput{cut}:\n{}", output.output),
        is_success: ended && exit_code == Some(0),
    }
}

/// A terminal of the editor. Dropped before it is released, as when the turn is interrupted, its command is ended.
struct EditorTerminal {
    agent: Arc<Agent>,
    session: Arc<AcpSession>,
    id: TerminalId,
    is_released: bool,
}

impl EditorTerminal {
    async fn create(
        agent: &Arc<Agent>,
        session: &Arc<AcpSession>,
        command: &str,
    ) -> Result<Self, Error> {
        let [shell, flag] = TERMINAL_SHELL;
        let request = CreateTerminalRequest::new(session.id.clone(), shell)
            .args(vec![flag.to_owned(), command.to_owned()])
            .cwd(session.cwd())
            .output_byte_limit(OUTPUT_LIMIT);
        let reply = agent.peer.request("terminal/create", request).await;
        let reply: CreateTerminalResponse = reply?;
        Ok(Self {
            agent: Arc::clone(agent),
            session: Arc::clone(session),
            id: reply.terminal_id,
            is_released: false,
        })
    }

    /// Waits until the command ends. If the editor cannot tell, the command counts as ended.
    async fn end(&self) {
        let request = WaitForTerminalExitRequest::new(self.session.id.clone(), self.id.clone());
        let waiting = self.agent.peer.request("terminal/wait_for_exit", request);
        let _: Result<WaitForTerminalExitResponse, _> = waiting.await;
    }

    async fn output(&self) -> Result<TerminalOutputResponse, Error> {
        let request = TerminalOutputRequest::new(self.session.id.clone(), self.id.clone());
        self.agent.peer.request("terminal/output", request).await
    }

    async fn kill(&self) {
        let request = KillTerminalRequest::new(self.session.id.clone(), self.id.clone());
        let _: Result<Value, _> = self.agent.peer.request("terminal/kill", request).await;
    }

    async fn release(mut self) {
        self.is_released = true;
        release(&self.agent, &self.session, &self.id).await;
    }
}

/// The editor ends a command that still runs, and keeps showing the output.
async fn release(agent: &Agent, session: &AcpSession, id: &TerminalId) {
    let request = ReleaseTerminalRequest::new(session.id.clone(), id.clone());
    let _: Result<Value, _> = agent.peer.request("terminal/release", request).await;
}

impl Drop for EditorTerminal {
    fn drop(&mut self) {
        if self.is_released {
            return;
        }
        let (agent, session) = (Arc::clone(&self.agent), Arc::clone(&self.session));
        let id = self.id.clone();
        tokio::spawn(async move { release(&agent, &session, &id).await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_gets_the_exit_of_a_command() {
        let output = |status: Value| {
            let reply = json!({ "output": "x\n", "truncated": false, "exitStatus": status });
            serde_json::from_value(reply).unwrap()
        };
        let good = described(&output(json!({ "exitCode": 0 })), true);
        assert_eq!(
            (good.text.as_str(), good.is_success),
            ("Exit code: 0\nOutput:\nx\n", true)
        );
        let killed = described(&output(json!({ "signal": "SIGKILL" })), true);
        assert!(killed.text.contains("SIGKILL") && !killed.is_success);
        assert!(!described(&output(json!({ "exitCode": 0 })), false).is_success);
    }
}
