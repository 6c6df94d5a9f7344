//! Settings for terminal clients. They are stored and shown; nothing here uses them.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `[tui]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct TuiFile {
    pub notifications: Notifications,
    pub notification_method: NotificationMethod,
    pub animations: bool,
    pub show_tooltips: bool,
    pub alternate_screen: AlternateScreen,
    pub status_line: Option<Vec<String>>,
    pub terminal_title: Option<Vec<String>>,
    pub theme: Option<String>,
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
#[allow(missing_docs)]
pub enum Notifications {
    Enabled(bool),
    Only(Vec<String>),
}

/// How notifications reach the desktop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum NotificationMethod {
    Auto,
    Osc9,
    Bel,
}

/// Whether the alternate screen of the terminal is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum AlternateScreen {
    Auto,
    Always,
    Never,
}

/// `[notice]`: notices that the user has dismissed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct NoticeFile {
    pub hide_full_access_warning: Option<bool>,
    pub hide_world_writable_warning: Option<bool>,
    pub hide_rate_limit_model_nudge: Option<bool>,
    pub hide_gpt5_1_migration_prompt: Option<bool>,
    #[serde(rename = "hide_gpt-5.1-codex-max_migration_prompt")]
    pub hide_gpt_5_1_codex_max_migration_prompt: Option<bool>,
    pub model_migrations: BTreeMap<String, String>,
}

/// The program that opens files named in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum FileOpener {
    #[serde(rename = "vscode")]
    VsCode,
    #[serde(rename = "vscode-insiders")]
    VsCodeInsiders,
    Windsurf,
    Cursor,
    None,
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
