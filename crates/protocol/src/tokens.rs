//! Counting tokens, and the limits on using the model.

use serde::{Deserialize, Serialize};

use crate::account::PlanType;

/// A number of used tokens by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens sent.
    pub input_tokens: i64,
    /// Those of them that the server had cached.
    pub cached_input_tokens: i64,
    /// Those of them that the server put into its cache; older files do not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_input_tokens: i64,
    /// Tokens received.
    pub output_tokens: i64,
    /// Those of them that were reasoning.
    pub reasoning_output_tokens: i64,
    /// Tokens sent and received.
    pub total_tokens: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &i64) -> bool {
    *count == 0
}

impl TokenUsage {
    /// Adds what another request used.
    pub fn add(&mut self, other: &Self) {
        let sum = i64::saturating_add;
        self.input_tokens = sum(self.input_tokens, other.input_tokens);
        self.cached_input_tokens = sum(self.cached_input_tokens, other.cached_input_tokens);
        self.cache_write_input_tokens = sum(
            self.cache_write_input_tokens,
            other.cache_write_input_tokens,
        );
        self.output_tokens = sum(self.output_tokens, other.output_tokens);
        self.reasoning_output_tokens =
            sum(self.reasoning_output_tokens, other.reasoning_output_tokens);
        self.total_tokens = sum(self.total_tokens, other.total_tokens);
    }
}

/// The token usage of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsageInfo {
    /// All requests together.
    pub total_token_usage: TokenUsage,
    /// The last request.
    pub last_token_usage: TokenUsage,
    /// How many tokens the model can take in, as far as it is used; null if not known.
    pub model_context_window: Option<i64>,
}

/// The rate limits of an account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RateLimitSnapshot {
    /// Which family of limits it is.
    pub limit_id: Option<String>,
    /// The name of the family for display.
    pub limit_name: Option<String>,
    /// The shorter window.
    pub primary: Option<RateLimitWindow>,
    /// The longer window.
    pub secondary: Option<RateLimitWindow>,
    /// Credits bought on top.
    pub credits: Option<CreditsSnapshot>,
    /// The plan of the account.
    pub plan_type: Option<PlanType>,
}

/// A limit on the use in a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateLimitWindow {
    /// How much of it is used, in percent.
    pub used_percent: f64,
    /// How long the window is, in minutes.
    pub window_minutes: Option<i64>,
    /// When it starts anew, in Unix seconds.
    pub resets_at: Option<i64>,
}

/// Credits of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditsSnapshot {
    /// Whether there are any.
    pub has_credits: bool,
    /// Whether they have no end.
    pub unlimited: bool,
    /// How many are left, as the server words it.
    pub balance: Option<String>,
}
