//! The plugins of this machine at one moment: marketplaces, and what is installed and configured.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::v2;
use codex_config::{Config, Feature};
use codex_plugins::{
    Marketplace, MarketplaceError, MarketplacePlugin, Plugin, PluginError, PluginId, PluginStore,
    folders_of_user, marketplace_of, usual_file,
};
use codex_projection::{PluginState, wire_marketplace, wire_path, wire_plugin};
use futures::future::join_all;

use crate::failure::Failure;
use crate::host::Host;
use crate::server::AppServer;

/// The plugins of this machine at one moment.
pub(super) struct PluginView {
    config: Config,
    pub(super) store: PluginStore,
}

impl PluginView {
    /// Reads the configuration.
    pub(super) fn read(host: &dyn Host) -> Result<Self, Failure> {
        let config = host.configuration().without_projects();
        let config = config
            .map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
        Ok(Self {
            store: PluginStore::of_home(&config.home),
            config,
        })
    }

    pub(super) fn is_on(&self) -> bool {
        self.config.features.enabled(Feature::Plugins)
    }

    pub(super) fn is_configured(&self, id: &PluginId) -> bool {
        self.config.plugins.plugins.contains_key(&id.to_string())
    }

    pub(super) fn state(&self, key: &str) -> PluginState {
        let Some(enabled) = self.config.plugins.plugins.get(key) else {
            return PluginState::default();
        };
        let active = PluginId::parse(key)
            .ok()
            .and_then(|id| self.store.active(&id));
        PluginState {
            installed: active.is_some(),
            enabled: *enabled,
        }
    }

    fn summary(&self, marketplace: &Marketplace, plugin: &MarketplacePlugin) -> v2::PluginSummary {
        let id = format!("{}@{}", plugin.name, marketplace.name);
        let state = self.state(&id);
        let read = self.read_plugin(marketplace, plugin);
        wire_plugin(id, plugin, read.ok().as_ref(), state)
    }

    /// Reads a plugin where it is installed from. One in a repository is read where it is installed.
    pub(super) fn read_plugin(
        &self,
        marketplace: &Marketplace,
        plugin: &MarketplacePlugin,
    ) -> Result<Plugin, PluginError> {
        let read = plugin.read(marketplace);
        if read.as_ref().err() != Some(&PluginError::InRepository) {
            return read;
        }
        let id = PluginId::new(&plugin.name, &marketplace.name).ok();
        let installed = id.and_then(|id| self.store.active(&id));
        installed.map_or(read, |root| Plugin::read(&root))
    }

    /// Where marketplaces of the user and of these working folders may be.
    fn places(&self, host: &dyn Host, cwds: Vec<PathBuf>) -> Vec<MarketplacePlace> {
        let added = self.config.plugins.added();
        let own = folders_of_user(&self.config.home, host.homes().user, added).into_iter();
        let own = own.map(MarketplacePlace::Folder);
        own.chain(cwds.into_iter().map(MarketplacePlace::Project))
            .collect()
    }

    /// The marketplaces of the user and of these working folders, by the paths of their files. Those that cannot be read, or
    /// not in time, are errors.
    pub(super) async fn marketplaces(
        self: &Arc<Self>,
        server: &AppServer,
        cwds: Vec<PathBuf>,
    ) -> Vec<FoundMarketplace> {
        let places = self.places(&**server.host(), cwds).into_iter();
        let found = places.map(|place| async move {
            let (view, own) = (Arc::clone(self), place.clone());
            let read = server.folder_reads();
            match read
                .read(place.path(), move || view.marketplace_at(&own))
                .await
            {
                Ok(found) => found,
                Err(error) => Some(FoundMarketplace {
                    file: usual_file(place.path()),
                    read: Err(format!("failed to read marketplace file: {error}")),
                }),
            }
        });
        let mut found: Vec<_> = join_all(found).await.into_iter().flatten().collect();
        found.sort_by(|one, other| one.file.cmp(&other.file));
        found.dedup_by(|one, other| one.file == other.file);
        found
    }

    fn marketplace_at(&self, place: &MarketplacePlace) -> Option<FoundMarketplace> {
        let file = marketplace_of(&place.folder())?;
        let with_plugins = |marketplace: Marketplace| {
            let plugins = marketplace.plugins.iter();
            let plugins = plugins.map(|plugin| self.summary(&marketplace, plugin));
            (plugins.collect(), marketplace)
        };
        let read = Marketplace::read(&file).map(with_plugins);
        Some(FoundMarketplace {
            file,
            read: read.map_err(|error| error.to_string()),
        })
    }

    /// Lists the plugins of all marketplaces. A plugin counts once, and marketplaces without plugins are left out.
    pub(super) async fn list(
        self: &Arc<Self>,
        server: &AppServer,
        cwds: Vec<PathBuf>,
    ) -> MarketplaceList {
        let mut list = MarketplaceList::default();
        let mut seen = HashSet::new();
        for found in self.marketplaces(server, cwds).await {
            let (mut plugins, marketplace) = match found.read {
                Ok(read) => read,
                Err(message) => {
                    list.errors.push(v2::MarketplaceLoadErrorInfo {
                        marketplace_path: wire_path(&found.file),
                        message,
                    });
                    continue;
                }
            };
            if let Some(message) = marketplace.unusable() {
                list.errors.push(v2::MarketplaceLoadErrorInfo {
                    marketplace_path: wire_path(&found.file),
                    message,
                });
            }
            plugins.retain(|plugin| seen.insert(plugin.id.clone()));
            if !plugins.is_empty() {
                list.marketplaces
                    .push(wire_marketplace(&marketplace, plugins));
            }
        }
        list
    }
}

/// Where a marketplace may be.
#[derive(Clone, Debug)]
enum MarketplacePlace {
    /// In this folder.
    Folder(PathBuf),
    /// In a working folder, or else in its repository.
    Project(PathBuf),
}

impl MarketplacePlace {
    fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::Project(path) => path,
        }
    }

    fn folder(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.clone(),
            Self::Project(cwd) => project(cwd),
        }
    }
}

/// A marketplace with what is shown of its plugins, or why it cannot be used.
pub(super) struct FoundMarketplace {
    file: PathBuf,
    pub(super) read: Result<(Vec<v2::PluginSummary>, Marketplace), String>,
}

/// Runs work that reads a marketplace in a blocking task.
pub(super) async fn reading<T: Send + 'static>(
    server: &AppServer,
    file: &Path,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let read = server.folder_reads().read(file, work).await;
    let failed = |error| {
        Err(Failure::internal(format!(
            "failed to read marketplace file: {error}"
        )))
    };
    read.unwrap_or_else(failed)
}

/// The plugins of all marketplaces, and the marketplaces that cannot be used.
#[derive(Default)]
pub(super) struct MarketplaceList {
    pub(super) marketplaces: Vec<v2::PluginMarketplaceEntry>,
    pub(super) errors: Vec<v2::MarketplaceLoadErrorInfo>,
}

impl MarketplaceList {
    /// Leaves out the plugins that are in repositories: some clients cannot read what is said of them.
    pub(super) fn leave_out_repositories(&mut self) {
        let is_local =
            |plugin: &v2::PluginSummary| matches!(plugin.source, v2::PluginSource::Local { .. });
        for marketplace in &mut self.marketplaces {
            marketplace.plugins.retain(is_local);
        }
        self.marketplaces
            .retain(|marketplace| !marketplace.plugins.is_empty());
    }
}

/// The folder itself if it has a marketplace, otherwise its repository.
fn project(cwd: &Path) -> PathBuf {
    let own = marketplace_of(cwd).is_some().then_some(cwd);
    let repository = || codex_project_markers::marked_folder(cwd, ".git");
    own.or_else(repository).unwrap_or(cwd).to_owned()
}

/// The error for a marketplace. `doing` is what the system failed at.
pub(super) fn unusable_marketplace(error: &MarketplaceError, doing: &str) -> Failure {
    if error.is_about_request() {
        Failure::invalid(error.to_string())
    } else {
        Failure::internal(format!("{doing}: {error}"))
    }
}
