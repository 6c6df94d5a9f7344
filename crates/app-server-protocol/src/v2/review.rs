//! Code reviews: what is to be reviewed, and where the review runs.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::{ReviewTarget, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::Turn;

/// Params of `review/start`: have the reviewer look at code. A turn that runs is replaced.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartParams {
    /// Loaded thread to review for; it sets the directory.
    pub thread_id: String,
    /// What to review.
    pub target: ReviewTarget,
    /// Whether to review in the thread or in a copy; in the thread by default.
    pub delivery: Option<ReviewDelivery>,
}

/// Where a review runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub enum ReviewDelivery {
    /// In the thread itself, as its next turn.
    Inline,
    /// In a new thread that begins with a copy of this one.
    #[until("0.140")]
    Detached,
}

/// Reply to `review/start`, sent at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStartResponse {
    /// The review's turn, with a user message that says what is reviewed.
    pub turn: Turn,
    /// Thread that the review runs in: the given one if inline, else the new one.
    pub review_thread_id: String,
}
