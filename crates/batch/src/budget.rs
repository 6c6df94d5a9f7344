//! What all rows of a batch together may use.

use serde::{Deserialize, Serialize};

use crate::folder::RowUsage;
use crate::tasks::RowLimits;

/// What all rows may use. An absent member limits nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunBudget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
}

impl RunBudget {
    /// Whether nothing is left.
    #[must_use]
    pub fn is_used(&self, used: &RowUsage) -> bool {
        let has_no_tokens = self.max_tokens.is_some_and(|most| used.tokens() >= most);
        let has_no_money = (self.max_cost).is_some_and(|most| used.cost.unwrap_or(0.0) >= most);
        has_no_tokens || has_no_money
    }

    /// The limits of a row that begins when this much is used: it may not use more than is left.
    pub(crate) fn limits_of_row(&self, limits: RowLimits, used: &RowUsage) -> RowLimits {
        let tokens = self
            .max_tokens
            .map(|most| most.saturating_sub(used.tokens()));
        let cost = self
            .max_cost
            .map(|most| (most - used.cost.unwrap_or(0.0)).max(0.0));
        RowLimits {
            max_tokens: [limits.max_tokens, tokens].into_iter().flatten().min(),
            max_cost: [limits.max_cost, cost]
                .into_iter()
                .flatten()
                .min_by(f64::total_cmp),
            ..limits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_budget_is_the_rest_of_the_run() {
        let budget = RunBudget {
            max_tokens: Some(100),
            max_cost: None,
        };
        let used = RowUsage {
            input_tokens: 60,
            output_tokens: 15,
            ..RowUsage::default()
        };
        let own = RowLimits {
            max_tokens: Some(40),
            max_seconds: Some(3),
            ..RowLimits::default()
        };
        let limits = budget.limits_of_row(own, &used);
        assert_eq!(limits.max_tokens, Some(25));
        assert_eq!(limits.max_seconds, Some(3));
        assert!(!budget.is_used(&used));
        let all = RowUsage {
            input_tokens: 100,
            ..used
        };
        assert!(budget.is_used(&all));
        assert_eq!(budget.limits_of_row(own, &all).max_tokens, Some(0));
    }
}
