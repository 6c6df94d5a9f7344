//! The events of a response, independent of the protocol.

use codex_protocol::{AnswerCut, RateLimitSnapshot, ResponseItem, TokenUsage};

/// An event of a response. Facts from headers come first, [`ModelEvent::Completed`] comes last.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The model that answers, as named by the server.
    ServerModel(String),
    /// The state of a family of rate limits.
    RateLimits(RateLimitSnapshot),
    /// The version of the server's list of models.
    ModelsEtag(String),
    /// The server's token count includes earlier reasoning, so it need not be estimated.
    ReasoningIncluded,
    /// The response has started.
    Created,
    /// An item begins.
    ItemAdded(ResponseItem),
    /// An item is complete.
    ItemDone(ResponseItem),
    /// More text of the current message.
    TextDelta(String),
    /// More input of the current custom tool call.
    InputDelta(String),
    /// A new part of the reasoning summary begins.
    ReasoningSummaryPart {
        /// The index of the part.
        summary_index: i64,
    },
    /// More text of a summary part.
    ReasoningSummaryDelta {
        delta: String,
        /// The index of the part.
        summary_index: i64,
    },
    /// More raw reasoning.
    ReasoningDelta {
        delta: String,
        /// The index of the reasoning part.
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
    /// The token usage, if the server reports it.
    pub usage: Option<TokenUsage>,
    /// Whether the model intends to end its turn, if the server reports it.
    pub end_turn: Option<bool>,
    /// Why the answer is not whole, if the server cut it.
    pub cut: Option<AnswerCut>,
}
