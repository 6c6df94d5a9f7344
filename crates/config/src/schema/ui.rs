//! Settings for terminal clients. They are stored and shown; nothing here uses them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `[tui]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TuiFile {
    /// Which notifications are shown: a boolean, or a list of kinds. Default: true.
    pub notifications: Notifications,
    /// How notifications reach the desktop. Default: `auto`.
    pub notification_method: NotificationMethod,
    /// Whether there are animations. Default: true.
    pub animations: bool,
    /// Whether hints are shown. Default: true.
    pub show_tooltips: bool,
    /// Whether the alternate screen is used. Default: `auto`.
    pub alternate_screen: AlternateScreen,
    /// The parts of the status line.
    pub status_line: Option<Vec<String>>,
    /// The parts of the title.
    pub terminal_title: Option<Vec<String>>,
    /// The colours.
    pub theme: Option<String>,
    /// How often notices about models were shown.
    pub model_availability_nux: BTreeMap<String, u32>,
}

impl Default for TuiFile {
    fn default() -> Self {
        Self {
            notifications: Notifications::Enabled(true),
            notification_method: NotificationMethod::Auto,
            animations: true,
            show_tooltips: true,
            alternate_screen: AlternateScreen::Auto,
            status_line: None,
            terminal_title: None,
            theme: None,
            model_availability_nux: BTreeMap::new(),
        }
    }
}

/// Which desktop notifications are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notifications {
    Enabled(bool),
    Only(Vec<String>),
}

/// How notifications reach the desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotificationMethod {
    Auto,
    Osc9,
    Bel,
}

/// Whether the alternate screen of the terminal is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlternateScreen {
    Auto,
    Always,
    Never,
}

/// `[notice]`: notices that the user has dismissed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NoticeFile {
    /// Whether this notice was closed.
    pub hide_full_access_warning: Option<bool>,
    /// Whether this notice was closed.
    pub hide_world_writable_warning: Option<bool>,
    /// Whether this notice was closed.
    pub hide_rate_limit_model_nudge: Option<bool>,
    /// Whether this notice was closed.
    pub hide_gpt5_1_migration_prompt: Option<bool>,
    /// Whether this notice was closed.
    #[serde(rename = "hide_gpt-5.1-codex-max_migration_prompt")]
    pub hide_gpt_5_1_codex_max_migration_prompt: Option<bool>,
    /// Models that a person was moved from, and to which.
    pub model_migrations: BTreeMap<String, String>,
}

/// The program that opens files named in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileOpener {
    #[serde(rename = "vscode")]
    VsCode,
    #[serde(rename = "vscode-insiders")]
    VsCodeInsiders,
    Windsurf,
    Cursor,
    None,
}

impl JsonSchema for Notifications {
    fn schema_name() -> Cow<'static, str> {
        "Notifications".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "boolean" },
            { "type": "array", "items": { "type": "string" } },
        ] })
    }
}

impl Serialize for Notifications {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Enabled(enabled) => serializer.serialize_bool(*enabled),
            Self::Only(kinds) => kinds.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Notifications {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NotificationsVisitor)
    }
}

struct NotificationsVisitor;

impl<'de> Visitor<'de> for NotificationsVisitor {
    type Value = Notifications;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean or a list of kinds of notifications")
    }

    fn visit_bool<E>(self, enabled: bool) -> Result<Notifications, E> {
        Ok(Notifications::Enabled(enabled))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Notifications, A::Error> {
        let mut kinds = Vec::new();
        while let Some(kind) = seq.next_element()? {
            kinds.push(kind);
        }
        Ok(Notifications::Only(kinds))
    }
}
