//! The marketplaces that the user has added: folders with plugins, and copies of repositories.

use std::collections::BTreeMap;
use std::sync::Arc;

use codex_app_server_protocol::v2;
use codex_config::schema::MarketplaceFile;
use codex_plugins::{Marketplace, MarketplaceCopies, MarketplaceError, PluginId, marketplace_of};
use serde_json::{Value, json};

use super::blocking;
use super::call::RequestContext;
use super::plugin_settings::edit_config;
use super::plugin_view::unusable_marketplace;
use crate::failure::Failure;
use crate::host::Host;

pub(super) fn add_folder(
    host: &dyn Host,
    path: &str,
    params: &v2::MarketplaceAddParams,
) -> Result<v2::MarketplaceAddResponse, Failure> {
    if params.ref_name.is_some() {
        let message = "--ref is only supported for git marketplace sources";
        return Err(Failure::invalid(message));
    }
    if params
        .sparse_paths
        .as_ref()
        .is_some_and(|paths| !paths.is_empty())
    {
        let message = "--sparse is only supported for git marketplace sources";
        return Err(Failure::invalid(message));
    }
    let root = codex_mounts::canonicalize(host.configuration().folder(path));
    let root = root.map_err(|error| {
        let message = format!("failed to resolve local marketplace source path: {error}");
        Failure::invalid(message)
    })?;
    let name = name_of(&root)?;
    let source = root.display().to_string();
    let already_added = match added(host)?.get(&name) {
        None => false,
        Some(known) if known.source == source => true,
        Some(_) => return Err(other_source(&name)),
    };
    if !already_added {
        let entry = json!({ "source_type": "local", "source": source });
        edit_config(host, &key_of(&name), &entry, "failed to add marketplace")?;
    }
    Ok(v2::MarketplaceAddResponse {
        already_added,
        installed_root: source,
        marketplace_name: name,
    })
}

/// The name of the marketplace in a folder.
pub(super) fn name_of(root: &std::path::Path) -> Result<String, Failure> {
    let file = marketplace_of(root).ok_or_else(|| {
        let root = root.display();
        Failure::invalid(format!(
            "invalid marketplace file `{root}`: marketplace root does not contain a supported manifest"
        ))
    })?;
    let failed =
        |error: MarketplaceError| unusable_marketplace(&error, "failed to add marketplace");
    let name = Marketplace::read(&file).map_err(failed)?.name;
    check_name(&name)?;
    Ok(name)
}

pub(super) fn other_source(name: &str) -> Failure {
    Failure::invalid(format!(
        "marketplace '{name}' is already added from a different source; remove it before adding this source"
    ))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let checked = PluginId::new("plugin", name);
    checked
        .map(drop)
        .map_err(|error| Failure::invalid(error.to_string()))
}

pub(super) fn key_of(name: &str) -> String {
    format!("marketplaces.\"{name}\"")
}

/// The marketplaces that the user has added.
pub(super) fn added(host: &dyn Host) -> Result<BTreeMap<String, MarketplaceFile>, Failure> {
    let config = host.configuration().without_projects();
    let config =
        config.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
    Ok(config.plugins.marketplaces)
}

/// Installed plugins and folders of the user are kept; a copy of a repository is removed.
pub(super) async fn remove(
    RequestContext { server, .. }: RequestContext,
    params: v2::MarketplaceRemoveParams,
) -> Result<v2::MarketplaceRemoveResponse, Failure> {
    let host = Arc::clone(server.host());
    blocking(move || {
        let name = params.marketplace_name;
        check_name(&name)?;
        if !added(&*host)?.contains_key(&name) {
            let message = format!("marketplace `{name}` is not configured or installed");
            return Err(Failure::invalid(message));
        }
        let doing = "failed to remove marketplace";
        edit_config(&*host, &key_of(&name), &Value::Null, doing)?;
        let removed =
            MarketplaceCopies::of_home(&host.configuration().startup().home).remove(&name);
        let removed = removed.map_err(|error| Failure::internal(format!("{doing}: {error}")))?;
        Ok(v2::MarketplaceRemoveResponse {
            installed_root: removed.map(|root| root.display().to_string()),
            marketplace_name: name,
        })
    })
    .await
}
