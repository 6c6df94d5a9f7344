//! Notifications about a turn as a whole: begin, end, accumulated diff and plan. All go to the
//! thread's subscribers.

use codex_app_server_protocol_macros::{Experimental, sparse};
use codex_protocol::mark_members;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::{Turn, TurnUsage};

/// Payload of `turn/started`: the turn began to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartedNotification {
    /// Thread that the turn belongs to.
    pub thread_id: String,
    /// The turn, in progress and without items.
    pub turn: Turn,
}

/// Payload of `turn/completed`: the turn is over, however it ended.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = mark_members::<Self>)]
pub struct TurnCompletedNotification {
    /// Thread that the turn belongs to.
    pub thread_id: String,
    /// The turn with its final status and error, but without items.
    pub turn: Turn,
    /// Checkpoint of the files that it has changed; absent if it has changed none.
    #[experimental("turn/completed.checkpointId")]
    #[since("own")]
    pub checkpoint_id: Option<String>,
    /// What it has used; absent if it used nothing.
    #[experimental("turn/completed.usage")]
    #[since("own")]
    pub usage: Option<TurnUsage>,
}

/// Payload of `turn/diff/updated`: what the turn has changed in files so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdatedNotification {
    /// Thread that the turn belongs to.
    pub thread_id: String,
    /// Turn that made the changes.
    pub turn_id: String,
    /// Unified diff over all patches of the turn; replaces the one sent before.
    pub diff: String,
}

/// Payload of `turn/plan/updated`: the agent wrote or revised its list of steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanUpdatedNotification {
    /// Thread that the turn belongs to.
    pub thread_id: String,
    /// Turn that the plan is for.
    pub turn_id: String,
    /// Why the plan looks like this; null if the agent gave no reason.
    pub explanation: Option<String>,
    /// All steps in order; replaces the plan sent before.
    pub plan: Vec<TurnPlanStep>,
}

/// One step of an agent's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnPlanStep {
    /// What is to be done, in a few words.
    pub step: String,
    /// How far the step is.
    pub status: TurnPlanStepStatus,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnPlanStepStatus {
    /// Not begun.
    Pending,
    /// Being worked on; several steps may be at once.
    InProgress,
    /// Done.
    Completed,
}
