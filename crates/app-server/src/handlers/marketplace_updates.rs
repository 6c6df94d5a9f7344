//! What happens to plugins by itself, where the settings say so: marketplaces that are copies of repositories are brought up
//! to date, with the plugins that were installed from them, and a new home folder gets the plugins of the account. It
//! happens once in a process, in the background: nothing waits for it.

use std::sync::Arc;

use codex_config::Feature;
use codex_config::schema::MarketplaceFile;
use codex_plugins::{Marketplace, PluginId, marketplace_of};

use super::blocking;
use super::marketplace_copies::{repository_of, upgrade_one};
use super::plugin_folder::ChosenPlugin;
use super::plugin_sync;
use super::plugin_view::PluginView;
use crate::failure::Failure;
use crate::server::AppServer;

/// Starts to bring marketplaces up to date, if that has not been started yet.
pub(super) fn start(server: &Arc<AppServer>) {
    let config = server.host().configuration().startup();
    let marketplaces = config.plugins.marketplaces.iter();
    let wanted = marketplaces.filter(|(_, known)| known.auto_upgrade);
    let wanted: Vec<_> = wanted
        .map(|(name, known)| (name.clone(), known.clone()))
        .collect();
    let is_on = config.features.enabled(Feature::Plugins);
    let syncs = plugin_sync::is_due(server);
    let is_nothing = wanted.is_empty() && !syncs;
    if is_nothing || !is_on || !server.begin_marketplace_updates() {
        return;
    }
    let server = Arc::clone(server);
    tokio::spawn(async move {
        for (name, known) in wanted {
            if let Err(error) = update(&server, &name, &known).await {
                let problem = error.message();
                tracing::warn!("marketplace `{name}` is not brought up to date: {problem}");
            }
        }
        if syncs && let Err(error) = plugin_sync::sync_once(&server).await {
            let problem = error.message();
            tracing::warn!("the plugins of the account are not installed: {problem}");
        }
    });
}

async fn update(server: &AppServer, name: &str, known: &MarketplaceFile) -> Result<(), Failure> {
    let host = server.host();
    let Some(wanted) = repository_of(known) else {
        return Err(Failure::invalid("it is not behind Git"));
    };
    let Some(root) = upgrade_one(host, name, wanted).await? else {
        return Ok(());
    };
    let own = Arc::clone(host);
    let installed = blocking(move || {
        let view = PluginView::read(&*own)?;
        let Some(file) = marketplace_of(&root) else {
            return Ok(Vec::new());
        };
        let marketplace = Marketplace::read(&file);
        let marketplace = marketplace.map_err(|error| Failure::internal(error.to_string()))?;
        let chosen = |listed: &codex_plugins::MarketplacePlugin| {
            let id = PluginId::new(&listed.name, &marketplace.name).ok()?;
            let is_used = view.is_configured(&id) && view.store.active(&id).is_some();
            is_used.then(|| ChosenPlugin::new(marketplace.clone(), listed.clone(), id))
        };
        Ok(marketplace.plugins.iter().filter_map(chosen).collect())
    });
    for plugin in installed.await?.into_iter().map(Arc::new) {
        if let Err(error) = plugin.install(server).await {
            let (id, problem) = (&plugin.id, error.message());
            tracing::warn!("plugin `{id}` is not brought up to date: {problem}");
        }
    }
    let host = Arc::clone(host);
    blocking(move || {
        let read = host.read_plugins();
        read.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))
    })
    .await
}
