//! The installed plugins that are enabled, with what they contribute.

use std::path::PathBuf;

use crate::contributions::PluginMcpServer;
use crate::hook_files::PluginHookFiles;
use crate::id::PluginId;
use crate::plugin::Plugin;
use crate::store::PluginStore;

/// An installed plugin with what it contributes.
#[derive(Clone, Debug)]
pub struct InstalledPlugin {
    /// Its id.
    pub id: PluginId,
    /// The name in its manifest. The names of its skills begin with it.
    pub name: String,
    /// The name for people and the model.
    pub display_name: String,
    /// What it is for, as one line.
    pub description: Option<String>,
    /// The folders with its skills.
    pub skill_roots: Vec<PathBuf>,
    /// Its MCP servers, by name.
    pub mcp_servers: Vec<PluginMcpServer>,
    /// The ids of its apps.
    pub apps: Vec<String>,
    /// Its hooks, if it has any.
    pub hooks: Option<PluginHookFiles>,
}

/// Reads the enabled plugins, sorted by id. Those that cannot be used are left out, with a warning in the log. Blocks on the
/// file system.
#[must_use]
pub fn load_enabled<'a>(
    store: &PluginStore,
    enabled: impl IntoIterator<Item = &'a str>,
) -> Vec<InstalledPlugin> {
    let mut plugins: Vec<_> = enabled
        .into_iter()
        .filter_map(|key| {
            let loaded = load(store, key);
            let warn = |problem| tracing::warn!("plugin `{key}` is not used: {problem}");
            loaded.map_err(warn).ok()
        })
        .collect();
    plugins.sort_by(|a, b| a.id.cmp(&b.id));
    plugins
}

fn load(store: &PluginStore, key: &str) -> Result<InstalledPlugin, String> {
    let id = PluginId::parse(key).map_err(|error| error.to_string())?;
    let root = store.active(&id).ok_or("plugin is not installed")?;
    let plugin = Plugin::read(&root).map_err(|error| error.to_string())?;
    Ok(InstalledPlugin {
        name: plugin.manifest.name.clone(),
        display_name: plugin.manifest.display_name().to_owned(),
        description: plugin.manifest.short_text(),
        skill_roots: plugin.skill_roots(),
        mcp_servers: plugin.mcp_servers(),
        apps: plugin.apps(),
        hooks: hooks_of(&plugin),
        id,
    })
}

/// The hooks of a plugin. If its files cannot be read, it has none.
fn hooks_of(plugin: &Plugin) -> Option<PluginHookFiles> {
    plugin.hook_files().unwrap_or_else(|error| {
        let name = &plugin.manifest.name;
        tracing::warn!("the hooks of plugin `{name}` are left out: {error}");
        None
    })
}
