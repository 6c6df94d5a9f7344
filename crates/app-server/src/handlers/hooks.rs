//! `hooks/list`: the configured hooks of folders. `hooks/register` and `hooks/unregister`: hooks that clients answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_app_server_protocol::v2::{
    HookErrorEffect, HookErrorInfo, HooksListEntry, HooksListParams, HooksListResponse,
    HooksRegisterParams, HooksRegisterResponse, HooksUnregisterParams, HooksUnregisterResponse,
};
use codex_core::ClientHook;
use codex_hooks::{Matcher, OnError};
use codex_projection::{engine_hook_event, hook_metadata};

use super::call::RequestContext;
use super::{blocking, engine};
use crate::failure::Failure;
use crate::host::Host;

/// How long a client has to answer, unless it asks for another time, in seconds.
const TIMEOUT: u64 = 60;
/// The longest time that it may ask for.
const MAX_TIMEOUT_SECONDS: u64 = 600;

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: HooksListParams,
) -> Result<HooksListResponse, Failure> {
    let mut cwds: Vec<PathBuf> = params.cwds.iter().map(PathBuf::from).collect();
    if let Some(id) = params.thread_id.filter(|_| cwds.is_empty()) {
        let thread = engine(&server, &id).await?;
        cwds.push(thread.settings().cwd.clone());
    }
    if cwds.is_empty() {
        cwds.push(server.host().working_folder().to_owned());
    }
    let list = move || {
        let host = server.host().as_ref();
        Ok(HooksListResponse {
            data: cwds.iter().map(|cwd| entry(host, cwd)).collect(),
        })
    };
    blocking(list).await
}

fn entry(host: &dyn Host, cwd: &Path) -> HooksListEntry {
    let shown = cwd.display().to_string();
    match host.hooks(cwd) {
        Ok(catalog) => HooksListEntry {
            cwd: shown,
            hooks: catalog.hooks.iter().map(hook_metadata).collect(),
            warnings: catalog.warnings,
            errors: Vec::new(),
        },
        Err(error) => HooksListEntry {
            errors: vec![HookErrorInfo {
                path: shown.clone(),
                message: error.to_string(),
            }],
            cwd: shown,
            hooks: Vec::new(),
            warnings: Vec::new(),
        },
    }
}

pub(super) async fn register(
    RequestContext { server, connection }: RequestContext,
    params: HooksRegisterParams,
) -> Result<HooksRegisterResponse, Failure> {
    let event = engine_hook_event(params.event_name);
    let matcher = Matcher::parse(event, params.matcher.as_deref())
        .map_err(|error| Failure::invalid(format!("invalid matcher: {error}")))?;
    let seconds = params
        .timeout_sec
        .unwrap_or(TIMEOUT)
        .clamp(1, MAX_TIMEOUT_SECONDS);
    let client = connection.client().map(|client| client.name.clone());
    let hook = ClientHook {
        id: String::new(),
        client: client.unwrap_or_default(),
        matcher,
        timeout: Duration::from_secs(seconds),
        on_error: match params.on_error.unwrap_or_default() {
            HookErrorEffect::Ignore => OnError::Ignore,
            HookErrorEffect::Block => OnError::Block,
        },
        status_message: params.status_message,
    };
    let hooks = server.client_hooks();
    let registered = hooks.register(connection, event, params.thread_id, hook);
    let hook_id = registered.map_err(|_| Failure::invalid("too many hooks are registered"))?;
    Ok(HooksRegisterResponse { hook_id })
}

pub(super) async fn unregister(
    RequestContext { server, connection }: RequestContext,
    params: HooksUnregisterParams,
) -> Result<HooksUnregisterResponse, Failure> {
    let hooks = server.client_hooks();
    if hooks.unregister(connection.id(), &params.hook_id) {
        return Ok(HooksUnregisterResponse {});
    }
    let unknown = format!("no hook is registered as {}", params.hook_id);
    Err(Failure::invalid(unknown))
}
