//! The plugins of this machine at one moment: marketplaces, and what is installed and configured.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2;
use codex_config::{Config, Feature};
use codex_plugins::{
    Marketplace, MarketplaceError, MarketplacePlugin, Plugin, PluginError, PluginId, PluginStore,
    folders_of_user, marketplace_files, marketplace_of,
};

use crate::failure::Failure;
use crate::host::Host;
use crate::projection::{PluginState, wire_marketplace, wire_path, wire_plugin};

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

    /// The marketplace files of the user and of these folders, sorted.
    pub(super) fn marketplace_files(&self, host: &dyn Host, cwds: &[PathBuf]) -> Vec<PathBuf> {
        let added = self.config.plugins.added();
        let own = folders_of_user(&self.config.home, host.homes().user, added);
        let projects = cwds.iter().map(|cwd| project(cwd));
        let folders: Vec<PathBuf> = own.into_iter().chain(projects).collect();
        marketplace_files(folders.iter().map(PathBuf::as_path))
    }

    /// Lists the plugins of all marketplaces. A plugin counts once, and marketplaces without plugins are left out.
    pub(super) fn list(&self, host: &dyn Host, cwds: &[PathBuf]) -> MarketplaceList {
        let mut list = MarketplaceList::default();
        let mut seen = HashSet::new();
        for file in self.marketplace_files(host, cwds) {
            let marketplace = match Marketplace::read(&file) {
                Ok(marketplace) => marketplace,
                Err(error) => {
                    list.errors.push(v2::MarketplaceLoadErrorInfo {
                        marketplace_path: wire_path(&file),
                        message: error.to_string(),
                    });
                    continue;
                }
            };
            let is_new = |plugin: &&MarketplacePlugin| {
                seen.insert((plugin.name.clone(), marketplace.name.clone()))
            };
            let plugins = marketplace.plugins.iter().filter(is_new);
            let plugins: Vec<_> = plugins
                .map(|plugin| self.summary(&marketplace, plugin))
                .collect();
            if !plugins.is_empty() {
                let entry = wire_marketplace(&marketplace, plugins);
                list.marketplaces.push(entry);
            }
        }
        list
    }
}

/// The plugins of all marketplaces, and the marketplaces that cannot be used.
#[derive(Default)]
pub(super) struct MarketplaceList {
    pub(super) marketplaces: Vec<v2::PluginMarketplaceEntry>,
    pub(super) errors: Vec<v2::MarketplaceLoadErrorInfo>,
}

impl MarketplaceList {
    /// Leaves out the plugins that are in repositories: release 0.117 cannot read what is said of them.
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
    let repository = || codex_sandbox::marked_folder(cwd, ".git");
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
