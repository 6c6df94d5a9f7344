//! `plugin/share/*` and `plugin/skill/read`: refused, since they need the vendor's catalogue of plugins.

use codex_app_server_protocol::v2;

use super::call::RequestContext;
use crate::failure::Failure;

fn needs_catalog(purpose: &str) -> Failure {
    Failure::invalid(format!(
        "{purpose}: chatgpt authentication required for remote plugin catalog"
    ))
}

pub(super) async fn list(_: RequestContext, _: v2::PluginShareListParams) -> Failure {
    needs_catalog("list remote plugin shares")
}

pub(super) async fn save(_: RequestContext, _: v2::PluginShareSaveParams) -> Failure {
    needs_catalog("save remote plugin share")
}

pub(super) async fn check_out(_: RequestContext, _: v2::PluginShareCheckoutParams) -> Failure {
    needs_catalog("check out remote plugin share")
}

pub(super) async fn delete(_: RequestContext, _: v2::PluginShareDeleteParams) -> Failure {
    needs_catalog("delete remote plugin share")
}

pub(super) async fn update_targets(
    _: RequestContext,
    _: v2::PluginShareUpdateTargetsParams,
) -> Failure {
    needs_catalog("update remote plugin share")
}

pub(super) async fn read_skill(_: RequestContext, _: v2::PluginSkillReadParams) -> Failure {
    needs_catalog("read remote plugin skill")
}
