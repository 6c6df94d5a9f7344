//! The inputs of a session as an observer sees them: what a recorded session needs to run again.

use std::collections::BTreeMap;

use codex_protocol::{
    FunctionCallOutputBody, ResponseItem, ServiceTier, Submission, ThreadPin, ThreadSettingsPatch,
    UsageLimits, UserInput,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An input of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionInput {
    /// An operation, for example an interrupt or the answer to an approval.
    Submission(Box<Submission>),
    /// A turn starts, or the running one gets more input.
    Turn(Box<ObservedTurn>),
    /// The running turn gets more input.
    Steer(ObservedTurnInput),
    /// Settings change from the next turn on.
    Settings(Box<ThreadSettingsPatch>),
    /// Items for the model, without a turn.
    Context(Vec<ResponseItem>),
    /// All texts that are pinned, after a change.
    Pins(Vec<ThreadPin>),
    /// A turn that a process left unfinished is continued.
    Continue {
        /// The id.
        turn: String,
        /// The settings that change.
        settings: Box<ThreadSettingsPatch>,
    },
}

/// A turn that starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedTurn {
    /// The id.
    pub id: String,
    /// The settings that change.
    pub settings: ThreadSettingsPatch,
    /// Items for the model before the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ResponseItem>,
    /// The input of the user.
    pub input: ObservedTurnInput,
    /// The JSON Schema that the answer should follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The class of service of this turn alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<ServiceTier>,
    /// The limits of this turn alone.
    #[serde(default, skip_serializing_if = "UsageLimits::is_empty")]
    pub limits: UsageLimits,
    /// The turn of the root thread that the turn belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_turn_id: Option<String>,
    /// Values of the client for the model's provider.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Whether the model is asked as things stand if there is no input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
}

/// The input of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedTurnInput {
    /// The parts of the user's message.
    pub items: Vec<UserInput>,
    /// The client's id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The output of a tool of the client, in place of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_output: Option<ObservedToolOutput>,
    /// Items that only the model sees, before the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<ResponseItem>,
}

/// The output of a tool of the client that the model did not call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObservedToolOutput {
    /// The name of the tool.
    pub name: String,
    /// The namespace of the tool.
    pub namespace: Option<String>,
    /// The output.
    pub output: FunctionCallOutputBody,
}
