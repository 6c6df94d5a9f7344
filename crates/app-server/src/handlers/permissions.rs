//! `permissionProfile/list`, and the sandbox policy of a named permission profile.

use codex_app_server_protocol::v2::{
    PermissionProfileListParams, PermissionProfileListResponse, PermissionProfileSummary,
    SandboxPolicy,
};
use codex_config::schema::SandboxMode;
use serde_json::json;

use super::blocking;
use super::call::RequestContext;
use super::fs::absolute;
use super::paging::page;
use crate::failure::Failure;
use crate::projection::engine_sandbox;

/// The sandbox policy of a built-in profile, without additions from the configuration.
pub(crate) fn built_in_sandbox(name: &str) -> Result<codex_protocol::SandboxPolicy, Failure> {
    let kind = match SandboxMode::of_permissions(name) {
        Some(SandboxMode::ReadOnly) => "readOnly",
        Some(SandboxMode::WorkspaceWrite) => "workspaceWrite",
        Some(SandboxMode::DangerFullAccess) => "dangerFullAccess",
        None => {
            let message = format!("a turn can be given built-in permissions only, not `{name}`");
            return Err(Failure::invalid(message));
        }
    };
    let policy: Result<SandboxPolicy, _> = serde_json::from_value(json!({ "type": kind }));
    let policy = policy.map_err(|error| Failure::internal(error.to_string()))?;
    Ok(engine_sandbox(policy))
}

/// The sandbox policy that a request names. A relative path would mean one thing here and another to whoever wrote it.
pub(crate) fn requested_sandbox(
    policy: SandboxPolicy,
) -> Result<codex_protocol::SandboxPolicy, Failure> {
    let mut policy = engine_sandbox(policy);
    for path in policy.paths_mut() {
        path.0 = absolute(&path.0)?.display().to_string();
    }
    Ok(policy)
}

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: PermissionProfileListParams,
) -> Result<PermissionProfileListResponse, Failure> {
    let list = move || {
        let requirements = server.host().configuration().requirements();
        let requirements = requirements.map_err(|error| Failure::internal(error.to_string()))?;
        let all = SandboxMode::BUILT_IN_PERMISSIONS.map(|(name, mode)| PermissionProfileSummary {
            id: name.to_owned(),
            description: None,
            allowed: requirements.check_sandbox_mode(mode.into()).is_ok(),
        });
        let cursor = params.cursor.as_deref();
        let (data, next_cursor) = page(all.into(), cursor, params.limit, "permissions")?;
        Ok(PermissionProfileListResponse { data, next_cursor })
    };
    blocking(list).await
}
