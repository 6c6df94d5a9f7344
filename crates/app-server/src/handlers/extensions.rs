//! Apps, plugins and realtime conversations, of which this version has none. What can be answered
//! truthfully all the same is; the rest is refused.

use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2;
use codex_protocol::{AbsolutePathBuf, AuthMode};

use super::call::Call;
use super::fs::absolute;
use super::{blocking, loaded_thread};
use crate::failure::Failure;
use crate::server::Server;

/// Where a folder lists the plugins that it offers.
const MARKETPLACE: &str = ".agents/plugins/marketplace.json";
const NO_PLUGINS: &str = "plugins are not supported by this version";

/// Without a ChatGPT login there are no apps, whatever the version.
pub(super) async fn apps(
    Call { server, .. }: Call,
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

/// Every marketplace that there is counts as one that cannot be used.
pub(super) async fn plugins(
    Call { server, .. }: Call,
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

/// None is installed that could be used.
pub(super) async fn installed(
    Call { server, .. }: Call,
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
    server: &Server,
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

/// The folder itself if it has a marketplace, else the repository around it.
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

pub(super) async fn read_plugin(_: Call, params: v2::PluginReadParams) -> Failure {
    no_marketplace(&params.marketplace_path)
}

pub(super) async fn install_plugin(_: Call, params: v2::PluginInstallParams) -> Failure {
    no_marketplace(&params.marketplace_path)
}

/// Why nothing can be had from a marketplace.
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

/// What is not installed is gone; what another program installed stays.
pub(super) async fn uninstall_plugin(
    Call { server, .. }: Call,
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

/// Where a plugin of this id would be installed.
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

pub(super) async fn start_realtime(call: Call, params: v2::ThreadRealtimeStartParams) -> Failure {
    no_realtime(&call, &params.thread_id)
}

pub(super) async fn append_realtime_audio(
    call: Call,
    params: v2::ThreadRealtimeAppendAudioParams,
) -> Failure {
    no_realtime(&call, &params.thread_id)
}

pub(super) async fn append_realtime_text(
    call: Call,
    params: v2::ThreadRealtimeAppendTextParams,
) -> Failure {
    no_realtime(&call, &params.thread_id)
}

pub(super) async fn stop_realtime(call: Call, params: v2::ThreadRealtimeStopParams) -> Failure {
    no_realtime(&call, &params.thread_id)
}

/// No thread has a realtime conversation.
fn no_realtime(call: &Call, thread: &str) -> Failure {
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
