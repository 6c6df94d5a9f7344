//! Apps that are installed, and apps by their ids.

use codex_app_server_protocol_macros::{Experimental, sparse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `app/installed`: lists the apps that are installed.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct AppsInstalledParams {
    /// Thread that it concerns.
    pub thread_id: Option<String>,
    /// Whether to ask again instead of using what is known.
    #[serde(default)]
    pub force_refresh: bool,
}

/// Reply to `app/installed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppsInstalledResponse {
    /// The apps.
    pub apps: Vec<InstalledApp>,
}

/// Params of `app/read`: describes apps by their ids.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct AppsReadParams {
    /// Thread that it concerns.
    pub thread_id: Option<String>,
    /// Apps that are meant.
    pub app_ids: Vec<String>,
    /// Whether to return the tools too.
    #[serde(default)]
    pub include_tools: bool,
}

/// Reply to `app/read`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppsReadResponse {
    /// The apps.
    pub apps: Vec<ConnectorMetadata>,
    /// Ids of which no app is known.
    pub missing_app_ids: Vec<String>,
}

/// An app that is installed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstalledApp {
    /// Id of it.
    pub id: String,
    /// Whether its tools can be called now.
    pub callable: bool,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Name that its tools carry; null if there is none.
    pub runtime_name: Option<String>,
}

/// What is known of an app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectorMetadata {
    /// Id of it.
    pub id: String,
    /// Description for people.
    pub description: Option<String>,
    /// Channel that the app comes from; null if unknown.
    pub distribution_channel: Option<String>,
    /// Address of the icon; null if there is none.
    pub icon_url: Option<String>,
    /// Address of the icon for dark surroundings; null if there is none.
    pub icon_url_dark: Option<String>,
    /// Address where it can be installed; null if there is none.
    pub install_url: Option<String>,
    /// Name for people.
    pub name: String,
    /// Plugins that bring it along.
    #[serde(default)]
    pub plugin_display_names: Vec<String>,
    /// Its tools; null if they were not asked for.
    pub tool_summaries: Option<Vec<AppToolSummary>>,
}

/// A tool of an app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppToolSummary {
    /// Description for people.
    pub description: String,
    /// Why it is switched off; null if it is not.
    pub disabled_reason: Option<String>,
    /// Whether it is switched on.
    #[serde(default)]
    pub is_enabled: bool,
    /// Whether it only reads.
    #[serde(default)]
    pub is_read_only: bool,
    /// Name for people.
    pub name: String,
    /// Title for people.
    pub title: Option<String>,
}
