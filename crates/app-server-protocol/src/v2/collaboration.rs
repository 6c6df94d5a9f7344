//! The presets of collaboration modes that a client can offer.

use codex_app_server_protocol_macros::Experimental;
use codex_protocol::{ModeKind, ReasoningEffort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Params of `collaborationMode/list`; there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
pub struct CollaborationModeListParams {}

/// Reply to `collaborationMode/list`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollaborationModeListResponse {
    /// Presets, in the order to offer them.
    pub data: Vec<CollaborationModeMask>,
}

/// A preset: what to change in a thread's settings to enter a mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollaborationModeMask {
    /// Name to show to the user.
    pub name: String,
    /// Mode to enter; null keeps the current one.
    pub mode: Option<ModeKind>,
    /// Slug of the model to use; null keeps the current one.
    pub model: Option<String>,
    /// Effort to ask for; null keeps the current one.
    pub reasoning_effort: Option<ReasoningEffort>,
}
