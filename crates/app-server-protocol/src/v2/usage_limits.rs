//! Limits on what a turn, a thread or a tree of agents may use, and what was used.

use codex_app_server_protocol_macros::sparse;
use codex_protocol::LimitScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::v2::TokenUsageBreakdown;

/// Limits; an absent or null member limits nothing.
#[sparse]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageLimits {
    /// Most tokens that are sent to the model and received from it, cached ones included.
    pub max_tokens: Option<u64>,
    /// Most requests to the model.
    pub max_requests: Option<u64>,
    /// Most seconds in which turns run; what runs then is stopped.
    pub max_seconds: Option<u64>,
    /// Highest cost in US dollars, by the prices in the model catalogue.
    pub max_cost: Option<f64>,
}

/// Limits of a thread; an absent or null member limits nothing.
#[sparse]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLimits {
    /// Most tokens that are sent to the model and received from it, cached ones included.
    pub max_tokens: Option<u64>,
    /// Most requests to the model.
    pub max_requests: Option<u64>,
    /// Most seconds in which turns run; what runs then is stopped.
    pub max_seconds: Option<u64>,
    /// Highest cost in US dollars, by the prices in the model catalogue.
    pub max_cost: Option<f64>,
    /// Limits of each turn, with the agents that work for it.
    pub turn: Option<UsageLimits>,
    /// Limits of the thread and all of its agents together.
    pub tree: Option<UsageLimits>,
}

/// Kind of a limit, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitKind {
    /// Of tokens.
    MaxTokens,
    /// Of requests.
    MaxRequests,
    /// Of time.
    MaxSeconds,
    /// Of money.
    MaxCost,
}

/// Limit that ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceededLimit {
    /// What it is a limit of.
    pub scope: LimitScope,
    /// Its kind.
    pub limit: LimitKind,
}

/// What a turn has used, with the agents that worked for it.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnUsage {
    /// Requests to the model.
    pub requests: u64,
    /// Tokens of all requests.
    pub tokens: TokenUsageBreakdown,
    /// Cost in US dollars; absent if the price of a model is not known.
    pub cost: Option<f64>,
    /// Part of each agent.
    pub agents: Vec<AgentUsage>,
    /// Tools that were called.
    pub tools: Vec<ToolUsage>,
}

/// What an agent has used for a turn.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentUsage {
    /// Thread of the agent.
    pub thread_id: String,
    /// Requests to the model.
    pub requests: u64,
    /// Tokens of all requests.
    pub tokens: TokenUsageBreakdown,
    /// Cost in US dollars; absent if the price of a model is not known.
    pub cost: Option<f64>,
}

/// What the calls of a tool have used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolUsage {
    /// Name of the tool.
    pub tool: String,
    /// Number of calls.
    pub calls: u64,
    /// Calls that failed or were stopped.
    pub failed: u64,
    /// How long they took, waiting included.
    pub duration_ms: u64,
    /// Tokens of the outputs, as estimated.
    pub output_tokens: u64,
}
