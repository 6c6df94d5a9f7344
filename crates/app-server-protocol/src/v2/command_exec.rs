//! One program run outside any thread: no model, no approval, no history. Owns the request, the
//! control of a run in progress and its output stream; process ids are chosen by the client and
//! valid on its connection only.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::SandboxPolicy;

/// Size of a terminal in character cells; neither may be 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecTerminalSize {
    /// Lines, from top to bottom.
    pub rows: u16,
    /// Characters in a line.
    pub cols: u16,
}

/// Runs a program; the reply comes when it has ended and all its output has been sent.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct CommandExecParams {
    /// Program and its arguments; not empty, and no shell is put around it.
    pub command: Vec<String>,
    /// Name for the run, unique on this connection; needed for a terminal, streaming and control.
    pub process_id: Option<String>,
    /// Run on a terminal, with input and output streamed; both streams then arrive as `stdout`.
    #[serde(default)]
    pub tty: bool,
    /// Keep standard input open for `command/exec/write`; otherwise it is empty and closed.
    #[serde(default)]
    pub stream_stdin: bool,
    /// Send output as it appears; the reply's `stdout` and `stderr` are then empty.
    #[serde(default)]
    pub stream_stdout_stderr: bool,
    /// Most bytes kept of each stream, the rest is dropped; null means 1 MiB.
    pub output_bytes_cap: Option<u64>,
    /// Keep all output; not together with `outputBytesCap`.
    #[serde(default)]
    pub disable_output_cap: bool,
    /// Let it run until it ends by itself or is terminated; not together with `timeoutMs`.
    #[serde(default)]
    pub disable_timeout: bool,
    /// Milliseconds until the run is ended with exit code 124; null means 10 000, never negative.
    pub timeout_ms: Option<i64>,
    /// Folder to run in; null means the server's, which a relative one is resolved against.
    pub cwd: Option<String>,
    /// Changes to the environment that configuration gives: text sets a variable, null unsets it.
    pub env: Option<BTreeMap<String, Option<String>>>,
    /// First size of the terminal, only with `tty`; null means 24 rows of 80.
    pub size: Option<CommandExecTerminalSize>,
    /// Restrictions of this run; null means the configured ones. Requirements may forbid it.
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Name of permissions whose restrictions apply; not together with `sandboxPolicy`.
    #[experimental("command/exec.permissionProfile")]
    #[since("0.140")]
    pub permission_profile: Option<String>,
}

/// Sends input to a run; at least one of the two actions is required.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecWriteParams {
    /// Name that the client gave the run.
    pub process_id: String,
    /// Bytes to write, in base64; null writes nothing.
    pub delta_base64: Option<String>,
    /// Close the input, after writing; on a terminal this sends the end-of-file character.
    #[serde(default)]
    pub close_stdin: bool,
}

/// Ends a run with all its child processes; its own reply follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecTerminateParams {
    /// Name that the client gave the run.
    pub process_id: String,
}

/// Tells a run on a terminal that the size has changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResizeParams {
    /// Name that the client gave the run.
    pub process_id: String,
    /// The new size.
    pub size: CommandExecTerminalSize,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResponse {
    /// The program's own code, or 124 when the time was up.
    pub exit_code: i32,
    /// Captured standard output, decoded to text and cut at the cap; empty when streamed.
    pub stdout: String,
    /// Captured standard error, decoded to text and cut at the cap; empty when streamed.
    pub stderr: String,
}

/// The run has taken the input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExecWriteResponse {}

/// The run has been told to end; wait for its own reply to know that it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExecTerminateResponse {}

/// The terminal has the new size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExecResizeResponse {}

/// Where output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandExecOutputStream {
    /// Standard output, or everything when the run has a terminal.
    Stdout,
    /// Standard error of a run without a terminal.
    Stderr,
}

/// A piece of output, sent only to the connection that started the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecOutputDeltaNotification {
    /// Name that the client gave the run.
    pub process_id: String,
    /// Where the piece came from.
    pub stream: CommandExecOutputStream,
    /// The bytes, in base64; a piece may end in the middle of a character.
    pub delta_base64: String,
    /// Whether this is the stream's last piece because the cap drops the rest.
    pub cap_reached: bool,
}
