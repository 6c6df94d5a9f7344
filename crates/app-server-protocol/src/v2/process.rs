//! Processes of a client, outside of any sandbox.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{Update, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Payload of `process/exited`: a process of the client ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct ProcessExitedNotification {
    /// Exit code of the process.
    pub exit_code: i64,
    /// Whether output may be missing, as it did not end in time.
    #[since("0.169")]
    pub output_drain_timed_out: Option<bool>,
    /// Name that the client chose for the process.
    pub process_handle: String,
    /// Standard error; empty if it was streamed.
    pub stderr: String,
    /// Whether standard error was cut off.
    pub stderr_cap_reached: bool,
    /// Standard output; empty if it was streamed.
    pub stdout: String,
    /// Whether standard output was cut off.
    pub stdout_cap_reached: bool,
}

/// Params of `process/kill`: ends a process of the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProcessKillParams {
    /// Name that the client chose for the process.
    pub process_handle: String,
}

/// Reply to `process/kill`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessKillResponse {}

/// Payload of `process/outputDelta`: more output of a process of the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputDeltaNotification {
    /// Whether further output is cut off.
    pub cap_reached: bool,
    /// Bytes, in base64.
    pub delta_base64: String,
    /// Name that the client chose for the process.
    pub process_handle: String,
    /// Which output it is.
    pub stream: ProcessOutputStream,
}

/// Params of `process/resizePty`: changes the terminal size of a process of the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProcessResizePtyParams {
    /// Name that the client chose for the process.
    pub process_handle: String,
    /// Size of the terminal.
    pub size: ProcessTerminalSize,
}

/// Reply to `process/resizePty`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessResizePtyResponse {}

/// Params of `process/spawn`: starts a process for the client, outside of any sandbox.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSpawnParams {
    /// Program and arguments; must not be empty.
    pub command: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// Changes to the environment: null removes a variable.
    pub env: Option<BTreeMap<String, Option<String>>>,
    /// Most bytes of each output: absent takes the default, null is no limit.
    #[serde(default)]
    pub output_bytes_cap: Update<i64>,
    /// Name that the client chose for the process.
    pub process_handle: String,
    /// Size of the terminal.
    pub size: Option<ProcessTerminalSize>,
    /// Whether `process/writeStdin` may write.
    #[serde(default)]
    pub stream_stdin: bool,
    /// Whether output comes as `process/outputDelta`.
    #[serde(default)]
    pub stream_stdout_stderr: bool,
    /// Time limit in milliseconds: absent takes the default, null is none.
    #[serde(default)]
    pub timeout_ms: Update<i64>,
    /// Whether it runs in a terminal.
    #[serde(default)]
    pub tty: bool,
}

/// Reply to `process/spawn`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessSpawnResponse {}

/// Params of `process/writeStdin`: writes to the input of a process of the client, or closes it.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWriteStdinParams {
    /// Whether the input ends.
    #[serde(default)]
    pub close_stdin: bool,
    /// Bytes, in base64.
    pub delta_base64: Option<String>,
    /// Name that the client chose for the process.
    pub process_handle: String,
}

/// Reply to `process/writeStdin`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessWriteStdinResponse {}

/// An output of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProcessOutputStream {
    /// Stderr.
    Stderr,
    /// Stdout.
    Stdout,
}

/// Size of a terminal, in characters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessTerminalSize {
    /// Columns.
    pub cols: u32,
    /// Rows.
    pub rows: u32,
}
