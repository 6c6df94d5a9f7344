//! What the model may suggest to install: apps and plugins that the settings name, and apps of plugins.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codex_apps::{AccountKey, App, AppCatalog, DirectoryAccount, install_page, request_directory};
use codex_config::schema::DiscoverableKind;
use codex_config::{Config, Feature};
use codex_core::{SuggestionKind, ToolSuggestion, ToolSuggestions};
use codex_http::HttpPool;
use codex_plugins::{
    FolderReads, InstalledPlugin, Marketplace, PluginId, PluginStore, folders_of_user,
    marketplace_files,
};
use futures::future::BoxFuture;

use crate::app_sources::AppsAccount;

/// What may be suggested in one thread. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ConfiguredSuggestions(Arc<SuggestionSources>);

#[derive(Debug)]
struct SuggestionSources {
    /// The ids of apps.
    apps: Vec<String>,
    plugins: Vec<PluginId>,
    store: PluginStore,
    /// The folders of marketplaces.
    folders: Vec<PathBuf>,
    home: PathBuf,
    reads: Arc<FolderReads>,
    account: (AccountKey, DirectoryAccount),
    catalog: Arc<AppCatalog>,
    http: Arc<HttpPool>,
    /// Whether the directory was asked for, which happens once.
    is_asked: AtomicBool,
}

impl ConfiguredSuggestions {
    /// None where nothing may be suggested.
    pub(crate) fn new(
        config: &Config,
        account: &AppsAccount,
        installed: &[InstalledPlugin],
        user: Option<PathBuf>,
        catalog: &Arc<AppCatalog>,
        http: &Arc<HttpPool>,
    ) -> Option<Self> {
        let needed = [Feature::Apps, Feature::Plugins, Feature::ToolSuggest];
        if !needed
            .iter()
            .all(|feature| config.features.enabled(*feature))
        {
            return None;
        }
        let named = |kind| {
            let all = config.suggestions.iter();
            all.filter(move |named| named.kind == kind)
                .map(|named| named.id.as_str())
        };
        let of_plugins = installed.iter().flat_map(|plugin| &plugin.apps);
        let apps = named(DiscoverableKind::Connector).chain(of_plugins.map(String::as_str));
        let apps: Vec<String> = apps.map(str::to_owned).collect();
        let plugins = named(DiscoverableKind::Plugin).filter_map(|id| PluginId::parse(id).ok());
        let plugins: Vec<PluginId> = plugins.collect();
        if apps.is_empty() && plugins.is_empty() {
            return None;
        }
        Some(Self(Arc::new(SuggestionSources {
            apps,
            plugins,
            store: PluginStore::of_home(&config.home),
            folders: folders_of_user(&config.home, user, config.plugins.added()),
            home: config.home.clone(),
            reads: Arc::default(),
            account: (account.key.clone(), account.directory.clone()),
            catalog: Arc::clone(catalog),
            http: Arc::clone(http),
            is_asked: AtomicBool::new(false),
        })))
    }
}

impl ToolSuggestions for ConfiguredSuggestions {
    fn candidates(&self) -> BoxFuture<'static, Vec<ToolSuggestion>> {
        let sources = Arc::clone(&self.0);
        Box::pin(async move {
            let mut candidates = sources.apps();
            sources.ask_for_directory();
            let (reads, home) = (Arc::clone(&sources.reads), sources.home.clone());
            let plugins = reads.read(&home, move || sources.plugins()).await;
            candidates.extend(plugins.unwrap_or_default());
            candidates
        })
    }
}

impl SuggestionSources {
    /// The apps that the directory knows and the account has not connected.
    fn apps(&self) -> Vec<ToolSuggestion> {
        let (key, _) = &self.account;
        let directory = self.catalog.directory(key).unwrap_or_default();
        let accessible = self.catalog.accessible(key).unwrap_or_default();
        let is_candidate = |app: &&App| {
            self.apps.contains(&app.id) && !accessible.iter().any(|known| known.id == app.id)
        };
        let suggestion = |app: &App| ToolSuggestion {
            kind: SuggestionKind::Connector,
            id: app.id.clone(),
            name: app.name.clone(),
            description: app.description.clone(),
            install_url: Some(
                (app.install_url.clone()).unwrap_or_else(|| install_page(&app.name, &app.id)),
            ),
        };
        directory
            .iter()
            .filter(is_candidate)
            .map(suggestion)
            .collect()
    }

    /// Requests the directory in the background, if it is not known.
    fn ask_for_directory(self: &Arc<Self>) {
        let is_needed = !self.apps.is_empty() && self.catalog.directory(&self.account.0).is_none();
        if !is_needed || self.is_asked.swap(true, Ordering::Relaxed) {
            return;
        }
        let own = Arc::clone(self);
        tokio::spawn(async move {
            let (key, account) = &own.account;
            match request_directory(&own.http, account).await {
                Ok(apps) => drop(own.catalog.keep_directory(key, apps)),
                Err(error) => tracing::debug!(%error, "no apps are suggested"),
            }
        });
    }

    /// The plugins that a marketplace has and that are not installed. Reads files.
    fn plugins(&self) -> Vec<ToolSuggestion> {
        let mut wanted = self.plugins.iter();
        if !wanted.any(|id| self.store.active(id).is_none()) {
            return Vec::new();
        }
        let folders = self.folders.iter().map(PathBuf::as_path);
        let files = marketplace_files(folders).into_iter();
        let known: Vec<_> = files
            .filter_map(|file| Marketplace::read(&file).ok())
            .collect();
        let suggestion = |id: &PluginId| {
            let mut marketplaces = known.iter().filter(|known| known.name == id.marketplace());
            marketplaces.find_map(|marketplace| {
                let (listed, _) = marketplace.installable(id.plugin()).ok()?;
                let manifest = listed.read(marketplace).ok()?.manifest;
                Some(ToolSuggestion {
                    kind: SuggestionKind::Plugin,
                    id: id.to_string(),
                    name: manifest.display_name().to_owned(),
                    description: manifest.short_text(),
                    install_url: None,
                })
            })
        };
        let missing = self
            .plugins
            .iter()
            .filter(|id| self.store.active(id).is_none());
        missing.filter_map(suggestion).collect()
    }
}
