//! The arguments that all shell tools share.

use codex_protocol::{
    AbsolutePathBuf, FileSystemPermissions, NetworkPermissions, PermissionProfile,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::gate::SandboxPermissions;
use crate::tools::tool::ToolContext;

/// The request for more permissions.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct ApprovalArguments {
    #[serde(default)]
    pub(crate) sandbox_permissions: SandboxPermissions,
    #[serde(default)]
    pub(crate) justification: Option<String>,
    #[serde(default)]
    pub(crate) prefix_rule: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) additional_permissions: Option<AdditionalPermissions>,
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

/// Adds the schema of these arguments to that of a tool.
pub(crate) fn approval_properties(mut properties: Value, inline_permissions: bool) -> Value {
    let permissions = if inline_permissions {
        "use_default, require_escalated, or with_additional_permissions"
    } else {
        "use_default or require_escalated"
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
    if inline_permissions {
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
