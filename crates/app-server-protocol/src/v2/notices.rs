//! Notices for the user that are no part of a conversation: errors, deprecated settings, and what
//! is wrong in configuration files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::TurnError;

/// Payload of `error`: something failed during a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorNotification {
    /// What failed, and why.
    pub error: TurnError,
    /// Whether the server tries again by itself; if not, the turn ends with this error.
    pub will_retry: bool,
    /// Thread that it happened in.
    pub thread_id: String,
    /// Turn that it happened in, or the id of the refused operation outside a turn.
    pub turn_id: String,
}

/// Payload of `warning`: something went otherwise than asked, and work goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WarningNotification {
    /// What happened, in a sentence or two.
    pub message: String,
    /// Thread that it happened in; null outside of threads.
    pub thread_id: Option<String>,
}

/// Payload of `deprecationNotice`: the configuration of a thread uses something obsolete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecationNoticeNotification {
    /// What is obsolete, in one sentence.
    pub summary: String,
    /// What to do instead; null without advice.
    pub details: Option<String>,
}

/// Payload of `configWarning`: start-up found a flaw, told to each connection as it initializes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigWarningNotification {
    /// What is wrong, in one sentence.
    pub summary: String,
    /// More about it, such as the parser's message; null without more.
    pub details: Option<String>,
    /// File at fault; absent if it is not one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Place in that file; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<TextRange>,
}

/// A range in a text file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextRange {
    /// First character of the range.
    pub start: TextPosition,
    /// Last character of the range, inclusive.
    pub end: TextPosition,
}

/// A place in a text file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TextPosition {
    /// Line, counted from 1.
    pub line: u64,
    /// Column within the line, counted from 1.
    pub column: u64,
}
