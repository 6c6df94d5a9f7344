//! Plugins that the user mentions: what the model is told about them.

use std::fmt::Write as _;

use codex_plugins::{InstalledPlugin, PluginMention, mentioned};
use codex_protocol::{ResponseItem, UserInput};
use codex_session_base::history::developer_message;

use super::recording::RunningTurn;

impl RunningTurn<'_> {
    /// The messages about the plugins that an input mentions.
    pub(crate) async fn texts_of_plugins(&self, input: &[UserInput]) -> Vec<ResponseItem> {
        let Some(plugins) = &self.scope.settings.plugins else {
            return Vec::new();
        };
        let input: Vec<_> = input.iter().filter_map(mention).collect();
        let mut texts = Vec::new();
        for plugin in mentioned(plugins, &input) {
            texts.push(developer_message([self.text_of_plugin(plugin).await]));
        }
        texts
    }

    async fn text_of_plugin(&self, plugin: &InstalledPlugin) -> String {
        let mut text = format!(
            "The user mentions the plugin `{}`. Use what it offers where it helps:",
            plugin.display_name
        );
        let id = plugin.id.to_string();
        let skills = self.scope.settings.skills.get();
        let mut enabled = skills.iter().flat_map(|skills| skills.enabled());
        if enabled.any(|skill| skill.plugin.as_deref() == Some(&id)) {
            let _ = write!(text, "\n- skills whose names begin with `{}:`", plugin.name);
        }
        let servers = self.running_servers(plugin).await;
        if !servers.is_empty() {
            let _ = write!(text, "\n- tools of MCP servers: {}", listed(&servers));
        }
        if !plugin.apps.is_empty() {
            let apps: Vec<&str> = plugin.apps.iter().map(String::as_str).collect();
            let _ = write!(text, "\n- apps: {}", listed(&apps));
        }
        text
    }

    /// The MCP servers of a plugin that have started. The turn waits for them anyway before it asks the model.
    async fn running_servers<'p>(&self, plugin: &'p InstalledPlugin) -> Vec<&'p str> {
        let servers = self.scope.tool_services.mcp.current();
        let mut running = Vec::new();
        for server in &plugin.mcp_servers {
            let settled = tokio::select! {
                biased;
                () = self.scope.stop.stopped() => break,
                settled = servers.running(&server.name) => settled,
            };
            if settled.is_ok() {
                running.push(server.name.as_str());
            }
        }
        running
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn mention(item: &UserInput) -> Option<PluginMention<'_>> {
    match item {
        UserInput::Mention { path, .. } => Some(PluginMention::Item { path }),
        UserInput::Text { text, .. } => Some(PluginMention::Text(text)),
        _ => None,
    }
}
