//! Events about commands.

use std::time::Duration;

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use crate::approval::ParsedCommand;
use crate::base64_bytes::Base64Bytes;
use crate::raw_text::RawText;

/// The origin of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecCommandSource {
    #[default]
    Agent,
    /// A shell command of the user.
    UserShell,
    /// The model, in a new terminal that can outlive the call.
    UnifiedExecStartup,
    /// The model, in an existing terminal.
    UnifiedExecInteraction,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecCommandStatus {
    Completed,
    Failed,
    /// The command was not approved and did not run.
    Declined,
}

/// A command started.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandBeginEvent {
    pub call_id: String,
    /// The terminal, if there is one.
    pub process_id: Option<String>,
    pub turn_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working folder.
    pub cwd: String,
    /// The commands in the script, parsed for display.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// The origin of the command.
    #[serde(default)]
    pub source: ExecCommandSource,
    /// The input to an existing terminal.
    pub interaction_input: Option<String>,
    /// The other machine that it runs on; none for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// An output stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecOutputStream {
    Stdout,
    Stderr,
}

/// Output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandOutputDeltaEvent {
    pub call_id: String,
    /// The output stream.
    pub stream: ExecOutputStream,
    /// The bytes, which may end in the middle of a UTF-8 character.
    pub chunk: Base64Bytes,
}

/// Input was written to a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalInteractionEvent {
    /// The call that started the terminal.
    pub call_id: String,
    pub process_id: String,
    /// The input.
    pub stdin: String,
}

/// A command ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandEndEvent {
    pub call_id: String,
    /// The terminal, if there was one.
    pub process_id: Option<String>,
    pub turn_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working folder.
    pub cwd: String,
    /// The commands in the script, parsed for display.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// The origin of the command.
    #[serde(default)]
    pub source: ExecCommandSource,
    /// The input to an existing terminal.
    pub interaction_input: Option<String>,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// Both streams in order of arrival.
    pub aggregated_output: RawText,
    /// The exit code; -1 if there is none.
    pub exit_code: i32,
    /// The running time.
    pub duration: Duration,
    /// The output as the model receives it.
    pub formatted_output: String,
    pub status: ExecCommandStatus,
    /// What the command reached and did not reach, if its network is limited to hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<CommandConnections>,
}

/// The connections of a command to one host and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandConnections {
    pub host: String,
    pub port: u16,
    /// How many have ended.
    #[serde(default)]
    pub connections: u64,
    /// The bytes from the command.
    #[serde(default)]
    pub sent: u64,
    /// The bytes to the command.
    #[serde(default)]
    pub received: u64,
    /// Why a connection was refused; none if they were relayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
