//! `permissionProfile/list`, and the sandbox policy of a named permission profile.

use codex_app_server_protocol::v2::{
    PermissionProfileListParams, PermissionProfileListResponse, PermissionProfileSummary,
};
use codex_config::RequestParams;
use codex_config::schema::SandboxMode;

use super::blocking;
use super::call::RequestContext;
use super::paging::page;
use crate::failure::Failure;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: PermissionProfileListParams,
) -> Result<PermissionProfileListResponse, Failure> {
    let list = move || {
        let configuration = server.host().configuration();
        let requirements = configuration.requirements();
        let requirements = requirements.map_err(|error| Failure::internal(error.to_string()))?;
        let built_in = SandboxMode::BUILT_IN_PERMISSIONS.into_iter();
        let built_in = built_in.map(|(name, mode)| PermissionProfileSummary {
            id: name.to_owned(),
            description: None,
            allowed: requirements.check_sandbox_mode(mode.into()).is_ok(),
        });
        let cwd = match &params.cwd {
            Some(cwd) => configuration.folder(cwd),
            None => configuration.cwd().to_owned(),
        };
        let overrides = serde_json::Map::new();
        let loaded = configuration.load(&cwd, &overrides, &RequestParams::default());
        // Without a usable configuration there are the built-in ones.
        let configured = loaded.map(|(config, _)| config.policy.configured_permissions);
        let configured = configured.unwrap_or_default().into_iter();
        let configured = configured.map(|one| PermissionProfileSummary {
            allowed: one
                .sandbox_policy
                .is_ok_and(|policy| requirements.check_sandbox_policy(&policy).is_ok()),
            id: one.id,
            description: one.description,
        });
        let all = built_in.chain(configured).collect();
        let cursor = params.cursor.as_deref();
        let (data, next_cursor) = page(all, cursor, params.limit, "permission profiles")?;
        Ok(PermissionProfileListResponse { data, next_cursor })
    };
    blocking(list).await
}
