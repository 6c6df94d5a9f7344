//! Settings of skills and MCP servers.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use toml::Value;

use crate::decode::decode;
use crate::requirements::{RequirementSource, Requirements};
use crate::schema::{ConfigFile, McpCredentialsStore, McpServer, SkillRule, SkillsFile};
use crate::source::LayerSource;
use crate::stack::LayerStack;

/// Settings of skills.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSettings {
    /// Whether bundled skills are available.
    pub bundled_skills: bool,
    /// Rules for individual skills, in the order in which they apply.
    pub skill_rules: Vec<SkillRule>,
}

/// Settings of MCP servers.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSettings {
    /// The servers. Those that requirements do not allow are disabled.
    pub servers: BTreeMap<String, McpServer>,
    /// The servers that requirements do not allow, and the source of the requirement.
    pub disallowed: BTreeMap<String, RequirementSource>,
    /// The names of the plugins, for people, that servers come from.
    pub plugins: BTreeMap<String, Vec<String>>,
    /// The ids of the plugins that configure servers.
    pub plugin_ids: BTreeMap<String, String>,
    /// Where the logins of MCP servers are stored.
    pub credentials_store: McpCredentialsStore,
    /// The port of the login callback.
    pub oauth_callback_port: Option<NonZeroU16>,
    /// The address of the login callback.
    pub oauth_callback_url: Option<String>,
}

impl ToolSettings {
    pub(super) fn resolve(stack: &LayerStack, file: &ConfigFile) -> Self {
        let bundled = file.skills.as_ref().and_then(|skills| skills.bundled);
        Self {
            bundled_skills: bundled.unwrap_or_default().enabled,
            skill_rules: skill_rules(stack),
        }
    }
}

/// The skill rules of the user and of flags. A later rule replaces an earlier one for the same skill and moves to the end.
fn skill_rules(stack: &LayerStack) -> Vec<SkillRule> {
    let mut rules: Vec<SkillRule> = Vec::new();
    let layers = stack.enabled().filter(|layer| {
        matches!(
            layer.source,
            LayerSource::User { .. } | LayerSource::SessionFlags
        )
    });
    for layer in layers {
        let Some(skills) = layer.table.get("skills").and_then(Value::as_table) else {
            continue;
        };
        // A layer that cannot be decoded is reported elsewhere.
        let Ok(skills) = decode::<SkillsFile>(skills) else {
            continue;
        };
        for rule in skills.config {
            rules.retain(|earlier| (&earlier.path, &earlier.name) != (&rule.path, &rule.name));
            rules.push(rule);
        }
    }
    rules
}

impl McpSettings {
    /// Adds a server of the plugin `id`, which is called `plugin`, unless there is one with this name already.
    pub fn add_of_plugin(
        &mut self,
        id: &str,
        plugin: &str,
        name: &str,
        mut server: McpServer,
        requirements: &Requirements,
    ) {
        if let Some(plugins) = self.plugins.get_mut(name) {
            plugins.push(plugin.to_owned());
        }
        if self.servers.contains_key(name) {
            return;
        }
        if let Err(source) = requirements.check_mcp_server(name, &server) {
            server.enabled = false;
            self.disallowed.insert(name.to_owned(), source);
        }
        self.servers.insert(name.to_owned(), server);
        self.plugin_ids.insert(name.to_owned(), id.to_owned());
        self.plugins
            .insert(name.to_owned(), vec![plugin.to_owned()]);
    }
}

pub(super) fn mcp_settings(file: &ConfigFile, requirements: &Requirements) -> McpSettings {
    let mut servers = file.mcp_servers.clone();
    let mut disallowed = BTreeMap::new();
    for (name, server) in &mut servers {
        if let Err(source) = requirements.check_mcp_server(name, server) {
            server.enabled = false;
            disallowed.insert(name.clone(), source);
        }
    }
    McpSettings {
        servers,
        disallowed,
        plugins: BTreeMap::new(),
        plugin_ids: BTreeMap::new(),
        credentials_store: file.mcp_oauth_credentials_store.unwrap_or_default(),
        oauth_callback_port: file.mcp_oauth_callback_port,
        oauth_callback_url: file.mcp_oauth_callback_url.clone(),
    }
}
