//! Whether the account has enough of its limits left for making memories, which should not use up what people work with.

use codex_login::RateLimits;

use crate::run::MemoryRun;

impl MemoryRun {
    /// Whether too little of a limit is left. Limits that are not known forbid nothing.
    pub(crate) async fn is_short_of_limits(&self) -> bool {
        let least = self.settings.min_rate_limit_remaining_percent;
        let Some(accounts) = self.accounts.as_ref().filter(|_| least > 0) else {
            return false;
        };
        match accounts.rate_limits().await {
            Ok(limits) => is_short(&limits, f64::from(least)),
            Err(error) => {
                tracing::debug!(%error, "the limits of the account are not known");
                false
            }
        }
    }
}

/// Whether less than so many percent of a general limit are left.
fn is_short(limits: &RateLimits, least: f64) -> bool {
    let general = limits.families.first();
    let windows = general
        .into_iter()
        .flat_map(|family| [&family.primary, &family.secondary]);
    let mut windows = windows.flatten();
    windows.any(|window| 100.0 - window.used_percent < least)
}

#[cfg(test)]
mod tests {
    use codex_protocol::{RateLimitSnapshot, RateLimitWindow};

    use super::*;

    #[test]
    fn each_window_counts() {
        let window = |used_percent| {
            Some(RateLimitWindow {
                used_percent,
                window_minutes: None,
                resets_at: None,
            })
        };
        let limits = |primary, secondary| RateLimits {
            families: vec![RateLimitSnapshot {
                primary,
                secondary,
                ..RateLimitSnapshot::default()
            }],
        };
        assert!(!is_short(&limits(window(75.0), window(10.0)), 25.0));
        assert!(is_short(&limits(window(76.0), None), 25.0));
        assert!(is_short(&limits(None, window(99.0)), 25.0));
        assert!(!is_short(&limits(None, None), 25.0));
    }
}
