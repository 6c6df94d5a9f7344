//! What this program does not have: a remote catalog, predictions, events of MCP servers,
//! records of imports. Requests that have a truthful reply without them are answered, the others are refused.

use codex_app_server_protocol::{NoParams, v2};

use super::call::RequestContext;
use super::loaded_thread;
use crate::failure::Failure;

/// Only the third version of the protocol has it.
pub(super) async fn append_realtime_speech(
    call: RequestContext,
    params: v2::ThreadRealtimeAppendSpeechParams,
) -> Failure {
    match loaded_thread(&call.server, &params.thread_id) {
        Ok(_) => Failure::invalid(
            "only version 3 of realtime conversations takes speech, and this server does not have it",
        ),
        Err(failure) => failure,
    }
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

pub(super) async fn record_import(
    _: RequestContext,
    _: v2::ExternalAgentConfigImportHistoryRecordParams,
) -> Failure {
    Failure::invalid("imports are not recorded by this server")
}

/// Refused as by other releases: clients treat this code as a missing method.
pub(super) async fn predict(_: RequestContext, _: v2::ThreadPredictionRequestParams) -> Failure {
    Failure::not_implemented("thread/prediction/request is not implemented yet")
}

pub(super) async fn start_mcp_events(
    call: RequestContext,
    params: v2::McpServerEventStreamStartParams,
) -> Failure {
    match loaded_thread(&call.server, &params.thread_id) {
        Ok(_) => Failure::invalid(format!(
            "MCP server '{}' has no event streams that this version knows",
            params.server
        )),
        Err(failure) => failure,
    }
}

/// There are no streams, so nothing is left to end.
pub(super) async fn stop_mcp_events(
    _: RequestContext,
    _: v2::McpServerEventStreamStopParams,
) -> Result<v2::McpServerEventStreamStopResponse, Failure> {
    Ok(v2::McpServerEventStreamStopResponse {})
}
