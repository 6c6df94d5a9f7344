//! Makes the installed plugins of the curated marketplace those that the account has.

use std::path::PathBuf;
use std::sync::Arc;

use codex_plugins::{Marketplace, PluginId};
use serde_json::{Value, json};

use super::blocking;
use super::plugin_install::{edit_config, key_of};
use super::plugin_view::PluginView;
use super::remote_plugins::{self, CURATED, RemotePlugin};
use crate::failure::Failure;
use crate::host::{AppsAccess, Host};

/// Installs what the account has, and removes what it does not have. What it has of other marketplaces is left alone.
///
/// # Errors
/// There is no account or no curated marketplace, or a plugin cannot be installed or removed: as a text for people.
pub(super) async fn sync(
    host: Arc<dyn Host>,
    access: Option<&AppsAccess>,
    cwds: Vec<PathBuf>,
) -> Result<(), Failure> {
    let failed = |error: remote_plugins::RemoteError| Failure::internal(error.to_string());
    let no_account = remote_plugins::RemoteError::NoAccount("to sync remote plugins");
    let access = access.ok_or_else(|| failed(no_account))?;
    let plugins = remote_plugins::plugins(access).await.map_err(failed)?;
    blocking(move || apply(&*host, &cwds, &plugins)).await
}

fn apply(host: &dyn Host, cwds: &[PathBuf], plugins: &[RemotePlugin]) -> Result<(), Failure> {
    let view = PluginView::read(host)?;
    let files = view.marketplace_files(host, cwds).into_iter();
    let mut known = files.filter_map(|file| Marketplace::read(&file).ok());
    let curated = known.find(|marketplace| marketplace.name == CURATED);
    let missing = || Failure::internal("local curated marketplace is not available");
    let curated = curated.ok_or_else(missing)?;
    let enabled = |name: &str| {
        let mut own = plugins.iter().filter(|plugin| plugin.is_curated());
        own.any(|plugin| plugin.name == name && plugin.enabled)
    };
    for plugin in &curated.plugins {
        let Ok(id) = PluginId::new(&plugin.name, CURATED) else {
            continue;
        };
        let (is_there, is_configured) = (view.store.active(&id).is_some(), view.is_configured(&id));
        let failed = |error| Failure::internal(format!("failed to sync plugin `{id}`: {error}"));
        if enabled(&plugin.name) {
            if !is_there {
                view.store.install(&plugin.folder, &id).map_err(failed)?;
            }
            let value = json!({ "enabled": true });
            edit_config(
                host,
                &key_of(&id),
                &value,
                "failed to persist installed plugin config",
            )?;
        } else {
            if is_there {
                view.store.uninstall(&id).map_err(failed)?;
            }
            if is_configured {
                edit_config(
                    host,
                    &key_of(&id),
                    &Value::Null,
                    "failed to clear plugin config",
                )?;
            }
        }
    }
    let read = host.read_plugins();
    read.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))
}
