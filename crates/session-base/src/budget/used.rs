//! An amount of use, and comparing it with limits.

use std::time::Duration;

use codex_model_client::ModelPrices;
use codex_protocol::{Cost, LimitKind, TokenUsage, UsageLimits};

/// What was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) requests: u64,
    pub(super) tokens: TokenUsage,
    pub(super) cost: Cost,
    /// Whether the price of a response is not known, so that the cost is too low.
    pub(super) is_unpriced: bool,
    /// How long turns ran.
    pub(super) time: Duration,
}

impl Used {
    /// The use of one response.
    pub(super) fn of_response(tokens: TokenUsage, prices: Option<&ModelPrices>) -> Self {
        Self {
            tokens,
            cost: prices.map_or(Cost::default(), |prices| prices.cost(&tokens)),
            is_unpriced: prices.is_none(),
            ..Self::default()
        }
    }

    pub(super) fn of_request() -> Self {
        Self {
            requests: 1,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.tokens.add(&other.tokens);
        self.cost = self.cost.plus(other.cost);
        self.is_unpriced |= other.is_unpriced;
        self.time = self.time.saturating_add(other.time);
    }

    pub(super) fn known_cost(&self) -> Option<Cost> {
        (!self.is_unpriced).then_some(self.cost)
    }

    /// The limit that leaves nothing, with the limit and the use as text.
    pub(super) fn reached(&self, limits: &UsageLimits) -> Option<(LimitKind, String)> {
        let tokens = u64::try_from(self.tokens.total_tokens).unwrap_or(0);
        let seconds = self.time.as_secs();
        if let Some(max) = limits.max_requests.filter(|max| self.requests >= *max) {
            let text = format!("{max} requests to the model ({} made)", self.requests);
            return Some((LimitKind::MaxRequests, text));
        }
        if let Some(max) = limits.max_tokens.filter(|max| tokens >= *max) {
            return Some((
                LimitKind::MaxTokens,
                format!("{max} tokens ({tokens} used)"),
            ));
        }
        if let Some(max) = limits.max_cost.filter(|max| self.cost >= *max) {
            let (max, cost) = (max.dollars(), self.cost.dollars());
            return Some((LimitKind::MaxCost, format!("${max} (${cost:.4} spent)")));
        }
        let max = limits.max_seconds.filter(|max| seconds >= *max)?;
        Some((LimitKind::MaxSeconds, format!("{max} seconds")))
    }

    /// The time that is left.
    pub(super) fn time_left(&self, limits: &UsageLimits) -> Option<Duration> {
        let max = Duration::from_secs(limits.max_seconds?);
        Some(max.saturating_sub(self.time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used() -> Used {
        Used {
            requests: 2,
            tokens: TokenUsage {
                total_tokens: 100,
                ..TokenUsage::default()
            },
            cost: Cost(5),
            is_unpriced: false,
            time: Duration::from_millis(2_900),
        }
    }

    fn kind(limits: UsageLimits) -> Option<LimitKind> {
        used().reached(&limits).map(|(kind, _)| kind)
    }

    #[test]
    fn a_limit_is_reached_when_nothing_is_left() {
        let none = UsageLimits::default;
        assert_eq!(kind(none()), None);
        let requests = |max| UsageLimits {
            max_requests: Some(max),
            ..none()
        };
        assert_eq!(kind(requests(2)), Some(LimitKind::MaxRequests));
        assert_eq!(kind(requests(3)), None);
        let tokens = |max| UsageLimits {
            max_tokens: Some(max),
            ..none()
        };
        assert_eq!(kind(tokens(100)), Some(LimitKind::MaxTokens));
        assert_eq!(kind(tokens(101)), None);
        let cost = |max| UsageLimits {
            max_cost: Some(Cost(max)),
            ..none()
        };
        assert_eq!(kind(cost(5)), Some(LimitKind::MaxCost));
        assert_eq!(kind(cost(6)), None);
        let seconds = |max| UsageLimits {
            max_seconds: Some(max),
            ..none()
        };
        assert_eq!(kind(seconds(2)), Some(LimitKind::MaxSeconds));
        assert_eq!(kind(seconds(3)), None);
        assert_eq!(
            used().time_left(&seconds(3)),
            Some(Duration::from_millis(100))
        );
        assert_eq!(used().time_left(&seconds(0)), Some(Duration::ZERO));
        assert_eq!(used().time_left(&none()), None);
    }
}
