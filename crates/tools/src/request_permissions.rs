//! `request_permissions`: the model asks for permissions beyond the sandbox.

use codex_gate::PermissionsRequest;
use codex_model_client::ToolSpec;
use codex_protocol::{
    AbsolutePathBuf, FileSystemPermissions, NetworkPermissions, RequestPermissionProfile,
};
use codex_session_base::gate::Denied;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestPermissionsTool;

#[derive(Deserialize)]
struct RequestPermissionsArguments {
    permissions: RequestedPermissions,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestedPermissions {
    #[serde(default)]
    network: Option<NetworkPermissions>,
    #[serde(default)]
    file_system: Option<FileSystemPermissions>,
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if situation.options().features.request_permissions && situation.is_local() {
        builder.offer(RequestPermissionsTool);
    }
}

impl Tool for RequestPermissionsTool {
    fn spec(&self) -> ToolSpec {
        let paths = json!({ "type": "array", "items": { "type": "string" } });
        let permissions = json!({
            "type": "object",
            "properties": {
                "network": {
                    "type": "object",
                    "properties": { "enabled": { "type": "boolean" } },
                    "additionalProperties": false,
                },
                "file_system": {
                    "type": "object",
                    "properties": { "read": paths, "write": paths },
                    "additionalProperties": false,
                },
            },
            "additionalProperties": false,
        });
        function(
            "request_permissions",
            "Asks the user for permissions beyond the sandbox and answers which were given. They \
             hold for the commands and patches that follow.",
            json!({
                "permissions": permissions,
                "reason": { "type": "string", "description": "One sentence for the user." },
            }),
            &["permissions"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { ask(&context).await })
    }
}

async fn ask(context: &ToolContext) -> ToolResult {
    let RequestPermissionsArguments {
        permissions,
        reason,
    } = arguments(context)?;
    let permissions = RequestPermissionProfile {
        network: permissions
            .network
            .filter(|network| network.enabled == Some(true)),
        file_system: permissions.file_system.map(|files| FileSystemPermissions {
            read: absolute(context, files.read),
            write: absolute(context, files.write),
        }),
    };
    let files = permissions.file_system.as_ref();
    let any = permissions.network.is_some()
        || files.is_some_and(|files| files.read.is_some() || files.write.is_some());
    if !any {
        let problem = "request_permissions requires at least one permission";
        return Err(ToolFailure::Model(problem.to_owned()));
    }
    let policy = context.settings.turn_policy(&context.session.config);
    if permissions.network.is_some()
        && let Some(problem) = policy.network_problem()
    {
        let problem = format!("the network cannot be given. {problem}");
        return Err(ToolFailure::Model(problem));
    }
    let request = PermissionsRequest {
        permissions,
        reason,
    };
    match context.gate().permissions(request).await {
        Ok(granted) => {
            let permissions = granted.permissions;
            let files = permissions
                .file_system
                .map(|files| json!({ "read": files.read, "write": files.write }));
            let permissions = json!({ "network": permissions.network, "file_system": files });
            text(json!({ "permissions": permissions, "scope": granted.scope }).to_string())
        }
        Err(Denied::Refused(reason) | Denied::Reviewed(reason)) => Err(ToolFailure::Model(reason)),
        Err(_) => Err(ToolFailure::Model(
            "request_permissions was cancelled before receiving a response".to_owned(),
        )),
    }
}

fn absolute(
    context: &ToolContext,
    paths: Option<Vec<AbsolutePathBuf>>,
) -> Option<Vec<AbsolutePathBuf>> {
    let paths = paths.filter(|paths| !paths.is_empty())?;
    let absolute = |path: AbsolutePathBuf| {
        let path = context.settings.resolve(&path.0);
        AbsolutePathBuf(
            codex_mounts::canonicalize(&path)
                .unwrap_or(path)
                .display()
                .to_string(),
        )
    };
    Some(paths.into_iter().map(absolute).collect())
}
