//! Lists and describes plugins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::v2::{self, PluginListMarketplaceKind as Kind};
use codex_hooks::{HookPlace, HookPlugin, HookStates, PluginHooks};
use codex_plugins::{Marketplace, MarketplacePlugin, Plugin, PluginError, PluginSource};
use codex_projection::{wire_hook_event, wire_path, wire_plugin};
use codex_protocol::{AbsolutePathBuf, SkillScope};
use codex_skills::SkillRoot;

use super::apps::access;
use super::blocking;
use super::call::RequestContext;
use super::paging::page;
use super::plugin_apps::{described, find_out};
use super::plugin_share::needs_catalog;
use super::plugin_sync::sync;
use super::plugin_view::{MarketplaceList, PluginView, reading, unusable_marketplace};
use super::remote_plugins::{CURATED_MARKETPLACE, featured};
use super::skills::wire_skill_summary;
use crate::failure::Failure;
use crate::host::Host;
use crate::request_path::absolute;
use crate::server::AppServer;

/// Lists plugins; none if the feature is off.
async fn listed(
    server: &AppServer,
    cwds: Option<Vec<AbsolutePathBuf>>,
) -> Result<MarketplaceList, Failure> {
    let cwds: Result<Vec<_>, _> = cwds.iter().flatten().map(absolute).collect();
    let (cwds, host) = (cwds?, Arc::clone(server.host()));
    let view = Arc::new(blocking(move || PluginView::read(&*host)).await?);
    if !view.is_on() {
        return Ok(MarketplaceList::default());
    }
    Ok(view.list(server, cwds).await)
}

pub(super) async fn list(
    RequestContext { server, connection }: RequestContext,
    params: v2::PluginListParams,
) -> Result<v2::PluginListResponse, Failure> {
    let kinds = params
        .marketplace_kinds
        .as_deref()
        .unwrap_or(&[Kind::Local]);
    let is_of_account = |kind: &Kind| !matches!(kind, Kind::Local | Kind::Vertical);
    if kinds.iter().any(is_of_account) {
        return Err(needs_catalog(&server, "list remote plugin catalog").await);
    }
    if !kinds.contains(&Kind::Local) {
        return Ok(v2::PluginListResponse {
            marketplaces: Vec::new(),
            marketplace_load_errors: Vec::new(),
            remote_sync_error: None,
            featured_plugin_ids: Vec::new(),
        });
    }
    let access = access(&server, None).await?;
    let remote_sync_error = if params.force_remote_sync {
        let cwds: Result<_, _> = params.cwds.iter().flatten().map(absolute).collect();
        let synced = sync(&server, access.as_ref(), cwds?).await;
        synced.err().map(|error| error.message().to_owned())
    } else {
        None
    };
    let mut list = listed(&server, params.cwds).await?;
    if !connection.dialect().lists_plugins_in_repositories() {
        list.leave_out_repositories();
    }
    let is_curated =
        |marketplace: &v2::PluginMarketplaceEntry| marketplace.name == CURATED_MARKETPLACE;
    let featured_plugin_ids = if list.marketplaces.iter().any(is_curated) {
        featured(access.as_ref()).await
    } else {
        Vec::new()
    };
    Ok(v2::PluginListResponse {
        marketplaces: list.marketplaces,
        marketplace_load_errors: list.errors,
        remote_sync_error,
        featured_plugin_ids,
    })
}

pub(super) async fn installed(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginInstalledParams,
) -> Result<v2::PluginInstalledResponse, Failure> {
    let mut list = listed(&server, params.cwds).await?;
    for marketplace in &mut list.marketplaces {
        marketplace.plugins.retain(|plugin| plugin.installed);
    }
    list.marketplaces
        .retain(|marketplace| !marketplace.plugins.is_empty());
    Ok(v2::PluginInstalledResponse {
        marketplaces: list.marketplaces,
        marketplace_load_errors: list.errors,
    })
}

/// Searches the plugins of all marketplaces; there is no remote catalog.
pub(super) async fn search(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginSearchParams,
) -> Result<v2::PluginSearchResponse, Failure> {
    let term = params.search_term.trim().to_lowercase();
    let cwds = params
        .cwds
        .map(|cwds| cwds.into_iter().map(AbsolutePathBuf).collect());
    let list = listed(&server, cwds).await?;
    let mut found = Vec::new();
    for marketplace in list.marketplaces {
        let matching = marketplace.plugins.into_iter();
        let matching = matching.filter(|plugin| !term.is_empty() && is_about(plugin, &term));
        found.extend(matching.map(|plugin| v2::PluginSearchResult {
            marketplace_name: marketplace.name.clone(),
            marketplace_path: Some(marketplace.path.0.clone()),
            plugin,
        }));
    }
    let (data, next_cursor) = page(found, params.cursor.as_deref(), params.limit, "plugins")?;
    Ok(v2::PluginSearchResponse { data, next_cursor })
}

/// Whether a plugin has a term, in lower case, in its texts for people.
fn is_about(plugin: &v2::PluginSummary, term: &str) -> bool {
    let interface = plugin.interface.as_ref();
    let shown = interface.into_iter().flat_map(|interface| {
        let texts = [
            &interface.display_name,
            &interface.short_description,
            &interface.category,
        ];
        texts.into_iter().flatten()
    });
    let mut texts = [&plugin.name]
        .into_iter()
        .chain(&plugin.keywords)
        .chain(shown);
    texts.any(|text| text.to_lowercase().contains(term))
}

pub(super) async fn read(
    RequestContext { server, .. }: RequestContext,
    params: v2::PluginReadParams,
) -> Result<v2::PluginReadResponse, Failure> {
    let file = absolute(&params.marketplace_path)?;
    let host = Arc::clone(server.host());
    let apps = access(&server, None).await?;
    let (mut plugin, app_ids) = reading(&server, &file.clone(), move || {
        let view = PluginView::read(&*host)?;
        if !view.is_on() {
            return Err(Failure::invalid("plugins feature is disabled"));
        }
        let failed = |error| unusable_marketplace(&error, "failed to read plugin details");
        let marketplace = Marketplace::read(&file).map_err(failed)?;
        let (listed, id) = marketplace.plugin(&params.plugin_name).map_err(failed)?;
        let plugin = match view.read_plugin(&marketplace, listed) {
            Err(PluginError::InRepository) => None,
            read => Some(read.map_err(|error| Failure::invalid(error.to_string()))?),
        };
        let id = id.to_string();
        let mut detail = v2::PluginDetail {
            marketplace_name: marketplace.name.clone(),
            marketplace_path: wire_path(&marketplace.path),
            description: unread(listed),
            skills: Vec::new(),
            apps: Vec::new(),
            mcp_servers: Vec::new(),
            hooks: Some(Vec::new()),
            app_templates: Some(Vec::new()),
            summary: wire_plugin(id.clone(), listed, plugin.as_ref(), view.state(&id)),
        };
        let mut app_ids = Vec::new();
        if let Some(plugin) = plugin {
            let servers = plugin.mcp_servers().into_iter();
            detail.skills = skills_of(&*host, &plugin);
            app_ids = plugin.apps();
            detail.mcp_servers = servers.map(|server| server.name).collect();
            detail.hooks = Some(wire_hooks(&id, &plugin)?);
            detail.description = plugin.manifest.description;
        }
        Ok((detail, app_ids))
    })
    .await?;
    if let Some(apps) = apps.as_ref().filter(|_| !app_ids.is_empty()) {
        find_out(apps).await;
    }
    plugin.apps = described(apps.as_ref(), &app_ids);
    Ok(v2::PluginReadResponse { plugin })
}

/// What is said of a plugin in a repository before it is installed.
fn unread(plugin: &MarketplacePlugin) -> Option<String> {
    let PluginSource::Repository(repository) = &plugin.source else {
        return None;
    };
    let folder = repository.path.as_ref();
    let folder = folder.map_or_else(String::new, |path| format!(", folder `{path}`"));
    Some(format!(
        "This plugin is in a repository of its own: {}{folder}. What it offers is known once it is installed.",
        repository.url
    ))
}

fn skills_of(host: &dyn Host, plugin: &Plugin) -> Vec<v2::SkillSummary> {
    let roots = plugin.skill_roots().into_iter().map(|path| SkillRoot {
        path,
        scope: SkillScope::User,
        trusted: true,
        plugin: None,
    });
    let roots: Vec<_> = roots.collect();
    let skills = host.skills().skills_of_roots(host.working_folder(), &roots);
    let prefix = format!("{}:", plugin.manifest.name);
    let named = |mut skill: v2::SkillSummary| {
        // The plugin has no manifest yet: it is installed with that of its entry.
        if !skill.name.starts_with(&prefix) {
            skill.name.insert_str(0, &prefix);
        }
        skill
    };
    let skills = skills.all.iter().map(wire_skill_summary);
    skills.map(named).collect()
}

/// The hooks of a plugin, by the keys that they have once it is installed.
fn wire_hooks(id: &str, plugin: &Plugin) -> Result<Vec<v2::PluginHookSummary>, Failure> {
    let files = plugin.hook_files();
    let files = files.map_err(|error| Failure::invalid(format!("hooks of the plugin: {error}")))?;
    let hooks = files.map(|hooks| PluginHooks {
        plugin: HookPlugin {
            id: id.to_owned(),
            root: hooks.root,
            data: PathBuf::new(),
        },
        files: hooks.files,
        tables: hooks.tables,
        manifest: hooks.manifest,
        content_hash: hooks.content_hash,
    });
    // Only what is listed of hooks that are not installed counts, not the files that they would run.
    let place = HookPlace {
        cwd: Path::new("/"),
        environment: &BTreeMap::new(),
        may_write: &|_| false,
        record: None,
    };
    let hooks = hooks.into_iter().collect();
    let catalog = codex_hooks::load(&[], hooks, &HookStates::default(), &place);
    let summary = |hook: codex_hooks::Hook| v2::PluginHookSummary {
        event_name: wire_hook_event(hook.event),
        key: hook.key,
    };
    Ok(catalog.hooks.into_iter().map(summary).collect())
}
