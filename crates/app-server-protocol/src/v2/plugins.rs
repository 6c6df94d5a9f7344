//! Plugins, which bundle skills, apps and MCP servers, and the marketplaces that list them: what
//! there is, the details of one, installing and removing. Turning an installed one on or off is a
//! configuration write.

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::{AbsolutePathBuf, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{AppSummary, HookEventName, SkillSummary};

/// Asks for the marketplaces that can be seen and the plugins in them.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginListParams {
    /// Folders whose own or repository's marketplaces count besides the user's; null means none.
    pub cwds: Option<Vec<AbsolutePathBuf>>,
    /// First make installed plugins match the ChatGPT account; a failure is only reported.
    #[serde(default)]
    #[until("0.117")]
    pub force_remote_sync: bool,
    /// Kinds of marketplaces to list; absent or null takes those on this machine.
    #[since("0.140")]
    pub marketplace_kinds: Option<Vec<PluginListMarketplaceKind>>,
    /// Without effect: the files are read each time.
    #[since("0.169")]
    pub force_refetch: Option<bool>,
}

/// A kind of marketplaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = mark_members::<Self>)]
pub enum PluginListMarketplaceKind {
    /// Files on this machine.
    Local,
    /// The catalog of the service, by subject.
    Vertical,
    /// The catalog of the account's workspace.
    WorkspaceDirectory,
    /// What others share with the account.
    SharedWithMe,
    /// What the account shares with others.
    #[since("0.169")]
    CreatedByMeRemote,
}

/// Asks for the plugins that are installed, by their marketplaces.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct PluginInstalledParams {
    /// Folders whose own or repository's marketplaces count besides the user's; null means none.
    pub cwds: Option<Vec<AbsolutePathBuf>>,
}

/// Reply to `plugin/installed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInstalledResponse {
    /// Marketplaces with the plugins of theirs that are installed.
    pub marketplaces: Vec<PluginMarketplaceEntry>,
    /// Marketplaces that cannot be used.
    pub marketplace_load_errors: Vec<MarketplaceLoadErrorInfo>,
}

/// Asks for the details of one plugin, installed or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[unread("0.140", "remoteMarketplaceName")]
pub struct PluginReadParams {
    /// Path of the marketplace file that lists it.
    pub marketplace_path: AbsolutePathBuf,
    /// Name in that file.
    pub plugin_name: String,
}

/// Copies a plugin into the home folder and turns it on.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
#[unread("0.140", "remoteMarketplaceName")]
#[unread("0.169", "installAttemptId")]
pub struct PluginInstallParams {
    /// Path of the marketplace file that lists it.
    pub marketplace_path: AbsolutePathBuf,
    /// Name in that file.
    pub plugin_name: String,
    /// First turn it on in the ChatGPT account; if that fails, nothing is installed.
    #[serde(default)]
    #[until("0.117")]
    pub force_remote_sync: bool,
}

/// Deletes an installed plugin and its configuration; an unknown one is no error.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginUninstallParams {
    /// Id in the form `<plugin>@<marketplace>`.
    pub plugin_id: String,
    /// First remove it from the ChatGPT account; if that fails, nothing is deleted here.
    #[serde(default)]
    #[until("0.117")]
    pub force_remote_sync: bool,
}

/// How a marketplace wants to be shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceInterface {
    /// Name to show; null means its plain name.
    pub display_name: Option<String>,
}

/// A marketplace that is missing from the list because its file is unusable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MarketplaceLoadErrorInfo {
    /// Path of the file.
    pub marketplace_path: AbsolutePathBuf,
    /// What is wrong with it.
    pub message: String,
}

/// When the user should connect the apps of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PluginAuthPolicy {
    /// Right after installing.
    OnInstall,
    /// When one of them is needed for the first time.
    OnUse,
}

/// Whether the marketplace lets users install a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PluginInstallPolicy {
    /// Listed only; installing is refused.
    NotAvailable,
    /// Users may install it.
    Available,
    /// The marketplace wants everybody to have it; the server does not install it by itself.
    InstalledByDefault,
}

/// How a plugin wants to be shown, from its manifest; null means not told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginInterface {
    /// Name to show; null means its plain name.
    pub display_name: Option<String>,
    /// One line for lists.
    pub short_description: Option<String>,
    /// Text for the details page.
    pub long_description: Option<String>,
    /// Company or person behind the plugin.
    pub developer_name: Option<String>,
    /// Heading to list it under; the marketplace's choice comes before the manifest's.
    pub category: Option<String>,
    /// Short phrases on what it can do.
    pub capabilities: Vec<String>,
    /// Address of the developer's site.
    pub website_url: Option<String>,
    /// Address of the privacy policy.
    pub privacy_policy_url: Option<String>,
    /// Address of the terms of use.
    pub terms_of_service_url: Option<String>,
    /// Up to three requests to start with, each at most 128 characters.
    pub default_prompt: Option<Vec<String>>,
    /// Colour for backgrounds and accents, as the manifest has it.
    pub brand_color: Option<String>,
    /// Path of the small image to show while typing.
    pub composer_icon: Option<AbsolutePathBuf>,
    /// Path of the image for lists and details.
    pub logo: Option<AbsolutePathBuf>,
    /// Path of the image for lists and details on dark backgrounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.169")]
    pub logo_dark: Option<AbsolutePathBuf>,
    /// Paths of pictures of the plugin at work.
    pub screenshots: Vec<AbsolutePathBuf>,
    /// Addresses of pictures; empty for plugins on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub screenshot_urls: Option<Vec<String>>,
}

/// A marketplace with the plugins a user may see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginMarketplaceEntry {
    /// Second half of the ids of its plugins.
    pub name: String,
    /// Path of its file, needed to read or install its plugins.
    pub path: AbsolutePathBuf,
    /// How it wants to be shown; null means by its name.
    pub interface: Option<MarketplaceInterface>,
    /// In the order of its file, without those for other products.
    pub plugins: Vec<PluginSummary>,
}

/// Where a plugin is installed from.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum PluginSource {
    /// A folder on this machine.
    Local {
        /// Path of that folder.
        path: AbsolutePathBuf,
    },
    /// A repository.
    #[since("0.140")]
    Git {
        /// Address of the repository.
        url: String,
        /// Folder in it; null is the whole repository.
        path: Option<String>,
        /// Branch or tag; null is the repository's own choice.
        ref_name: Option<String>,
        /// Commit, which counts in place of the branch or tag.
        sha: Option<String>,
    },
}

/// A plugin as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginSummary {
    /// Id in the form `<plugin>@<marketplace>`; a prompt mentions it as `plugin://<id>`.
    pub id: String,
    /// Name in the marketplace.
    pub name: String,
    /// Where it is installed from.
    pub source: PluginSource,
    /// Whether it is both configured and present in the home folder.
    pub installed: bool,
    /// Whether the configuration turns it on; counts only when it is installed.
    pub enabled: bool,
    /// Whether users may install it.
    pub install_policy: PluginInstallPolicy,
    /// When the user should connect its apps.
    pub auth_policy: PluginAuthPolicy,
    /// How it wants to be shown; null when the manifest says nothing or cannot be read.
    pub interface: Option<PluginInterface>,
    /// Version in its manifest; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub local_version: Option<String>,
    /// Whether an administrator lets users have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub availability: Option<PluginAvailability>,
    /// Words to find it by.
    #[serde(default)]
    #[since("0.140")]
    pub keywords: Vec<String>,
}

/// Whether an administrator lets users have a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PluginAvailability {
    /// Users may have it.
    Available,
    /// They may not.
    DisabledByAdmin,
}

/// What the marketplaces offer; empty while the feature is off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginListResponse {
    /// By path of their files; those without a visible plugin are left out.
    pub marketplaces: Vec<PluginMarketplaceEntry>,
    /// Marketplaces whose files cannot be used.
    #[serde(default)]
    pub marketplace_load_errors: Vec<MarketplaceLoadErrorInfo>,
    /// Why the wanted match with the account failed; the list is then the local state. Else null.
    #[until("0.117")]
    pub remote_sync_error: Option<String>,
    /// Plugins the curated marketplace puts forward; empty when not seen or not reachable.
    #[serde(default)]
    pub featured_plugin_ids: Vec<String>,
}

/// All there is to know about one plugin before it is installed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct PluginDetail {
    /// Name of the marketplace that lists it.
    pub marketplace_name: String,
    /// Path of that marketplace's file.
    pub marketplace_path: AbsolutePathBuf,
    /// The plugin as lists show it.
    pub summary: PluginSummary,
    /// What it is for, from the manifest; null when the manifest has no text.
    pub description: Option<String>,
    /// Skills it brings along.
    pub skills: Vec<SkillSummary>,
    /// Apps it brings along.
    pub apps: Vec<AppSummary>,
    /// Names of the MCP servers it brings along.
    pub mcp_servers: Vec<String>,
    /// Hooks it brings along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub hooks: Option<Vec<PluginHookSummary>>,
    /// Apps that a service makes for an account; always empty for plugins on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[since("0.140")]
    pub app_templates: Option<Vec<serde_json::Value>>,
}

/// A hook as a plugin's details name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginHookSummary {
    /// Key of the hook, as `hooks/list` has it once the plugin is installed.
    pub key: String,
    /// What it reacts to.
    pub event_name: HookEventName,
}

/// Details of the plugin, from the folder it is installed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReadResponse {
    /// The details.
    pub plugin: PluginDetail,
}

/// The plugin is installed and on; its MCP servers start with each thread's next turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginInstallResponse {
    /// When the user should connect its apps.
    pub auth_policy: PluginAuthPolicy,
    /// Its apps that are not connected yet; empty also when that cannot be found out.
    pub apps_needing_auth: Vec<AppSummary>,
}

/// Nothing of the plugin is left; MCP servers of it run on until the next reload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginUninstallResponse {}
