//! The content of a report.

use std::collections::BTreeMap;

use serde::Serialize;

/// The kind of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    Bug,
    /// The user is not satisfied with the model's work.
    BadResult,
    /// The user is satisfied with the model's work.
    GoodResult,
    /// A safety check was wrong.
    SafetyCheck,
    Other,
}

impl Classification {
    /// The classification with this name on the wire; `Other` if unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "bug" => Self::Bug,
            "bad_result" => Self::BadResult,
            "good_result" => Self::GoodResult,
            "safety_check" => Self::SafetyCheck,
            _ => Self::Other,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Bug => "Bug",
            Self::BadResult => "Bad result",
            Self::GoodResult => "Good result",
            Self::SafetyCheck => "Safety check",
            Self::Other => "Other",
        }
    }

    fn level(self) -> &'static str {
        match self {
            Self::Bug | Self::BadResult | Self::SafetyCheck => "error",
            Self::GoodResult | Self::Other => "info",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// One line that summarizes the report.
    pub title: String,
    /// `error` or `info`.
    pub level: &'static str,
    /// The thread that the report is about, or a new id.
    pub thread_id: String,
    /// The classification as the client sent it.
    pub classification: String,
    /// The user's text.
    pub reason: Option<String>,
    /// Tags of the client, for searching.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// The version of this program.
    pub cli_version: String,
}

impl Report {
    /// Creates a report about a thread.
    #[must_use]
    pub fn new(classification: &str, thread_id: &str, reason: Option<String>) -> Self {
        let class = Classification::from_name(classification);
        Self {
            title: format!("[{}]: Codex session {thread_id}", class.title()),
            level: class.level(),
            thread_id: thread_id.to_owned(),
            classification: classification.to_owned(),
            reason,
            tags: BTreeMap::new(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
