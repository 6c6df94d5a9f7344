//! Reads skills of plugins in the remote catalogue of an account.

use std::sync::Arc;

use codex_app_server_protocol::v2;

use super::apps::access;
use super::blocking;
use super::call::RequestContext;
use super::plugin_view::PluginView;
use super::remote_plugins::{RemoteError, skill};
use crate::failure::Failure;

/// The marketplaces of the remote catalogue.
const MARKETPLACES: [&str; 6] = [
    "openai-curated-remote",
    "workspace-directory",
    "created-by-me-remote",
    "workspace-shared-with-me",
    "workspace-shared-with-me-private",
    "workspace-shared-with-me-unlisted",
];

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginSkillReadParams,
) -> Result<v2::PluginSkillReadResponse, Failure> {
    let marketplace = &params.remote_marketplace_name;
    let host = Arc::clone(server.host());
    if !blocking(move || Ok(PluginView::read(&*host)?.is_on())).await? {
        return Err(Failure::invalid(format!(
            "remote plugin skill read is not enabled for marketplace {marketplace}"
        )));
    }
    if !is_remote_id(&params.remote_plugin_id) {
        return Err(Failure::invalid(
            "invalid remote plugin id: only ASCII letters, digits, `_`, `-`, and `~` are allowed",
        ));
    }
    if params.skill_name.is_empty() {
        return Err(Failure::invalid(
            "invalid remote plugin skill name: cannot be empty",
        ));
    }
    let failed = |problem: String| format!("read remote plugin skill details: {problem}");
    let access = access(&server, None).await?;
    let no_account = RemoteError::NoAccount("for remote plugin catalog");
    let access = access.ok_or_else(|| Failure::invalid(failed(no_account.to_string())))?;
    if !MARKETPLACES.contains(&marketplace.as_str()) {
        let problem = format!("remote marketplace `{marketplace}` is not supported");
        return Err(Failure::invalid(failed(problem)));
    }
    let contents = skill(&access, &params.remote_plugin_id, &params.skill_name).await;
    let contents = contents.map_err(|error| {
        let text = failed(error.to_string());
        if matches!(error, RemoteError::Refused(_)) {
            Failure::invalid(text)
        } else {
            Failure::internal(text)
        }
    })?;
    Ok(v2::PluginSkillReadResponse { contents })
}

fn is_remote_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-~".contains(&byte);
    !id.is_empty() && id.bytes().all(is_plain)
}
