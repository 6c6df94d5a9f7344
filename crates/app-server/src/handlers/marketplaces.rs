//! The marketplaces that the user has added: folders with plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2;
use codex_config::schema::MarketplaceFile;
use codex_plugins::{Marketplace, MarketplaceError, PluginId, marketplace_of};
use serde_json::{Value, json};

use super::blocking;
use super::call::RequestContext;
use super::plugin_install::edit_config;
use super::plugins::unusable_marketplace;
use crate::failure::Failure;
use crate::host::Host;

pub(super) async fn add(
    RequestContext { server, .. }: RequestContext,
    params: v2::MarketplaceAddParams,
) -> Result<v2::MarketplaceAddResponse, Failure> {
    let host = Arc::clone(server.host());
    blocking(move || add_folder(&*host, &params)).await
}

fn add_folder(
    host: &dyn Host,
    params: &v2::MarketplaceAddParams,
) -> Result<v2::MarketplaceAddResponse, Failure> {
    let source = params.source.trim();
    if source.is_empty() {
        return Err(Failure::invalid("marketplace source must not be empty"));
    }
    if !is_folder(source) {
        let message = "marketplaces behind Git are not supported by this version: clone the \
                       repository, and add its folder";
        return Err(Failure::invalid(message));
    }
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
    let root = dunce::canonicalize(host.configuration().folder(source));
    let root = root.map_err(|error| {
        let message = format!("failed to resolve local marketplace source path: {error}");
        Failure::invalid(message)
    })?;
    let file = marketplace_of(&root).ok_or_else(|| {
        let root = root.display();
        Failure::invalid(format!(
            "invalid marketplace file `{root}`: marketplace root does not contain a supported manifest"
        ))
    })?;
    let failed =
        |error: MarketplaceError| unusable_marketplace(&error, "failed to add marketplace");
    let name = Marketplace::read(&file).map_err(failed)?.name;
    check_name(&name)?;
    let source = root.display().to_string();
    let already_added = match added(host)?.get(&name) {
        None => false,
        Some(known) if known.source == source => true,
        Some(_) => {
            return Err(Failure::invalid(format!(
                "marketplace '{name}' is already added from a different source; remove it before adding this source"
            )));
        }
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

/// Whether a source is a folder, rather than the address of a repository.
fn is_folder(source: &str) -> bool {
    let is_path = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| source.starts_with(start));
    is_path || [".", "..", "~"].contains(&source) || PathBuf::from(source).is_absolute()
}

fn check_name(name: &str) -> Result<(), Failure> {
    let checked = PluginId::new("plugin", name);
    checked
        .map(drop)
        .map_err(|error| Failure::invalid(error.to_string()))
}

fn key_of(name: &str) -> String {
    format!("marketplaces.\"{name}\"")
}

/// The marketplaces that the user has added.
fn added(host: &dyn Host) -> Result<BTreeMap<String, MarketplaceFile>, Failure> {
    let config = host.configuration().without_projects();
    let config =
        config.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))?;
    Ok(config.plugins.marketplaces)
}

/// The folder itself is kept, and so are installed plugins.
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
        Ok(v2::MarketplaceRemoveResponse {
            installed_root: None,
            marketplace_name: name,
        })
    })
    .await
}

/// Folders are read where they are, so there is nothing to upgrade.
pub(super) async fn upgrade(
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
