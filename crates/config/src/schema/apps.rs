//! `[apps]`: which apps and which of their tools are enabled.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defaults for all apps, and settings of single apps by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppsFile {
    /// `[apps._default]`.
    pub default: Option<AppDefaults>,
    /// `[apps.<id>]`.
    pub apps: BTreeMap<String, AppFile>,
}

/// Defaults for apps without an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AppDefaults {
    /// Whether apps are enabled.
    pub enabled: bool,
    /// Whether destructive tools are enabled.
    pub destructive_enabled: bool,
    /// Whether tools with access to the outside world are enabled.
    pub open_world_enabled: bool,
}

impl Default for AppDefaults {
    fn default() -> Self {
        Self {
            enabled: true,
            destructive_enabled: true,
            open_world_enabled: true,
        }
    }
}

/// `[apps.<id>]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AppFile {
    /// Whether the app is enabled.
    pub enabled: bool,
    /// Whether its destructive tools are enabled.
    pub destructive_enabled: Option<bool>,
    /// Whether its tools with access to the outside world are enabled.
    pub open_world_enabled: Option<bool>,
    /// How calls of its tools are approved.
    pub default_tools_approval_mode: Option<ToolApprovalMode>,
    /// Whether its tools are enabled.
    pub default_tools_enabled: Option<bool>,
    /// Settings of single tools, by name or title.
    pub tools: Option<BTreeMap<String, AppToolFile>>,
}

impl Default for AppFile {
    fn default() -> Self {
        Self {
            enabled: true,
            destructive_enabled: None,
            open_world_enabled: None,
            default_tools_approval_mode: None,
            default_tools_enabled: None,
            tools: None,
        }
    }
}

/// `[apps.<id>.tools.<tool>]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AppToolFile {
    /// Whether the tool is enabled.
    pub enabled: Option<bool>,
    /// How calls of it are approved.
    pub approval_mode: Option<ToolApprovalMode>,
}

/// How calls of a tool are approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolApprovalMode {
    /// By the annotations of the tool.
    #[default]
    Auto,
    /// A person approves each call.
    Prompt,
    /// Calls need no approval.
    Approve,
}

impl JsonSchema for AppsFile {
    fn schema_name() -> Cow<'static, str> {
        "AppsFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut defaults = generator.subschema_for::<AppDefaults>();
        defaults.insert("description".to_owned(), "Defaults for all apps.".into());
        json_schema!({
            "type": "object",
            "properties": { "_default": defaults },
            "additionalProperties": generator.subschema_for::<AppFile>(),
        })
    }
}

impl Serialize for AppsFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("_default", &self.default)?;
        for (id, app) in &self.apps {
            map.serialize_entry(id, app)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for AppsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AppsVisitor)
    }
}

struct AppsVisitor;

impl<'de> Visitor<'de> for AppsVisitor {
    type Value = AppsFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of apps")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AppsFile, A::Error> {
        let mut apps = AppsFile::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == "_default" {
                apps.default = Some(map.next_value()?);
            } else {
                apps.apps.insert(key, map.next_value()?);
            }
        }
        Ok(apps)
    }
}
