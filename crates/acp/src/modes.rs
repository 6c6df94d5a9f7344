//! The modes of a session: what runs without asking. Pure.

use serde_json::{Value, json};

pub(crate) const READ_ONLY: &str = "read-only";
pub(crate) const WORKSPACE: &str = "workspace-write";
pub(crate) const FULL_ACCESS: &str = "agent-full-access";

/// The modes: id, name, description.
pub(crate) const MODES: [(&str, &str, &str); 3] = [
    (
        READ_ONLY,
        "Read only",
        "Looks at files; asks before it changes anything.",
    ),
    (
        WORKSPACE,
        "Workspace",
        "Changes files of the workspace; asks before it goes beyond.",
    ),
    (
        FULL_ACCESS,
        "Full access",
        "Never asks, and nothing confines it. Use it where something else protects the machine.",
    ),
];

/// The names that adapters have for these modes. Clients that were written for an adapter send them.
pub(crate) fn by_alias(mode: &str) -> &str {
    match mode {
        "agent" | "auto" => WORKSPACE,
        "full-access" => FULL_ACCESS,
        mode => mode,
    }
}

/// The mode for settings that match no other mode.
pub(crate) const CONFIGURED_MODE: (&str, &str, &str) = (
    "configured",
    "As configured",
    "The approval policy and sandbox of the configuration.",
);

/// The mode of these settings, if there is one.
pub(crate) fn mode_of(approval: &Value, sandbox: &Value) -> Option<&'static str> {
    match (approval.as_str()?, sandbox["type"].as_str()?) {
        ("on-request", "readOnly") => Some(READ_ONLY),
        ("on-request", "workspaceWrite") => Some(WORKSPACE),
        ("never", "dangerFullAccess") => Some(FULL_ACCESS),
        _ => None,
    }
}

/// The sandbox of the mode that writes to the workspace.
pub(crate) fn workspace_policy(configured: &Value, roots: &[Value]) -> Value {
    let mut writable: Vec<Value> = configured["writable_roots"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    writable.extend(
        roots
            .iter()
            .filter(|root| !writable.contains(root))
            .cloned()
            .collect::<Vec<_>>(),
    );
    json!({
        "type": "workspaceWrite",
        "writableRoots": writable,
        "networkAccess": configured["network_access"] == true,
        "excludeTmpdirEnvVar": configured["exclude_tmpdir_env_var"] == true,
        "excludeSlashTmp": configured["exclude_slash_tmp"] == true,
    })
}
