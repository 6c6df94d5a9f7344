//! The sandbox policy that a request names: by its members, or by the name of permissions.

use std::path::Path;

use codex_app_server_protocol::v2::SandboxPolicy;
use codex_config::RequestParams;
use codex_config::schema::SandboxMode;
use codex_projection::engine_sandbox;
use codex_protocol::ActivePermissions;
use serde_json::json;

use super::workplace::each_once;
use crate::failure::Failure;
use crate::request_path::absolute;
use crate::server::AppServer;

/// The sandbox policy of permissions with a name.
pub(crate) struct NamedSandbox {
    pub(crate) policy: codex_protocol::SandboxPolicy,
    pub(crate) active: ActivePermissions,
    /// Why the policy has no network although the permissions have one.
    pub(crate) network_problem: Option<String>,
    /// The settings that limit the network to certain hosts.
    pub(crate) host_limits: Vec<String>,
}

/// The sandbox policy of permissions that a running thread is given by their name. Built-in ones come without additions
/// from the configuration.
pub(crate) fn named_sandbox(
    server: &AppServer,
    name: &str,
    cwd: &Path,
) -> Result<NamedSandbox, Failure> {
    let kind = match SandboxMode::of_permissions(name) {
        Some(SandboxMode::ReadOnly) => "readOnly",
        Some(SandboxMode::WorkspaceWrite) => "workspaceWrite",
        Some(SandboxMode::DangerFullAccess) => "dangerFullAccess",
        None => return configured_sandbox(server, name, cwd),
    };
    let policy: Result<SandboxPolicy, _> = serde_json::from_value(json!({ "type": kind }));
    let policy = policy.map_err(|error| Failure::internal(error.to_string()))?;
    let active = ActivePermissions {
        id: name.to_owned(),
        extends: None,
    };
    Ok(NamedSandbox {
        policy: engine_sandbox(policy),
        active,
        network_problem: None,
        host_limits: Vec::new(),
    })
}

/// Reads the configuration of the folder again, which may have changed since the thread began.
fn configured_sandbox(server: &AppServer, name: &str, cwd: &Path) -> Result<NamedSandbox, Failure> {
    let params = RequestParams::default();
    let loaded = server
        .host()
        .configuration()
        .load(cwd, &serde_json::Map::new(), &params);
    let (config, _) = loaded.map_err(|error| Failure::invalid(error.to_string()))?;
    let configured = config.policy.configured_permissions.into_iter();
    let found = configured.into_iter().find(|one| one.id == name);
    let found = found.ok_or_else(|| {
        let kind = if name.starts_with(':') {
            "built-in "
        } else {
            ""
        };
        Failure::invalid(format!(
            "failed to load configuration: default_permissions refers to unknown {kind}profile `{name}`"
        ))
    })?;
    let active = ActivePermissions {
        id: found.id,
        extends: found.extends,
    };
    let unusable = |reason| Failure::invalid(format!("failed to load configuration: {reason}"));
    Ok(NamedSandbox {
        policy: found.sandbox_policy.map_err(unusable)?,
        active,
        network_problem: found.network_problem,
        host_limits: found.host_limits,
    })
}

/// The sandbox policy that a request names. A relative path would mean one thing here and another to whoever wrote it.
pub(crate) fn requested_sandbox(
    policy: SandboxPolicy,
) -> Result<codex_protocol::SandboxPolicy, Failure> {
    let mut policy = engine_sandbox(policy);
    for path in policy.paths_mut() {
        path.0 = absolute(&path.0)?.display().to_string();
    }
    if let codex_protocol::SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy {
        *writable_roots = each_once(std::mem::take(writable_roots));
    }
    Ok(policy)
}
