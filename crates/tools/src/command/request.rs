//! The arguments that all shell tools share.

use codex_gate::SandboxPermissions;
use codex_protocol::{
    AbsolutePathBuf, AskForApproval, FileSystemPermissions, NetworkPermissions, PermissionProfile,
};
use codex_session_base::config::SessionConfig;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tool::ToolContext;

/// The request for more permissions.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ApprovalArguments {
    #[serde(default)]
    pub sandbox_permissions: SandboxPermissions,
    #[serde(default)]
    pub justification: Option<String>,
    #[serde(default)]
    pub prefix_rule: Option<Vec<String>>,
    #[serde(default)]
    pub additional_permissions: Option<AdditionalPermissions>,
}

/// Permissions as the model writes them.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct AdditionalPermissions {
    #[serde(default)]
    network: Option<NetworkPermissions>,
    #[serde(default)]
    file_system: Option<RequestedPaths>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct RequestedPaths {
    #[serde(default)]
    read: Option<Vec<String>>,
    #[serde(default)]
    write: Option<Vec<String>>,
}

impl AdditionalPermissions {
    /// Converts relative paths to absolute ones.
    pub(crate) fn resolve(self, context: &ToolContext) -> PermissionProfile {
        let paths = |paths: Option<Vec<String>>| {
            paths.map(|paths| {
                let absolute = |path: &String| {
                    let path = context.settings.resolve(path);
                    let path = codex_mounts::canonicalize(&path).unwrap_or(path);
                    AbsolutePathBuf(path.display().to_string())
                };
                paths.iter().map(absolute).collect()
            })
        };
        let file_system = self.file_system.map(|files| FileSystemPermissions {
            read: paths(files.read),
            write: paths(files.write),
        });
        PermissionProfile {
            network: self.network,
            file_system,
            macos: None,
        }
    }
}

/// What the model may ask for with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskablePermissions {
    /// Nothing, as nobody would answer.
    Nothing,
    /// To leave the sandbox.
    Escalation,
    /// The same, or more rights inside of it.
    EscalationOrMore,
}

impl AskablePermissions {
    /// What the model may ask for in a session. It is decided once, so that the tools stay as they are.
    pub(crate) fn in_session(config: &SessionConfig) -> Self {
        let options = &config.options;
        let is_refused = options.settings.approval_policy == AskForApproval::Never;
        if config.identity.is_unattended && is_refused {
            Self::Nothing
        } else if options.features.exec_permissions {
            Self::EscalationOrMore
        } else {
            Self::Escalation
        }
    }
}

/// Adds the schema of these arguments to that of a tool.
pub(crate) fn approval_properties(mut properties: Value, askable: AskablePermissions) -> Value {
    let permissions = match askable {
        AskablePermissions::Nothing => return properties,
        AskablePermissions::Escalation => "use_default or require_escalated",
        AskablePermissions::EscalationOrMore => {
            "use_default, require_escalated, or with_additional_permissions"
        }
    };
    properties["sandbox_permissions"] = json!({
        "type": "string",
        "description": format!("Which sandbox the command needs: {permissions}. Default: use_default."),
    });
    properties["justification"] = json!({
        "type": "string",
        "description": "With require_escalated: one sentence that asks the user for it.",
    });
    properties["prefix_rule"] = json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "With require_escalated: the words that similar commands begin with, to be \
                        allowed from now on.",
    });
    if askable == AskablePermissions::EscalationOrMore {
        let paths = json!({ "type": "array", "items": { "type": "string" } });
        properties["additional_permissions"] = json!({
            "type": "object",
            "description": "With with_additional_permissions: what the command needs.",
            "properties": {
                "network": { "type": "object", "properties": { "enabled": { "type": "boolean" } } },
                "file_system": {
                    "type": "object",
                    "properties": { "read": paths, "write": paths },
                },
            },
        });
    }
    properties
}
