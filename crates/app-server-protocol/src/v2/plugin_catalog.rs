//! The remote catalog of plugins.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::PluginSummary;

/// Params of `plugin/reconcile`: compares the installed plugins with the remote catalog.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginReconcileParams {
    /// Why.
    pub reason: Option<String>,
}

/// Reply to `plugin/reconcile`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReconcileResponse {
    /// Plugins that changed.
    pub changed_plugins: Vec<PluginReconcileChangedPlugin>,
    /// Plugins that could not be installed.
    pub failed_materialization_remote_plugin_ids: Vec<String>,
    /// Plugins that could not be looked up.
    pub failed_remote_plugin_ids: Vec<String>,
}

/// Params of `plugin/search`: searches the remote catalog of plugins.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginSearchParams {
    /// `nextCursor` of the page before; absent or null for the first page.
    pub cursor: Option<String>,
    /// Working directories to look from; absent or null takes the server's.
    pub cwds: Option<Vec<String>>,
    /// Most entries of the page; absent or null takes the default.
    pub limit: Option<u32>,
    /// Where to look.
    pub scope: Option<PluginSearchScope>,
    /// Text to look for; must not be empty.
    pub search_term: String,
}

/// Reply to `plugin/search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSearchResponse {
    /// Entries of the page, in order.
    pub data: Vec<PluginSearchResult>,
    /// Where the next page begins; null on the last page.
    pub next_cursor: Option<String>,
}

/// Params of `plugin/skill/read`: reads a skill of a remote plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginSkillReadParams {
    /// Remote marketplace that it is in.
    pub remote_marketplace_name: String,
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: String,
    /// Name of the skill.
    pub skill_name: String,
}

/// Reply to `plugin/skill/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSkillReadResponse {
    /// Contents of the resource.
    pub contents: Option<String>,
}

/// A plugin that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReconcileChangedPlugin {
    /// Id of it.
    pub id: String,
    /// Whether it brings apps.
    pub has_apps: bool,
    /// Whether it brings hooks.
    pub has_hooks: bool,
    /// Whether it brings MCP servers.
    pub has_mcps: bool,
    /// Whether it brings skills.
    pub has_skills: bool,
}

/// A plugin that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSearchResult {
    /// Marketplace that it concerns.
    pub marketplace_name: String,
    /// Path of the marketplace file.
    pub marketplace_path: Option<String>,
    /// The plugin.
    pub plugin: PluginSummary,
}

/// Where to look for plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginSearchScope {
    /// Global.
    Global,
    /// Personal.
    Personal,
    /// Workspace.
    Workspace,
}
