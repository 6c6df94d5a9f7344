//! Parts of the items that act on the machine: commands with what they appear to do, and patches
//! with the files they touch.

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who ran a command, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandExecutionSource {
    /// The agent, with a tool that waits for the command.
    #[default]
    Agent,
    /// The user, with `thread/shellCommand`.
    UserShell,
    /// The agent, in a terminal that can outlive the call.
    UnifiedExecStartup,
    /// The agent, by writing into a terminal opened before.
    UnifiedExecInteraction,
}

/// State of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandExecutionStatus {
    /// Waiting for approval, or running.
    InProgress,
    /// Ended with exit code 0.
    Completed,
    /// Ended with another exit code, or could not be run.
    Failed,
    /// Refused by the user or by a rule; it did not run.
    Declined,
}

/// What a part of a command line does, guessed for display; approval does not depend on it.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum CommandAction {
    /// Shows one file.
    Read {
        /// The part of the command line that this describes.
        command: String,
        /// Short name of the file.
        name: String,
        /// Path as written, joined to the directory that the script changed to.
        path: String,
    },
    /// Lists files.
    ListFiles {
        /// The part of the command line that this describes.
        command: String,
        /// Shortened name of the place listed; null for the working directory.
        path: Option<String>,
    },
    /// Searches in file contents or for file names.
    Search {
        /// The part of the command line that this describes.
        command: String,
        /// What is searched for; null if it cannot be told.
        query: Option<String>,
        /// Shortened name of the place searched; null for the working directory.
        path: Option<String>,
    },
    /// Anything else; stands for the whole command line.
    Unknown {
        /// The whole script.
        command: String,
    },
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileUpdateChange {
    /// Path of the file, before any move.
    pub path: String,
    /// Whether the file is made, removed or edited.
    pub kind: PatchChangeKind,
    /// Unified diff of an edit, naming a move at its end; the whole content otherwise.
    pub diff: String,
}

/// What a patch does with a file.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PatchChangeKind {
    /// Creates it.
    Add,
    /// Removes it.
    Delete,
    /// Edits it, or moves it.
    Update {
        /// Where the file moves to; null if it stays.
        move_path: Option<String>,
    },
}

/// State of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PatchApplyStatus {
    /// Waiting for approval, or being applied.
    InProgress,
    /// Applied.
    Completed,
    /// Could not be applied as a whole.
    Failed,
    /// Refused; no file was touched.
    Declined,
}
