//! What a user has to say.

use std::collections::BTreeMap;

use serde::Serialize;

/// What kind of report it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classification {
    /// Something does not work.
    Bug,
    /// The model did badly.
    BadResult,
    /// The model did well.
    GoodResult,
    /// A safety check was wrong.
    SafetyCheck,
    /// Anything else.
    Other,
}

impl Classification {
    /// By its name on the wire.
    #[must_use]
    pub fn of(name: &str) -> Self {
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

/// A report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// In one line.
    pub title: String,
    /// `error` or `info`.
    pub level: &'static str,
    /// The thread that it is about, or an id of its own.
    pub thread_id: String,
    /// As the client called it.
    pub classification: String,
    /// The user's own words.
    pub reason: Option<String>,
    /// What the client wants it to be found by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Version of the program.
    pub cli_version: String,
}

impl Report {
    /// A report about a thread.
    #[must_use]
    pub fn new(classification: &str, thread_id: &str, reason: Option<String>) -> Self {
        let class = Classification::of(classification);
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
