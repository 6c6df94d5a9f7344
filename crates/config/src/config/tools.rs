//! Settings of built-in tools, skills, plugins, apps and MCP servers.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::path::PathBuf;

use toml::Value;

use crate::decode::decode;
use crate::environment::Environment;
use crate::requirements::{RequirementSource, Requirements};
use crate::schema::{
    AppsFile, ConfigFile, Discoverable, McpCredentialsStore, McpServer, SkillRule, SkillsFile,
};
use crate::source::LayerSource;
use crate::stack::LayerStack;

/// Settings of built-in tools, skills, plugins and apps.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSettings {
    /// Whether bundled skills are available.
    pub bundled_skills: bool,
    /// Rules for individual skills, in the order in which they apply.
    pub skill_rules: Vec<SkillRule>,
    /// Whether each plugin is enabled, by id.
    pub plugins: BTreeMap<String, bool>,
    /// Settings of apps, with requirements applied.
    pub apps: AppsFile,
    /// What may be suggested for installation.
    pub discoverables: Vec<Discoverable>,
    /// The Node.js program of the JavaScript session.
    pub js_repl_node_path: Option<PathBuf>,
    /// Where the JavaScript session finds modules.
    pub js_repl_node_module_dirs: Vec<PathBuf>,
}

/// Settings of MCP servers.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSettings {
    /// The servers. Those that requirements do not allow are disabled.
    pub servers: BTreeMap<String, McpServer>,
    /// The servers that requirements do not allow, and the source of the requirement.
    pub disallowed: BTreeMap<String, RequirementSource>,
    /// Where the logins of MCP servers are stored.
    pub credentials_store: McpCredentialsStore,
    /// The port of the login callback.
    pub oauth_callback_port: Option<NonZeroU16>,
    /// The address of the login callback.
    pub oauth_callback_url: Option<String>,
}

impl ToolSettings {
    pub(super) fn resolve(stack: &LayerStack, file: &ConfigFile, env: &Environment) -> Self {
        let bundled = file.skills.as_ref().and_then(|skills| skills.bundled);
        let plugins = file.plugins.iter();
        let suggest = file.tool_suggest.clone().unwrap_or_default();
        let node_from_variable = env.variables.js_repl_node_path.as_deref();
        Self {
            bundled_skills: bundled.unwrap_or_default().enabled,
            skill_rules: skill_rules(stack),
            plugins: plugins
                .map(|(id, plugin)| (id.clone(), plugin.enabled))
                .collect(),
            apps: apps(file, stack.requirements()),
            discoverables: suggest.discoverables,
            js_repl_node_path: file
                .js_repl_node_path
                .clone()
                .or_else(|| node_from_variable.map(PathBuf::from)),
            js_repl_node_module_dirs: file.js_repl_node_module_dirs.clone().unwrap_or_default(),
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

fn apps(file: &ConfigFile, requirements: &Requirements) -> AppsFile {
    let mut apps = file.apps.clone().unwrap_or_default();
    for id in requirements.disabled_apps.keys() {
        apps.apps.entry(id.clone()).or_default().enabled = false;
    }
    apps
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
        credentials_store: file.mcp_oauth_credentials_store.unwrap_or_default(),
        oauth_callback_port: file.mcp_oauth_callback_port,
        oauth_callback_url: file.mcp_oauth_callback_url.clone(),
    }
}
