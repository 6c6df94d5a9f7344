//! Limits on what a turn, a thread or a tree of agents may use, and what was used.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ids::ThreadId;
use crate::tokens::TokenUsage;

/// An amount of money in billionths of a US dollar. Stored and sent as a number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(pub u64);

const PER_DOLLAR: f64 = 1e9;

impl Cost {
    /// An amount in dollars. None if it is negative or not a number.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the range"
    )]
    pub fn of_dollars(dollars: f64) -> Option<Self> {
        (dollars >= 0.0).then(|| Self((dollars * PER_DOLLAR).round() as u64))
    }

    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "precise enough")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / PER_DOLLAR
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::of_dollars(dollars).ok_or_else(|| de::Error::custom("must not be negative"))
    }
}

/// Limits. Absent members limit nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UsageLimits {
    /// Tokens that are sent to the model and received from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Requests to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// Seconds in which turns run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<u64>,
    /// US dollars, by the prices that the catalogue has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub max_cost: Option<Cost>,
}

impl UsageLimits {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, and those of `other` where these have none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_requests: self.max_requests.or(other.max_requests),
            max_seconds: self.max_seconds.or(other.max_seconds),
            max_cost: self.max_cost.or(other.max_cost),
        }
    }
}

/// The limits of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadLimits {
    /// Of each of its turns, with the agents that work for the turn.
    #[serde(skip_serializing_if = "UsageLimits::is_empty")]
    pub turn: UsageLimits,
    /// Of all of its turns, without its agents.
    #[serde(skip_serializing_if = "UsageLimits::is_empty")]
    pub thread: UsageLimits,
    /// Of the thread and all of its agents.
    #[serde(skip_serializing_if = "UsageLimits::is_empty")]
    pub tree: UsageLimits,
}

impl ThreadLimits {
    /// These limits, and those of `other` where these have none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            turn: self.turn.or(other.turn),
            thread: self.thread.or(other.thread),
            tree: self.tree.or(other.tree),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a limit is a limit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitScope {
    /// A turn with the agents that work for it.
    Turn,
    /// The turns of a thread.
    Thread,
    /// A thread and all of its agents.
    Tree,
}

/// A kind of limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    MaxTokens,
    MaxRequests,
    MaxSeconds,
    MaxCost,
}

/// The limit that ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExceededLimit {
    pub scope: LimitScope,
    pub limit: LimitKind,
}

/// What a turn has used, with the agents that worked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    /// Requests to the model.
    pub requests: u64,
    pub tokens: TokenUsage,
    /// Absent if the price of a model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The part of each agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentUsage>,
    /// The tools that were called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUsage>,
}

/// What an agent has used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUsage {
    pub thread_id: ThreadId,
    /// Requests to the model.
    pub requests: u64,
    pub tokens: TokenUsage,
    /// Absent if the price of a model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What the calls of a tool have used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsage {
    /// The name of the tool.
    pub tool: String,
    pub calls: u64,
    /// Calls that failed or were stopped.
    pub failed: u64,
    pub duration_ms: u64,
    /// The estimated tokens of the outputs.
    pub output_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_as_they_were_written() {
        for dollars in [0.0, 0.000_000_001, 1.25, 1_000_000.0] {
            let cost = Cost::of_dollars(dollars).unwrap();
            let text = serde_json::to_string(&cost).unwrap();
            assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost);
            assert!((cost.dollars() - dollars).abs() < 1e-12);
        }
        assert_eq!(
            serde_json::from_str::<Cost>("2").unwrap(),
            Cost(2_000_000_000)
        );
        assert!(serde_json::from_str::<Cost>("-1").is_err());
        assert!(Cost::of_dollars(f64::NAN).is_none());
    }

    #[test]
    fn missing_limits_come_from_the_others() {
        let own = UsageLimits {
            max_tokens: Some(1),
            ..UsageLimits::default()
        };
        let other = UsageLimits {
            max_tokens: Some(2),
            max_seconds: Some(3),
            ..UsageLimits::default()
        };
        let both = own.or(other);
        assert_eq!(
            (both.max_tokens, both.max_seconds, both.max_cost),
            (Some(1), Some(3), None)
        );
    }
}
