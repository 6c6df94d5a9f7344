//! Makes the installed plugins of the curated marketplace those that the account has.

use std::path::PathBuf;
use std::sync::Arc;

use codex_plugins::{Marketplace, MarketplacePlugin, PluginId, PluginStore};

use super::blocking;
use super::plugin_folder::ChosenPlugin;
use super::plugin_settings;
use super::plugin_view::PluginView;
use super::remote_plugins::{self, CURATED, RemotePlugin};
use crate::failure::Failure;
use crate::host::{AppsAccess, Host};
use crate::server::AppServer;

/// Installs what the account has, and removes what it does not have. What it has of other marketplaces is left alone.
///
/// # Errors
/// There is no account or no curated marketplace, or a plugin cannot be installed or removed: as a text for people.
pub(super) async fn sync(
    server: &AppServer,
    access: Option<&AppsAccess>,
    cwds: Vec<PathBuf>,
) -> Result<(), Failure> {
    let failed = |error: remote_plugins::RemoteError| Failure::internal(error.to_string());
    let no_account = remote_plugins::RemoteError::NoAccount("to sync remote plugins");
    let access = access.ok_or_else(|| failed(no_account))?;
    let plugins = remote_plugins::plugins(access).await.map_err(failed)?;
    let host = Arc::clone(server.host());
    let own = Arc::clone(&host);
    let view = Arc::new(blocking(move || PluginView::read(&*own)).await?);
    let mut known = view.marketplaces(server, cwds).await.into_iter();
    let curated = known.find_map(|found| {
        let (_, marketplace) = found.read.ok()?;
        (marketplace.name == CURATED).then_some(marketplace)
    });
    let missing = || Failure::internal("local curated marketplace is not available");
    for change in changes(&view, &curated.ok_or_else(missing)?, &plugins) {
        change.carry_out(&host).await?;
    }
    let read = move || host.read_plugins();
    let failed = |error| Failure::internal(format!("failed to reload config: {error}"));
    blocking(move || read().map_err(failed)).await
}

/// A plugin of the curated marketplace, and what is to be changed about it.
struct PluginChange {
    plugin: Arc<ChosenPlugin>,
    /// Whether the account has it.
    is_wanted: bool,
    is_installed: bool,
    is_configured: bool,
}

fn changes(
    view: &PluginView,
    curated: &Marketplace,
    plugins: &[RemotePlugin],
) -> Vec<PluginChange> {
    let is_wanted = |name: &str| {
        let mut own = plugins.iter().filter(|plugin| plugin.is_curated());
        own.any(|plugin| plugin.name == name && plugin.enabled)
    };
    let change = |listed: &MarketplacePlugin| {
        let id = PluginId::new(&listed.name, CURATED).ok()?;
        Some(PluginChange {
            is_wanted: is_wanted(&listed.name),
            is_installed: view.store.active(&id).is_some(),
            is_configured: view.is_configured(&id),
            plugin: Arc::new(ChosenPlugin::new(curated.clone(), listed.clone(), id)),
        })
    };
    curated.plugins.iter().filter_map(change).collect()
}

impl PluginChange {
    async fn carry_out(self, host: &Arc<dyn Host>) -> Result<(), Failure> {
        let id = self.plugin.id.clone();
        if self.is_wanted && !self.is_installed {
            let installed = self.plugin.install(host).await;
            installed.map_err(|error| not_synced(&id, error.message()))?;
        }
        let host = Arc::clone(host);
        blocking(move || {
            if self.is_wanted {
                return plugin_settings::enable(&*host, &id);
            }
            if self.is_installed {
                let store = PluginStore::of_home(&host.configuration().startup().home);
                let removed = store.uninstall(&id);
                removed.map_err(|error| not_synced(&id, &error.to_string()))?;
            }
            if self.is_configured {
                plugin_settings::forget(&*host, &id)?;
            }
            Ok(())
        })
        .await
    }
}

fn not_synced(id: &PluginId, problem: &str) -> Failure {
    Failure::internal(format!("failed to sync plugin `{id}`: {problem}"))
}
