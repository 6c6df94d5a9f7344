//! The usage limit of an account, and its text for users.

use std::fmt;

use codex_protocol::{PlanType, RateLimitSnapshot};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use reqwest::header::HeaderMap;
use serde::Deserialize;

use crate::rate_limits;
use crate::rate_limits::text;

/// A usage limit that has been reached.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageLimit {
    /// When the limit is reset, in Unix seconds.
    pub resets_at: Option<i64>,
    /// The rate limits from the same reply.
    pub rate_limits: RateLimitSnapshot,
    message: String,
}

/// The part of an error body about a usage limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UsageLimitBody {
    plan_type: Option<String>,
    resets_at: Option<i64>,
}

/// What the user can do.
enum LimitAdvice {
    OtherModel { limit_name: String },
    Promotion(String),
    Plan(&'static str),
}

impl UsageLimit {
    pub(crate) fn new(body: UsageLimitBody, headers: &HeaderMap, now: &Zoned) -> Self {
        let family = text(headers, "x-codex-active-limit").unwrap_or("codex");
        let rate_limits = rate_limits::snapshot(headers, family);
        let advice = advice(&rate_limits, headers, body.plan_type.as_deref());
        Self {
            resets_at: body.resets_at,
            message: message(&advice, body.resets_at, now),
            rate_limits,
        }
    }
}

impl fmt::Display for UsageLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

fn advice(limits: &RateLimitSnapshot, headers: &HeaderMap, plan: Option<&str>) -> LimitAdvice {
    let other = |name: &&String| !name.eq_ignore_ascii_case("codex");
    if let Some(name) = limits.limit_name.as_ref().filter(other) {
        return LimitAdvice::OtherModel {
            limit_name: name.clone(),
        };
    }
    if let Some(promotion) = text(headers, "x-codex-promo-message") {
        return LimitAdvice::Promotion(promotion.to_owned());
    }
    LimitAdvice::Plan(match plan_type(plan.unwrap_or_default()) {
        PlanType::Free | PlanType::Go => " Upgrade to Plus to go on,",
        PlanType::Plus => " Upgrade to Pro or buy credits to go on,",
        PlanType::Pro => " Buy credits to go on,",
        PlanType::Team | PlanType::Business => " Ask your admin for more,",
        PlanType::Enterprise | PlanType::Edu | PlanType::Unknown => "",
    })
}

fn message(advice: &LimitAdvice, resets_at: Option<i64>, now: &Zoned) -> String {
    let (start, clause_open) = match advice {
        LimitAdvice::OtherModel { limit_name } => {
            let start = format!(
                "You've hit your usage limit for {limit_name}. Switch to another model now,"
            );
            (start, true)
        }
        LimitAdvice::Promotion(text) => (format!("You've hit your usage limit. {text},"), true),
        LimitAdvice::Plan(what) => (
            format!("You've hit your usage limit.{what}"),
            !what.is_empty(),
        ),
    };
    let again = if clause_open {
        "or try again"
    } else {
        "Try again"
    };
    match resets_at.and_then(|at| local_time(at, now)) {
        Some(time) => format!("{start} {again} at {time}."),
        None => format!("{start} {again} later."),
    }
}

/// `3:05 PM` today, `Mar 4th, 2026 3:05 PM` on another day.
fn local_time(unix_seconds: i64, now: &Zoned) -> Option<String> {
    let zone: TimeZone = now.time_zone().clone();
    let time = Timestamp::from_second(unix_seconds).ok()?.to_zoned(zone);
    if time.date() == now.date() {
        return Some(time.strftime("%-I:%M %p").to_string());
    }
    let ordinal = match (time.day() % 10, time.day()) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    let month_and_day = time.strftime("%b %-d");
    Some(format!(
        "{month_and_day}{ordinal}, {}",
        time.strftime("%Y %-I:%M %p")
    ))
}

/// Parses the server's name of a plan.
pub fn plan_type(name: &str) -> PlanType {
    match name.trim().to_ascii_lowercase().as_str() {
        "free" => PlanType::Free,
        "go" => PlanType::Go,
        "plus" => PlanType::Plus,
        "pro" => PlanType::Pro,
        "team" => PlanType::Team,
        "business" => PlanType::Business,
        "enterprise" | "hc" => PlanType::Enterprise,
        "edu" | "education" => PlanType::Edu,
        _ => PlanType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_names_ignore_case() {
        assert_eq!(plan_type("Pro"), PlanType::Pro);
        assert_eq!(plan_type("education"), PlanType::Edu);
        assert_eq!(plan_type("hc"), PlanType::Enterprise);
        assert_eq!(plan_type("k12"), PlanType::Unknown);
    }

    /// Noon of the first of March 2026.
    fn now() -> Zoned {
        "2026-03-01T12:00[UTC]".parse().unwrap()
    }

    fn check(plan: &str, headers: &[(&'static str, &str)], after_hours: Option<i64>, text: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        let body = UsageLimitBody {
            plan_type: Some(plan.to_owned()),
            resets_at: after_hours.map(|hours| now().timestamp().as_second() + hours * 3600),
        };
        assert_eq!(UsageLimit::new(body, &map, &now()).to_string(), text);
    }

    #[test]
    fn the_text_depends_on_the_plan() {
        let hit = "You've hit your usage limit.";
        check(
            "plus",
            &[],
            None,
            &format!("{hit} Upgrade to Pro or buy credits to go on, or try again later."),
        );
        check(
            "free",
            &[],
            Some(3),
            &format!("{hit} Upgrade to Plus to go on, or try again at 3:00 PM."),
        );
        check("HC", &[], Some(1), &format!("{hit} Try again at 1:00 PM."));
        check("new", &[], None, &format!("{hit} Try again later."));
    }

    #[test]
    fn another_day_is_named() {
        let check_day = |hours, day| {
            let text = format!("You've hit your usage limit. Try again at {day}.");
            check("edu", &[], Some(hours), &text);
        };
        check_day(24, "Mar 2nd, 2026 12:00 PM");
        check_day(48, "Mar 3rd, 2026 12:00 PM");
        check_day(72 - 11, "Mar 4th, 2026 1:00 AM");
        check_day(240, "Mar 11th, 2026 12:00 PM");
        check_day(480, "Mar 21st, 2026 12:00 PM");
    }

    #[test]
    fn limit_headers_give_another_limit_or_text() {
        let named = [
            ("x-codex-active-limit", "codex_other"),
            ("x-codex-other-limit-name", "Big Model"),
            ("x-codex-promo-message", "Buy"),
        ];
        let text = "You've hit your usage limit for Big Model. \
                    Switch to another model now, or try again later.";
        check("plus", &named, None, text);
        let text = "You've hit your usage limit. Buy, or try again later.";
        check("plus", &named[2..], None, text);
    }

    #[test]
    fn the_named_family_comes_with_its_limits() {
        let mut headers = HeaderMap::new();
        headers.insert("x-codex-active-limit", "codex_other".parse().unwrap());
        headers.insert("x-codex-other-primary-used-percent", "100".parse().unwrap());
        let limit = UsageLimit::new(UsageLimitBody::default(), &headers, &now());
        assert_eq!(limit.rate_limits.limit_id.as_deref(), Some("codex_other"));
        assert!(limit.rate_limits.primary.is_some());
    }
}
