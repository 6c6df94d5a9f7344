//! Turns that had not ended when their server did: what is known of them, and how they are continued.

use codex_app_server_protocol_macros::Experimental;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::Turn;

/// Which unfinished turn `thread/resume` continues at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ContinueTurn {
    /// One that waits for an answer: its questions are asked again.
    IfWaiting,
    /// Any.
    Always,
}

/// The last turn of a thread, which had not ended when its server did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterruptedTurn {
    /// Id of the turn, for `turn/continue`.
    pub turn_id: String,
    /// Calls that wait for an answer; none of them has begun, and each is asked about again.
    pub waiting: Vec<InterruptedCall>,
    /// Calls that may have begun; none is made again, and the model is told.
    pub interrupted: Vec<InterruptedCall>,
    /// Whether the turn is continued now, because `continueTurn` said so.
    pub is_continued: bool,
}

/// A call of an unfinished turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InterruptedCall {
    /// Id of the call's item.
    pub item_id: String,
    /// Name of the tool.
    pub tool: String,
}

/// Params of `turn/continue`: continue a turn that had not ended when its server did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct TurnContinueParams {
    /// Loaded thread that the turn belongs to.
    pub thread_id: String,
    /// The turn, as `interruptedTurn` of `thread/resume` names it.
    pub turn_id: String,
}

/// Reply to `turn/continue`. The turn starts again with `turn/started`, under its old id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnContinueResponse {
    /// The turn, in progress and without items.
    pub turn: Turn,
}
