//! Built-in tools, skills, plugins and suggestions.

use std::fmt;
use std::path::PathBuf;

use codex_protocol::WebSearchToolConfig;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// `[tools]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolsFile {
    /// Filters for web searches. The boolean of older files is accepted and has no effect.
    #[serde(deserialize_with = "web_search")]
    #[schemars(with = "Option<WebSearchForm>")]
    pub web_search: Option<WebSearchToolConfig>,
    /// Accepted, without effect.
    pub view_image: Option<bool>,
}

/// What may be written for `web_search`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum WebSearchForm {
    Options(WebSearchToolConfig),
    Older(bool),
}

fn web_search<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<WebSearchToolConfig>, D::Error> {
    deserializer.deserialize_any(WebSearchVisitor)
}

struct WebSearchVisitor;

impl<'de> Visitor<'de> for WebSearchVisitor {
    type Value = Option<WebSearchToolConfig>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of web search options or a boolean")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        WebSearchToolConfig::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

/// `[skills]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkillsFile {
    /// Bundled skills.
    pub bundled: Option<BundledSkills>,
    /// Rules for single skills. The last matching one applies.
    pub config: Vec<SkillRule>,
}

/// `[skills.bundled]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BundledSkills {
    /// Whether bundled skills are available.
    pub enabled: bool,
}

impl Default for BundledSkills {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// `[[skills.config]]`: enables or disables a skill, by the path of its file or by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRule {
    /// The path of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the skill is enabled.
    pub enabled: bool,
}

/// `[plugins.<id>]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PluginFile {
    /// Whether the plugin is enabled.
    pub enabled: bool,
}

impl Default for PluginFile {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// `[marketplaces.<name>]`: a marketplace of plugins that the user has added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MarketplaceFile {
    /// `local` for a folder, `git` for a copy of a repository.
    pub source_type: String,
    /// The folder or the address.
    pub source: String,
    /// The branch, tag or commit.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The only folders that are copied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse_paths: Option<Vec<String>>,
    /// Whether a copy of a repository is brought up to date by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto_upgrade: bool,
    /// Written by later releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// Written by later releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_revision: Option<String>,
}

/// `[tool_suggest]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolSuggestFile {
    /// What may be suggested for installation.
    pub discoverables: Vec<Discoverable>,
}

/// A connector or plugin that may be suggested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discoverable {
    /// The kind.
    #[serde(rename = "type")]
    pub kind: DiscoverableKind,
    /// Its id.
    pub id: String,
}

/// The kind of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscoverableKind {
    /// A connector of the account.
    Connector,
    /// A plugin.
    Plugin,
}
