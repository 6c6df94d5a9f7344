//! Converts the rate limits of an account to the wire.

use codex_app_server_protocol::v2;
use codex_protocol as v1;

pub fn wire_limits(limits: &v1::RateLimitSnapshot) -> v2::RateLimitSnapshot {
    v2::RateLimitSnapshot {
        limit_id: limits.limit_id.clone(),
        limit_name: limits.limit_name.clone(),
        primary: limits.primary.as_ref().map(window),
        secondary: limits.secondary.as_ref().map(window),
        credits: limits.credits.as_ref().map(|credits| v2::CreditsSnapshot {
            has_credits: credits.has_credits,
            unlimited: credits.unlimited,
            balance: credits.balance.clone(),
        }),
        plan_type: limits.plan_type,
    }
}

fn window(window: &v1::RateLimitWindow) -> v2::RateLimitWindow {
    v2::RateLimitWindow {
        used_percent: percent(window.used_percent),
        window_duration_mins: window.window_minutes,
        resets_at: window.resets_at,
    }
}

/// The nearest whole percentage. It fits into `i32` for every share.
#[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
fn percent(share: f64) -> i32 {
    share.round().clamp(0.0, 1_000_000.0) as i32
}
