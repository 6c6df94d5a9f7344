//! Apps and realtime conversations, which are not supported. Requests that have a truthful reply without
//! them are answered, the others are refused.

use codex_app_server_protocol::{NoParams, v2};
use codex_protocol::AuthMode;

use super::call::RequestContext;
use super::loaded_thread;
use crate::failure::Failure;

/// Without a ChatGPT login there are no apps, whatever the version.
pub(super) async fn apps(
    RequestContext { server, .. }: RequestContext,
    _: v2::AppsListParams,
) -> Result<v2::AppsListResponse, Failure> {
    let login = server.host().accounts().login();
    let has_apps = login.is_some_and(|login| login.mode() != AuthMode::Apikey);
    if has_apps {
        Err(unsupported("app/list"))
    } else {
        Ok(v2::AppsListResponse {
            data: Vec::new(),
            next_cursor: None,
        })
    }
}

pub(super) async fn start_realtime(
    call: RequestContext,
    params: v2::ThreadRealtimeStartParams,
) -> Failure {
    no_realtime(&call, &params.thread_id)
}

pub(super) async fn append_realtime_audio(
    call: RequestContext,
    params: v2::ThreadRealtimeAppendAudioParams,
) -> Failure {
    no_realtime(&call, &params.thread_id)
}

pub(super) async fn append_realtime_text(
    call: RequestContext,
    params: v2::ThreadRealtimeAppendTextParams,
) -> Failure {
    no_realtime(&call, &params.thread_id)
}

pub(super) async fn stop_realtime(
    call: RequestContext,
    params: v2::ThreadRealtimeStopParams,
) -> Failure {
    no_realtime(&call, &params.thread_id)
}

/// No thread has a realtime conversation.
fn no_realtime(call: &RequestContext, thread: &str) -> Failure {
    match loaded_thread(&call.server, thread) {
        Ok(_) => Failure::invalid(format!(
            "thread {thread} does not support realtime conversation"
        )),
        Err(failure) => failure,
    }
}

fn unsupported(method: &str) -> Failure {
    Failure::internal(format!("`{method}` is not supported by this version"))
}

/// Without a ChatGPT login no app is installed.
pub(super) async fn installed_apps(
    _: RequestContext,
    _: v2::AppsInstalledParams,
) -> Result<v2::AppsInstalledResponse, Failure> {
    Ok(v2::AppsInstalledResponse { apps: Vec::new() })
}

/// All ids are unknown.
pub(super) async fn read_apps(
    _: RequestContext,
    params: v2::AppsReadParams,
) -> Result<v2::AppsReadResponse, Failure> {
    Ok(v2::AppsReadResponse {
        apps: Vec::new(),
        missing_app_ids: params.app_ids,
    })
}

/// Nothing is installed, so there is nothing to reconcile.
pub(super) async fn reconcile_plugins(
    _: RequestContext,
    _: v2::PluginReconcileParams,
) -> Result<v2::PluginReconcileResponse, Failure> {
    Ok(v2::PluginReconcileResponse {
        changed_plugins: Vec::new(),
        failed_remote_plugin_ids: Vec::new(),
        failed_materialization_remote_plugin_ids: Vec::new(),
    })
}

/// There are no voices, because there are no realtime conversations.
pub(super) async fn voices(
    _: RequestContext,
    _: v2::ThreadRealtimeListVoicesParams,
) -> Result<v2::ThreadRealtimeListVoicesResponse, Failure> {
    Ok(v2::ThreadRealtimeListVoicesResponse {
        voices: v2::RealtimeVoicesList {
            v1: Vec::new(),
            v2: Vec::new(),
            v3: Vec::new(),
            default_v1: v2::RealtimeVoice::Alloy,
            default_v2: v2::RealtimeVoice::Alloy,
        },
    })
}

/// Imports are not recorded.
pub(super) async fn import_histories(
    _: RequestContext,
    _: NoParams,
) -> Result<v2::ExternalAgentConfigImportHistoriesReadResponse, Failure> {
    Ok(v2::ExternalAgentConfigImportHistoriesReadResponse {
        data: Vec::new(),
        connectors: Vec::new(),
    })
}
