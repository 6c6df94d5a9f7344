//! An action as data: whole for the reviewer, short for clients.

use codex_gate::{
    CommandEffect, Effect, McpEffect, PatchEffect, PermissionsRequest, SandboxPermissions,
};
use codex_protocol::{EDITOR_TERMINAL, FileChange};
use codex_session_base::gate::ReviewSubject;
use codex_session_base::turn_settings::TurnSettings;
use serde_json::{Value, json};

/// What a reviewer decides about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Action {
    /// For the reviewer.
    pub(crate) whole: Value,
    /// For clients.
    pub(crate) short: Value,
}

impl Action {
    pub(crate) fn from_subject(subject: &ReviewSubject, turn: &TurnSettings) -> Self {
        match subject {
            ReviewSubject::Effect(Effect::Command(command)) => of_command(command),
            ReviewSubject::Effect(Effect::Patch(patch)) => of_patch(patch, turn),
            ReviewSubject::Effect(Effect::Mcp(call)) => of_mcp(call),
            ReviewSubject::Permissions(request) => of_permissions(request, turn),
        }
    }

    /// Whether it does the same as another one, whatever reason is given.
    pub(crate) fn does_the_same(&self, other: &Self) -> bool {
        let effect = |action: &Self| {
            let mut effect = action.whole.clone();
            if let Some(fields) = effect.as_object_mut() {
                fields.remove(JUSTIFICATION);
            }
            effect
        };
        effect(self) == effect(other)
    }
}

/// The reason that the model gives.
const JUSTIFICATION: &str = "justification";

fn of_permissions(request: &PermissionsRequest, turn: &TurnSettings) -> Action {
    let tool = "request_permissions";
    Action {
        whole: json!({
            "tool": tool, "cwd": turn.cwd, "permissions": request.permissions,
            JUSTIFICATION: request.reason, "scope": "turn",
        }),
        short: json!({
            "type": "requestPermissions", "tool": tool, "permissions": request.permissions,
            "reason": request.reason,
        }),
    }
}

fn of_command(command: &CommandEffect) -> Action {
    let (tool, source) = match command.tty {
        _ if command.in_editor => (EDITOR_TERMINAL, "shell"),
        Some(_) => ("exec_command", "unifiedExec"),
        None => ("shell", "shell"),
    };
    let permissions = match command.permissions {
        SandboxPermissions::UseDefault => "use_default",
        SandboxPermissions::RequireEscalated => "require_escalated",
        SandboxPermissions::WithAdditionalPermissions => "with_additional_permissions",
    };
    let line = shlex::try_join(command.argv.iter().map(String::as_str));
    let line = line.unwrap_or_else(|_| command.argv.join(" "));
    Action {
        whole: json!({
            "tool": tool,
            "command": command.argv,
            "cwd": command.cwd,
            "environment": command.machine,
            "sandbox_permissions": permissions,
            "additional_permissions": command.additional,
            JUSTIFICATION: command.justification,
            "tty": command.tty,
        }),
        short: json!({
            "type": "command", "tool": tool, "source": source, "command": line, "cwd": command.cwd,
        }),
    }
}

fn of_patch(patch: &PatchEffect, turn: &TurnSettings) -> Action {
    let text = |(path, change): (&String, &FileChange)| match change {
        FileChange::Add { content } => json!({"path": path, "add": content}),
        FileChange::Delete { .. } => json!({"path": path, "delete": true}),
        FileChange::Update {
            unified_diff,
            move_path,
        } => json!({"path": path, "diff": unified_diff, "move_to": move_path}),
    };
    let changes: Vec<_> = patch.changes.iter().map(text).collect();
    let files: Vec<_> = patch.changes.keys().collect();
    Action {
        whole: json!({
            "tool": "apply_patch", "cwd": turn.shown_cwd(), "files": patch.touched,
            "environment": patch.elsewhere.as_ref().map(|elsewhere| &elsewhere.machine),
            "change_count": changes.len(), "patch": changes,
        }),
        short: json!({
            "type": "applyPatch", "tool": "apply_patch", "cwd": turn.shown_cwd(), "files": files,
            "change_count": changes.len(),
        }),
    }
}

fn of_mcp(call: &McpEffect) -> Action {
    Action {
        whole: json!({
            "tool": "mcp_tool_call", "server": call.server, "tool_name": call.tool,
            "arguments": call.arguments, "tool_title": call.title,
            "tool_description": call.description, "annotations": call.annotations,
        }),
        short: json!({
            "type": "mcpToolCall", "tool": "mcp_tool_call", "server": call.server,
            "tool_name": call.tool, "toolName": call.tool,
        }),
    }
}
