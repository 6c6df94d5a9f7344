//! Events about commands.

use std::time::Duration;

use codex_app_server_protocol_macros::sparse;
use serde::{Deserialize, Serialize};

use crate::approval::ParsedCommand;
use crate::base64_bytes::Base64Bytes;
use crate::raw_text::RawText;

/// Who had a command run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecCommandSource {
    /// The model.
    #[default]
    Agent,
    /// The user.
    UserShell,
    /// The model, in a terminal that may outlive the call.
    UnifiedExecStartup,
    /// The model, in a terminal that was there already.
    UnifiedExecInteraction,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecCommandStatus {
    /// Well.
    Completed,
    /// Badly.
    Failed,
    /// It was not run, because it was not approved.
    Declined,
}

/// A command started.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandBeginEvent {
    /// The call.
    pub call_id: String,
    /// The terminal that it runs in.
    pub process_id: Option<String>,
    /// The turn.
    pub turn_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that it runs in.
    pub cwd: String,
    /// What its parts do.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// Who had it run.
    #[serde(default)]
    pub source: ExecCommandSource,
    /// What was typed into the terminal.
    pub interaction_input: Option<String>,
}

/// A stream that a command prints to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecOutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A command printed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandOutputDeltaEvent {
    /// The call.
    pub call_id: String,
    /// To which stream.
    pub stream: ExecOutputStream,
    /// What; it may end in the middle of a character.
    pub chunk: Base64Bytes,
}

/// Something was typed into a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalInteractionEvent {
    /// The call that started the terminal.
    pub call_id: String,
    /// The terminal.
    pub process_id: String,
    /// What was typed.
    pub stdin: String,
}

/// A command ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommandEndEvent {
    /// The call.
    pub call_id: String,
    /// The terminal that it ran in.
    pub process_id: Option<String>,
    /// The turn.
    pub turn_id: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that it ran in.
    pub cwd: String,
    /// What its parts do.
    pub parsed_cmd: Vec<ParsedCommand>,
    /// Who had it run.
    #[serde(default)]
    pub source: ExecCommandSource,
    /// What was typed into the terminal.
    pub interaction_input: Option<String>,
    /// What it printed to standard output.
    pub stdout: String,
    /// What it printed to standard error.
    pub stderr: String,
    /// What it printed, in the order in which it came.
    pub aggregated_output: RawText,
    /// Its exit code; -1 if it has none.
    pub exit_code: i32,
    /// How long it ran.
    pub duration: Duration,
    /// What the model was given.
    pub formatted_output: String,
    /// How it ended.
    pub status: ExecCommandStatus,
}
