//! What newer clients ask that has a short and true answer here: hooks, goals, permissions by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    HooksListEntry, HooksListParams, HooksListResponse, PermissionProfileListParams,
    PermissionProfileListResponse, PermissionProfileSummary, SandboxPolicy, ThreadGoalGetParams,
    ThreadGoalGetResponse,
};
use codex_config::schema::SandboxMode;
use serde_json::json;

use super::paging::page;
use super::thread_read::stored_or_live;
use super::{blocking, thread_id};
use crate::connection::Responder;
use crate::failure::Failure;
use crate::projection::engine_sandbox;
use crate::server::Server;

/// Where other programs look for hooks, in the home folder and in the `.codex` folder of a project.
const HOOKS: &str = "hooks.json";

/// The sandbox of permissions that a turn is given: those that are built in, without anything that
/// the configuration adds to them.
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

pub(super) async fn permissions(
    server: Arc<Server>,
    params: PermissionProfileListParams,
    reply: Responder<method::PermissionProfileList>,
) {
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
    reply.reply(blocking(list).await);
}

/// Hooks are not run here: files that ask for some are named.
pub(super) async fn hooks(
    server: Arc<Server>,
    params: HooksListParams,
    reply: Responder<method::HooksList>,
) {
    let list = move || {
        let home = server.host().homes().ours;
        let own = || std::env::current_dir().unwrap_or_default();
        let mut cwds: Vec<PathBuf> = params.cwds.iter().map(PathBuf::from).collect();
        if cwds.is_empty() {
            cwds.push(own());
        }
        let entry = |cwd: PathBuf| HooksListEntry {
            warnings: unused_hooks(&home, &cwd),
            cwd: cwd.display().to_string(),
            hooks: Vec::new(),
            errors: Vec::new(),
        };
        Ok(HooksListResponse {
            data: cwds.into_iter().map(entry).collect(),
        })
    };
    reply.reply(blocking(list).await);
}

fn unused_hooks(home: &Path, cwd: &Path) -> Vec<String> {
    let projects = cwd.ancestors().map(|folder| folder.join(".codex"));
    let mut files: Vec<PathBuf> = projects.map(|folder| folder.join(HOOKS)).collect();
    files.push(home.join(HOOKS));
    files.sort();
    files.dedup();
    let files = files.into_iter().filter(|file| file.is_file());
    files
        .map(|file| format!("hooks are not run by this version: {}", file.display()))
        .collect()
}

/// No thread has a goal: there is no way to give it one.
pub(super) async fn goal(
    server: &Arc<Server>,
    params: ThreadGoalGetParams,
    reply: Responder<method::ThreadGoalGet>,
) {
    let read = async {
        let id = thread_id(&params.thread_id)?;
        match stored_or_live(server, &id).await? {
            (None, None) => Err(Failure::invalid(format!("thread not found: {id}"))),
            _ => Ok(ThreadGoalGetResponse { goal: None }),
        }
    };
    reply.reply(read.await);
}
