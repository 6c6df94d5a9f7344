//! Effects: what the gate decides about.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use codex_apps::ToolApp;
use codex_protocol::{FileChange, PermissionProfile, RequestPermissionProfile};
use serde_json::Value;

use crate::config::ToolApproval;

/// What a tool call would do to the machine.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// A command.
    Command(CommandEffect),
    /// Files changed by a patch.
    Patch(PatchEffect),
    /// A call of a tool of an MCP server.
    Mcp(McpEffect),
}

/// A command that the model wants to run.
#[derive(Clone, Debug)]
pub(crate) struct CommandEffect {
    pub(crate) argv: Vec<String>,
    /// The other machine that it runs on; none for this one.
    pub(crate) machine: Option<String>,
    /// A path of that machine.
    pub(crate) cwd: PathBuf,
    pub(crate) permissions: SandboxPermissions,
    /// What it asks for beyond the sandbox.
    pub(crate) additional: Option<PermissionProfile>,
    pub(crate) justification: Option<String>,
    pub(crate) prefix_rule: Option<Vec<String>>,
    /// Whether it gets a terminal, for tools that can give one.
    pub(crate) tty: Option<bool>,
    /// Whether it runs in a terminal of the editor instead of here.
    pub(crate) in_editor: bool,
}

/// Which sandbox a command asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxPermissions {
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
pub(crate) struct PatchEffect {
    /// The changes as clients see them.
    pub(crate) changes: BTreeMap<String, FileChange>,
    /// Every path that is written, links followed.
    pub(crate) touched: Vec<PathBuf>,
    /// If the files are those of another machine.
    pub(crate) elsewhere: Option<PatchElsewhere>,
}

/// What is known about a patch on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchElsewhere {
    pub(crate) machine: String,
    /// The files that the sandbox of the turn does not let be written there.
    pub(crate) outside: Vec<PathBuf>,
}

/// Permissions that the model asks for, for the calls that follow.
#[derive(Clone, Debug)]
pub(crate) struct PermissionsRequest {
    pub(crate) permissions: RequestPermissionProfile,
    pub(crate) reason: Option<String>,
}

/// A call of a tool of an MCP server.
#[derive(Clone, Debug)]
pub(crate) struct McpEffect {
    pub(crate) server: String,
    /// The app that the tool is of.
    pub(crate) app: Option<Arc<ToolApp>>,
    /// The server's name for it.
    pub(crate) tool: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) arguments: Option<Value>,
    /// The annotations of the server about the tool.
    pub(crate) annotations: Value,
    pub(crate) approval: ToolApproval,
}
