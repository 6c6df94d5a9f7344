//! Sharing plugins.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::PluginSummary;

/// Params of `plugin/share/checkout`: copies a shared plugin to this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareCheckoutParams {
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: String,
}

/// Reply to `plugin/share/checkout`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareCheckoutResponse {
    /// Marketplace that it concerns.
    pub marketplace_name: String,
    /// Path of the marketplace file.
    pub marketplace_path: String,
    /// Id of the plugin, as `name@marketplace`.
    pub plugin_id: String,
    /// Name of the plugin.
    pub plugin_name: String,
    /// Folder of the plugin.
    pub plugin_path: String,
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: String,
    /// Version in the remote catalog; null if unknown.
    pub remote_version: Option<String>,
}

/// Params of `plugin/share/delete`: ends the sharing of a plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareDeleteParams {
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: String,
}

/// Reply to `plugin/share/delete`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginShareDeleteResponse {}

/// Params of `plugin/share/list`: lists the plugins that are shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct PluginShareListParams {}

/// Reply to `plugin/share/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareListResponse {
    /// Entries of the page, in order.
    pub data: Vec<PluginShareListItem>,
}

/// Params of `plugin/share/save`: shares a plugin.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareSaveParams {
    /// Who can find the shared plugin.
    pub discoverability: Option<PluginShareDiscoverability>,
    /// Folder of the plugin.
    pub plugin_path: String,
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: Option<String>,
    /// Whom the plugin is shared with; null for nobody.
    pub share_targets: Option<Vec<PluginShareTarget>>,
}

/// Reply to `plugin/share/save`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginShareSaveResponse {
    /// Whether it may be offered to the workspace.
    #[since("0.169")]
    pub can_publish_to_workspace: Option<bool>,
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: String,
    /// Address of the shared plugin.
    pub share_url: String,
}

/// Params of `plugin/share/updateTargets`: changes whom a plugin is shared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareUpdateTargetsParams {
    /// Who can find the shared plugin.
    pub discoverability: PluginShareUpdateDiscoverability,
    /// Id of the plugin in the remote catalog.
    pub remote_plugin_id: String,
    /// Whom the plugin is shared with; null for nobody.
    pub share_targets: Vec<PluginShareTarget>,
}

/// Reply to `plugin/share/updateTargets`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareUpdateTargetsResponse {
    /// Who can find the shared plugin.
    pub discoverability: PluginShareDiscoverability,
    /// People and groups it is shared with.
    pub principals: Vec<PluginSharePrincipal>,
}

/// A plugin that is shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareListItem {
    /// Folder of the plugin on this machine; null if there is none.
    pub local_plugin_path: Option<String>,
    /// The plugin.
    pub plugin: PluginSummary,
}

/// Somebody to share a plugin with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginShareTarget {
    /// Id of a person or group.
    pub principal_id: String,
    /// Whether it is a person or a group.
    pub principal_type: PluginSharePrincipalType,
    /// Who speaks, or with which role.
    pub role: PluginShareTargetRole,
}

/// What they may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginShareTargetRole {
    /// Editor.
    Editor,
    /// Reader.
    Reader,
}

/// Whether it is a person or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginSharePrincipalType {
    /// Group.
    Group,
    /// User.
    User,
    /// Workspace.
    Workspace,
}

/// Who can find a shared plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PluginShareDiscoverability {
    /// Listed.
    #[serde(rename = "LISTED")]
    Listed,
    /// Private.
    #[serde(rename = "PRIVATE")]
    Private,
    /// Unlisted.
    #[serde(rename = "UNLISTED")]
    Unlisted,
}

/// Somebody a plugin is shared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginSharePrincipal {
    /// Name for people.
    pub name: String,
    /// Id of a person or group.
    pub principal_id: String,
    /// Whether it is a person or a group.
    pub principal_type: PluginSharePrincipalType,
    /// Who speaks, or with which role.
    pub role: PluginSharePrincipalRole,
}

/// What they may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PluginSharePrincipalRole {
    /// Editor.
    Editor,
    /// Owner.
    Owner,
    /// Reader.
    Reader,
}

/// Who can find a shared plugin from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[schemars(transform = mark_members::<Self>)]
pub enum PluginShareUpdateDiscoverability {
    /// Listed.
    #[serde(rename = "LISTED")]
    #[since("0.169")]
    Listed,
    /// Private.
    #[serde(rename = "PRIVATE")]
    Private,
    /// Unlisted.
    #[serde(rename = "UNLISTED")]
    Unlisted,
}
