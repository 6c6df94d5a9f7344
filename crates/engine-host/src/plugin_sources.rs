//! The plugins that threads use: which are enabled, and their MCP servers.

use codex_config::schema::McpServer;
use codex_config::{Config, Feature};
use codex_plugins::{InstalledPlugin, PluginStore, load_enabled};
use serde_json::Value;

/// The enabled plugins. Reads files if plugins are configured.
pub(crate) fn enabled(config: &Config) -> Vec<InstalledPlugin> {
    if config.plugins.plugins.is_empty() || !config.features.enabled(Feature::Plugins) {
        return Vec::new();
    }
    let store = PluginStore::of_home(&config.home);
    load_enabled(&store, config.plugins.enabled())
}

/// Adds what the enabled plugins contribute to the configuration, and returns them.
pub(crate) fn add_to(config: &mut Config) -> Vec<InstalledPlugin> {
    let plugins = enabled(config);
    add_servers(config, &plugins);
    plugins
}

/// Adds the MCP servers of plugins to the configured ones. The first definition of a name counts.
fn add_servers(config: &mut Config, plugins: &[InstalledPlugin]) {
    for plugin in plugins {
        for server in &plugin.mcp_servers {
            let settings = Value::Object(server.settings.clone());
            match serde_json::from_value::<McpServer>(settings) {
                Ok(settings) => {
                    let requirements = &config.requirements;
                    let (shown, name) = (&plugin.display_name, &server.name);
                    let id = plugin.id.to_string();
                    config
                        .mcp
                        .add_of_plugin(&id, shown, name, settings, requirements);
                }
                Err(error) => {
                    let (id, name) = (&plugin.id, &server.name);
                    tracing::warn!("MCP server `{name}` of plugin `{id}` is left out: {error}");
                }
            }
        }
    }
}
