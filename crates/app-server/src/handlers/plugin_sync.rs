//! Makes the installed plugins of the curated marketplace those that the account has: on request, and once for a home
//! folder, in the background of its first start with an account.

use std::path::PathBuf;
use std::sync::Arc;

use codex_config::Feature;
use codex_plugins::{Marketplace, MarketplacePlugin, PluginId, PluginStore};

use super::apps::access;
use super::blocking;
use super::plugin_folder::ChosenPlugin;
use super::plugin_settings;
use super::plugin_view::PluginView;
use super::remote_plugins::{self, CURATED_MARKETPLACE, RemotePlugin};
use crate::failure::Failure;
use crate::host::AppsAccess;
use crate::server::AppServer;

/// Says that this home folder has been synchronised by itself.
const MARKER: &str = ".tmp/app-server-remote-plugin-sync-v1";

/// What is changed on this machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncScope {
    /// What the account has is installed.
    Additions,
    /// What it does not have is removed, too.
    Everything,
}

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
    let known = curated(server, cwds).await?;
    let missing = || Failure::internal("local curated marketplace is not available");
    let known = known.ok_or_else(missing)?;
    known
        .reconcile(server, &plugins, SyncScope::Everything)
        .await
}

/// Whether the plugins of an account may be installed by themselves: only from an address that the settings name, and once.
pub(super) fn is_due(server: &AppServer) -> bool {
    let config = server.host().configuration().startup();
    let is_wanted = config.account.is_base_url_set && config.features.enabled(Feature::Plugins);
    is_wanted && !config.home.join(MARKER).exists()
}

/// Installs what the account has. Does nothing without an account or a curated marketplace, and is tried again by the next
/// process if it fails.
pub(super) async fn sync_once(server: &Arc<AppServer>) -> Result<(), Failure> {
    let (Some(access), Some(known)) = (
        access(server, None).await?,
        curated(server, Vec::new()).await?,
    ) else {
        return Ok(());
    };
    let plugins = remote_plugins::plugins(&access).await;
    let plugins = plugins.map_err(|error| Failure::internal(error.to_string()))?;
    known
        .reconcile(server, &plugins, SyncScope::Additions)
        .await?;
    let marker = server.host().configuration().startup().home.join(MARKER);
    blocking(move || {
        let folder = marker.parent().map(codex_private_files::create_dir_all);
        let written = folder
            .unwrap_or(Ok(()))
            .and_then(|()| codex_private_files::write(&marker, b"ok\n"));
        written.map_err(|error| Failure::internal(format!("{}: {error}", marker.display())))
    })
    .await
}

/// The curated marketplace, with what is installed of it.
struct Curated {
    view: Arc<PluginView>,
    marketplace: Marketplace,
}

async fn curated(server: &AppServer, cwds: Vec<PathBuf>) -> Result<Option<Curated>, Failure> {
    let host = Arc::clone(server.host());
    let view = Arc::new(blocking(move || PluginView::read(&*host)).await?);
    let mut known = view.marketplaces(server, cwds).await.into_iter();
    let marketplace = known.find_map(|found| {
        let (_, marketplace) = found.read.ok()?;
        (marketplace.name == CURATED_MARKETPLACE).then_some(marketplace)
    });
    Ok(marketplace.map(|marketplace| Curated { view, marketplace }))
}

impl Curated {
    async fn reconcile(
        &self,
        server: &AppServer,
        plugins: &[RemotePlugin],
        scope: SyncScope,
    ) -> Result<(), Failure> {
        let wanted = changes(&self.view, &self.marketplace, plugins).into_iter();
        for change in wanted.filter(|change| change.is_wanted || scope == SyncScope::Everything) {
            change.carry_out(server).await?;
        }
        let host = Arc::clone(server.host());
        let failed = |error| Failure::internal(format!("failed to reload config: {error}"));
        blocking(move || host.read_plugins().map_err(failed)).await
    }
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
        let id = PluginId::new(&listed.name, CURATED_MARKETPLACE).ok()?;
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
    async fn carry_out(self, server: &AppServer) -> Result<(), Failure> {
        let id = self.plugin.id.clone();
        if self.is_wanted && !self.is_installed {
            let installed = self.plugin.install(server).await;
            installed.map_err(|error| not_synced(&id, error.message()))?;
        }
        let host = Arc::clone(server.host());
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
