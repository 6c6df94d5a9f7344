//! What a response brings, event by event, whatever the protocol.

use codex_protocol::RateLimitSnapshot;
use codex_protocol::ResponseItem;
use codex_protocol::TokenUsage;

/// A step of a response. Header facts come first, [`ModelEvent::Completed`] comes last.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The server names the model that answers.
    ServerModel(String),
    /// Where the account stands with a family of limits.
    RateLimits(RateLimitSnapshot),
    /// The version of the server's list of models.
    ModelsEtag(String),
    /// The server counts past reasoning itself: it need not be estimated.
    ReasoningIncluded,
    /// The server has begun to answer.
    Created,
    /// An item begins.
    ItemAdded(ResponseItem),
    /// An item is complete.
    ItemDone(ResponseItem),
    /// The text of the current message goes on.
    TextDelta(String),
    /// The summary of the reasoning goes on with a new part.
    ReasoningSummaryPart {
        /// Which part.
        summary_index: i64,
    },
    /// A part of the summary goes on.
    ReasoningSummaryDelta {
        /// The text.
        delta: String,
        /// Which part.
        summary_index: i64,
    },
    /// The reasoning itself goes on.
    ReasoningDelta {
        /// The text.
        delta: String,
        /// Which part of the reasoning.
        content_index: i64,
    },
    /// The response is complete.
    Completed(Completion),
}

/// The end of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The server's id of the response.
    pub response_id: String,
    /// What it cost, if the server tells.
    pub usage: Option<TokenUsage>,
    /// Whether the model means to end its turn, if the server tells.
    pub end_turn: Option<bool>,
}
