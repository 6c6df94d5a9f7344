//! Effects: what the gate decides about.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use codex_apps::ToolApp;
use codex_protocol::{FileChange, PermissionProfile, RequestPermissionProfile};
use serde_json::Value;

/// What a tool call would do to the machine.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A command.
    Command(CommandEffect),
    /// Files changed by a patch.
    Patch(PatchEffect),
    /// A call of a tool of an MCP server.
    Mcp(McpEffect),
}

/// A command that the model wants to run.
#[derive(Clone, Debug)]
pub struct CommandEffect {
    pub argv: Vec<String>,
    /// The other machine that it runs on; none for this one.
    pub machine: Option<String>,
    /// A path of that machine.
    pub cwd: PathBuf,
    pub permissions: SandboxPermissions,
    /// What it asks for beyond the sandbox.
    pub additional: Option<PermissionProfile>,
    pub justification: Option<String>,
    pub prefix_rule: Option<Vec<String>>,
    /// Whether it gets a terminal, for tools that can give one.
    pub tty: Option<bool>,
    /// Whether it runs in a terminal of the editor instead of here.
    pub in_editor: bool,
}

/// Which sandbox a command asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPermissions {
    /// That of the turn.
    #[default]
    UseDefault,
    /// None.
    RequireEscalated,
    /// That of the turn, wider.
    WithAdditionalPermissions,
}

/// A patch that was verified.
#[derive(Clone, Debug)]
pub struct PatchEffect {
    /// The changes as clients see them.
    pub changes: BTreeMap<String, FileChange>,
    /// Every path that is written, links followed.
    pub touched: Vec<PathBuf>,
    /// If the files are those of another machine.
    pub elsewhere: Option<PatchElsewhere>,
}

/// What is known about a patch on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchElsewhere {
    pub machine: String,
    /// The files that the sandbox of the turn does not let be written there.
    pub outside: Vec<PathBuf>,
}

/// Permissions that the model asks for, for the calls that follow.
#[derive(Clone, Debug)]
pub struct PermissionsRequest {
    pub permissions: RequestPermissionProfile,
    pub reason: Option<String>,
}

/// A call of a tool of an MCP server.
#[derive(Clone, Debug)]
pub struct McpEffect {
    pub server: String,
    /// The app that the tool is of.
    pub app: Option<Arc<ToolApp>>,
    /// The server's name for it.
    pub tool: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub arguments: Option<Value>,
    /// The annotations of the server about the tool.
    pub annotations: Value,
    pub approval: ToolApproval,
}

/// How calls of a tool are approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolApproval {
    /// By the annotations of the tool.
    #[default]
    Auto,
    /// A person approves each call.
    Prompt,
    /// Calls need no approval.
    Approve,
}
