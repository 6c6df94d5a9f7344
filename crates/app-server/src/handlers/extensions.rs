//! Apps, plugins and realtime conversations, which are not supported. Requests that have a truthful reply without
//! them are answered, the others are refused.

use std::path::{Path, PathBuf};

use codex_app_server_protocol::{NoParams, v2};
use codex_protocol::{AbsolutePathBuf, AuthMode};

use super::call::RequestContext;
use super::fs::absolute;
use super::{blocking, loaded_thread};
use crate::failure::Failure;
use crate::server::AppServer;

/// The file that lists the plugins of a folder.
const MARKETPLACE: &str = ".agents/plugins/marketplace.json";
const NO_PLUGINS: &str = "plugins are not supported by this version";

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

/// Every marketplace is reported as unusable.
pub(super) async fn plugins(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginListParams,
) -> Result<v2::PluginListResponse, Failure> {
    let list = move || {
        Ok(v2::PluginListResponse {
            marketplaces: Vec::new(),
            marketplace_load_errors: marketplaces(&server, params.cwds.as_deref())?,
            remote_sync_error: params.force_remote_sync.then(|| NO_PLUGINS.to_owned()),
            featured_plugin_ids: Vec::new(),
        })
    };
    blocking(list).await
}

/// No usable plugin is installed.
pub(super) async fn installed(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginInstalledParams,
) -> Result<v2::PluginInstalledResponse, Failure> {
    let list = move || {
        Ok(v2::PluginInstalledResponse {
            marketplaces: Vec::new(),
            marketplace_load_errors: marketplaces(&server, params.cwds.as_deref())?,
        })
    };
    blocking(list).await
}

/// The marketplaces of the user and of these folders.
fn marketplaces(
    server: &AppServer,
    cwds: Option<&[AbsolutePathBuf]>,
) -> Result<Vec<v2::MarketplaceLoadErrorInfo>, Failure> {
    let mut folders: Vec<PathBuf> = server.host().homes().user.into_iter().collect();
    for cwd in cwds.into_iter().flatten() {
        folders.push(project(&absolute(cwd)?));
    }
    let mut files: Vec<_> = folders
        .iter()
        .map(|folder| folder.join(MARKETPLACE))
        .filter(|file| file.is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files.iter().map(|file| unusable(file)).collect())
}

/// The folder itself if it has a marketplace, otherwise its repository.
fn project(cwd: &Path) -> PathBuf {
    let own = cwd.join(MARKETPLACE).is_file().then_some(cwd);
    let repository = || codex_sandbox::marked_folder(cwd, ".git");
    own.or_else(repository).unwrap_or(cwd).to_owned()
}

fn unusable(file: &Path) -> v2::MarketplaceLoadErrorInfo {
    v2::MarketplaceLoadErrorInfo {
        marketplace_path: AbsolutePathBuf(file.display().to_string()),
        message: NO_PLUGINS.to_owned(),
    }
}

pub(super) async fn read_plugin(_: RequestContext, params: v2::PluginReadParams) -> Failure {
    no_marketplace(&params.marketplace_path)
}

pub(super) async fn install_plugin(_: RequestContext, params: v2::PluginInstallParams) -> Failure {
    no_marketplace(&params.marketplace_path)
}

/// The error for plugins of a marketplace.
fn no_marketplace(path: &AbsolutePathBuf) -> Failure {
    match absolute(path) {
        Ok(file) if file.exists() => Failure::internal(NO_PLUGINS),
        Ok(file) => {
            let file = file.display();
            Failure::invalid(format!("marketplace file `{file}` does not exist"))
        }
        Err(failure) => failure,
    }
}

/// Succeeds for a plugin that is not installed; plugins of other programs are kept.
pub(super) async fn uninstall_plugin(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginUninstallParams,
) -> Result<v2::PluginUninstallResponse, Failure> {
    let homes = server.host().homes();
    let folder = installed_at(&homes.ours, &params.plugin_id)?;
    if folder.exists() || params.force_remote_sync {
        Err(Failure::internal(NO_PLUGINS))
    } else {
        Ok(v2::PluginUninstallResponse {})
    }
}

/// The folder of an installed plugin.
fn installed_at(home: &Path, id: &str) -> Result<PathBuf, Failure> {
    let is_name = |name: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !name.is_empty() && name.bytes().all(is_plain)
    };
    let parts = id.rsplit_once('@');
    let parts = parts.filter(|(plugin, marketplace)| is_name(plugin) && is_name(marketplace));
    let (plugin, marketplace) = parts.ok_or_else(|| {
        Failure::invalid(format!(
            "invalid plugin key `{id}`; expected <plugin>@<marketplace>"
        ))
    })?;
    Ok(home.join("plugins/cache").join(marketplace).join(plugin))
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

/// There is no remote catalog.
pub(super) async fn search_plugins(
    _: RequestContext,
    _: v2::PluginSearchParams,
) -> Result<v2::PluginSearchResponse, Failure> {
    Ok(v2::PluginSearchResponse {
        data: Vec::new(),
        next_cursor: None,
    })
}

/// No marketplace is configured, so there is nothing to upgrade.
pub(super) async fn upgrade_marketplaces(
    _: RequestContext,
    params: v2::MarketplaceUpgradeParams,
) -> Result<v2::MarketplaceUpgradeResponse, Failure> {
    if let Some(name) = params.marketplace_name {
        let message = format!("marketplace `{name}` is not configured as a Git marketplace");
        return Err(Failure::invalid(message));
    }
    Ok(v2::MarketplaceUpgradeResponse {
        selected_marketplaces: Vec::new(),
        upgraded_roots: Vec::new(),
        errors: Vec::new(),
    })
}

pub(super) async fn add_marketplace(_: RequestContext, _: v2::MarketplaceAddParams) -> Failure {
    Failure::invalid(NO_PLUGINS)
}

pub(super) async fn remove_marketplace(
    _: RequestContext,
    params: v2::MarketplaceRemoveParams,
) -> Failure {
    let name = params.marketplace_name;
    Failure::invalid(format!(
        "marketplace `{name}` is not configured or installed"
    ))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_plugin_leads_to_a_folder_below_the_home_folder_or_nowhere() {
        let at = |id: &str| {
            installed_at(Path::new("/home"), id).map_err(|error| error.into_object().message)
        };
        assert_eq!(at("p@m").unwrap(), Path::new("/home/plugins/cache/m/p"));
        for id in ["", "p", "@", "p@", "@m", "../p@m", "p@..", "a/b@m", "p@m@n"] {
            assert!(at(id).unwrap_err().contains("invalid plugin key"), "{id}");
        }
    }
}
