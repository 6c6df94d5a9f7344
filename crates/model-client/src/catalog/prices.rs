//! What the tokens of a model cost.

use codex_protocol::{Cost, TokenUsage};
use serde::{Deserialize, Serialize};

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelPrices {
    /// Tokens sent.
    pub input: f64,
    /// Those of them that the server had cached; if absent, as others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Tokens received, with those of reasoning.
    pub output: f64,
}

const MILLION: f64 = 1e6;

impl ModelPrices {
    /// The cost of these tokens.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "precise enough")]
    pub fn cost(&self, tokens: &TokenUsage) -> Cost {
        let cached = tokens
            .cached_input_tokens
            .clamp(0, tokens.input_tokens.max(0));
        let fresh = tokens.input_tokens.saturating_sub(cached);
        let dollars = fresh as f64 * self.input
            + cached as f64 * self.cached_input.unwrap_or(self.input)
            + tokens.output_tokens as f64 * self.output;
        Cost::of_dollars(dollars / MILLION).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let tokens = TokenUsage {
            input_tokens: 1_000_000,
            cached_input_tokens: 400_000,
            output_tokens: 100_000,
            ..TokenUsage::default()
        };
        let mut prices = ModelPrices {
            input: 2.0,
            cached_input: Some(0.5),
            output: 10.0,
        };
        assert_eq!(prices.cost(&tokens), Cost::of_dollars(2.4).unwrap());
        prices.cached_input = None;
        assert_eq!(prices.cost(&tokens), Cost::of_dollars(3.0).unwrap());
    }
}
