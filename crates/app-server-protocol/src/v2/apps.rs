//! Apps, also called connectors: services of the ChatGPT directory whose tools the model may use
//! after the user has connected them. Owns the list of them and the part of the configuration that
//! allows or restrains them.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::enabled;

/// Asks for known apps, the connected ones first.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct AppsListParams {
    /// Value of `nextCursor` from the page before; null starts at the first entry.
    pub cursor: Option<String>,
    /// Most entries in the page; null means all, 0 counts as 1.
    pub limit: Option<u32>,
    /// Thread whose feature flags decide whether apps are on; null takes the configuration on disk.
    pub thread_id: Option<String>,
    /// Ask the services again even if cached lists are fresh; they are replaced only on success.
    #[serde(default)]
    pub force_refetch: bool,
}

/// An app as a plugin's details name it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct AppSummary {
    /// Connector id, as in `app://<id>`.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// What the app is for; null when the directory has no text.
    pub description: Option<String>,
    /// Web page where the user connects the app.
    pub install_url: Option<String>,
    /// Whether the user has yet to connect it; `false` also when that cannot be found out.
    #[until("0.117")]
    pub needs_auth: bool,
}

/// Who offers an app and under which terms, as the directory tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppBranding {
    /// Heading the directory puts the app under.
    pub category: Option<String>,
    /// Company or person behind the app.
    pub developer: Option<String>,
    /// Address of the developer's site.
    pub website: Option<String>,
    /// Address of the privacy policy.
    pub privacy_policy: Option<String>,
    /// Address of the terms of use.
    pub terms_of_service: Option<String>,
    /// Whether the directory may show the app to everybody.
    pub is_discoverable_app: bool,
}

/// An app merged from the directory, the connected account and installed plugins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppInfo {
    /// Connector id, as in `app://<id>`; the key the sources are merged by.
    pub id: String,
    /// Name to show; its slug is what `$slug` in a prompt refers to.
    pub name: String,
    /// What the app is for; null when no source has a text.
    pub description: Option<String>,
    /// Image for light backgrounds.
    pub logo_url: Option<String>,
    /// Image for dark backgrounds; null means there is no separate one.
    pub logo_url_dark: Option<String>,
    /// Where the directory says the app comes from; passed on as it is.
    pub distribution_channel: Option<String>,
    /// Details of the developer; null when only the connected account knows the app.
    pub branding: Option<AppBranding>,
    /// Listing details; null when only the connected account knows the app.
    pub app_metadata: Option<AppMetadata>,
    /// Free key and value pairs of the directory.
    pub labels: Option<BTreeMap<String, String>>,
    /// Web page where the user connects or manages the app.
    pub install_url: Option<String>,
    /// Whether the user has connected it, so that its tools can be called.
    #[serde(default)]
    pub is_accessible: bool,
    /// Whether configuration and requirements allow it; true when they do not mention it.
    #[serde(default = "enabled")]
    pub is_enabled: bool,
    /// Names of the installed plugins that bring this app along.
    #[serde(default)]
    pub plugin_display_names: Vec<String>,
}

/// What the directory's listing says beyond the name; null means not told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct AppMetadata {
    /// Outcome of the directory's own check of the app.
    pub review: Option<AppReview>,
    /// Main headings the app is listed under.
    pub categories: Option<Vec<String>>,
    /// Finer headings below those.
    pub sub_categories: Option<Vec<String>>,
    /// Short text meant for search engines.
    pub seo_description: Option<String>,
    /// Pictures of the app at work, in the directory's order.
    pub screenshots: Option<Vec<AppScreenshot>>,
    /// Name of who published this version.
    pub developer: Option<String>,
    /// Version to show to people.
    pub version: Option<String>,
    /// Identifier of that version in the directory.
    pub version_id: Option<String>,
    /// What changed with that version.
    pub version_notes: Option<String>,
    /// Kind of app, for those the service itself makes.
    #[until("0.140")]
    pub first_party_type: Option<String>,
    /// For those, whether the user has to connect them first.
    pub first_party_requires_install: Option<bool>,
    /// Whether to offer the app while typing even though it is not connected.
    pub show_in_composer_when_unlinked: Option<bool>,
}

/// Outcome of the directory's check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppReview {
    /// State in the directory's own wording.
    pub status: String,
}

/// One picture with the request it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppScreenshot {
    /// Address of the image; null when only `fileId` is given.
    pub url: Option<String>,
    /// Id of the image in the service's file store; null when only `url` is given.
    pub file_id: Option<String>,
    /// What a user asked to get what the picture shows.
    pub user_prompt: String,
}

/// One page of apps: connected ones first, then by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppsListResponse {
    /// Empty when apps are off or the login is not a ChatGPT one.
    pub data: Vec<AppInfo>,
    /// Where the next page begins; null at the end.
    pub next_cursor: Option<String>,
}

/// Table `[apps.<id>]` of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppConfig {
    /// Approval of tools without an entry of their own; null means `auto`.
    pub default_tools_approval_mode: Option<AppToolApproval>,
    /// Whether tools without an entry may be used; null lets the two hints below decide.
    pub default_tools_enabled: Option<bool>,
    /// Whether tools marked destructive may be used; null takes `_default`.
    pub destructive_enabled: Option<bool>,
    /// Whether the app may be used at all; requirements can still turn it off.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// Whether tools marked as reaching the open world may be used; null takes `_default`.
    pub open_world_enabled: Option<bool>,
    /// Entries for single tools; null when there are none.
    pub tools: Option<AppToolsConfig>,
}

/// When a person is asked before a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AppToolApproval {
    /// Asked where the tool's own annotations do not rule out harm.
    Auto,
    /// Asked every time; earlier answers are not remembered.
    Prompt,
    /// Not asked, unless the safety monitor objects to a call that may do harm.
    Approve,
}

/// Table `[apps.<id>.tools.<tool>]` of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppToolConfig {
    /// Approval of this tool; null takes the app's default.
    pub approval_mode: Option<AppToolApproval>,
    /// Whether this tool may be used, whatever its hints say; null takes the app's rules.
    pub enabled: Option<bool>,
}

/// The tools of one app that have entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppToolsConfig {
    /// Entries by tool name or title.
    #[serde(flatten)]
    pub tools: BTreeMap<String, AppToolConfig>,
}

/// Table `[apps]` of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppsConfig {
    /// What holds for apps whose own table is silent; null means everything is allowed.
    #[serde(rename = "_default")]
    pub default: Option<AppsDefaultConfig>,
    /// Tables of single apps by connector id.
    #[serde(flatten)]
    pub apps: BTreeMap<String, AppConfig>,
}

/// Table `[apps._default]` of the configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppsDefaultConfig {
    /// Whether apps without a table of their own may be used.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// Whether tools marked destructive may be used.
    #[serde(default = "enabled")]
    pub destructive_enabled: bool,
    /// Whether tools marked as reaching the open world may be used.
    #[serde(default = "enabled")]
    pub open_world_enabled: bool,
}

/// A source of the list has answered, or features changed it; sent to every connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppListUpdatedNotification {
    /// The whole merged list as known now, not a page and not a difference.
    pub data: Vec<AppInfo>,
}
