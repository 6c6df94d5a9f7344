//! `plugin/share/*`: refused, since they need the vendor's catalogue of plugins.

use codex_app_server_protocol::v2;

use super::apps::access;
use super::call::RequestContext;
use crate::failure::Failure;
use crate::server::AppServer;

/// Why a request for the catalogue is refused. Clients know the text for those without a login.
pub(super) async fn needs_catalog(server: &std::sync::Arc<AppServer>, purpose: &str) -> Failure {
    match access(server, None).await {
        Ok(None) => Failure::invalid(format!(
            "{purpose}: chatgpt authentication required for remote plugin catalog"
        )),
        Ok(Some(_)) => Failure::invalid(format!(
            "{purpose}: this server does not use the remote plugin catalog"
        )),
        Err(failure) => failure,
    }
}

pub(super) async fn list(call: RequestContext, _: v2::PluginShareListParams) -> Failure {
    needs_catalog(&call.server, "list remote plugin shares").await
}

pub(super) async fn save(call: RequestContext, _: v2::PluginShareSaveParams) -> Failure {
    needs_catalog(&call.server, "save remote plugin share").await
}

pub(super) async fn check_out(call: RequestContext, _: v2::PluginShareCheckoutParams) -> Failure {
    needs_catalog(&call.server, "check out remote plugin share").await
}

pub(super) async fn delete(call: RequestContext, _: v2::PluginShareDeleteParams) -> Failure {
    needs_catalog(&call.server, "delete remote plugin share").await
}

pub(super) async fn update_targets(
    call: RequestContext,
    _: v2::PluginShareUpdateTargetsParams,
) -> Failure {
    needs_catalog(&call.server, "update remote plugin share").await
}
