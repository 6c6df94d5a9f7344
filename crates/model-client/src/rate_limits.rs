//! Reads rate limits from reply headers.
//!
//! Limits are grouped in families. The family `codex` is always reported, others if headers contain values for them.

use std::collections::BTreeSet;

use codex_protocol::{CreditsSnapshot, RateLimitSnapshot, RateLimitWindow};
use reqwest::header::HeaderMap;

const CODEX: &str = "codex";
const MARK: &str = "-primary-used-percent";

/// The limits of all families: `codex` first, the others sorted by name.
pub(crate) fn snapshots(headers: &HeaderMap) -> Vec<RateLimitSnapshot> {
    let families: BTreeSet<&str> = headers
        .keys()
        .filter_map(|name| name.as_str().strip_prefix("x-")?.strip_suffix(MARK))
        .filter(|family| !family.is_empty() && *family != CODEX)
        .collect();
    let others = families
        .into_iter()
        .map(|family| snapshot(headers, family))
        .filter(|limits| limits.primary.is_some() || limits.secondary.is_some());
    std::iter::once(snapshot(headers, CODEX))
        .chain(others)
        .collect()
}

/// The limits of one family.
pub(crate) fn snapshot(headers: &HeaderMap, family: &str) -> RateLimitSnapshot {
    let family = family.to_ascii_lowercase().replace('_', "-");
    RateLimitSnapshot {
        limit_id: Some(family.replace('-', "_")),
        limit_name: text(headers, &format!("x-{family}-limit-name")).map(str::to_owned),
        primary: window(headers, &family, "primary"),
        secondary: window(headers, &family, "secondary"),
        credits: (family == CODEX).then(|| credits(headers)).flatten(),
        plan_type: None,
    }
}

fn window(headers: &HeaderMap, family: &str, which: &str) -> Option<RateLimitWindow> {
    let field = |name: &str| text(headers, &format!("x-{family}-{which}-{name}"));
    let used_percent: f64 = field("used-percent")?.parse().ok()?;
    let window_minutes = field("window-minutes").and_then(|text| text.parse().ok());
    let resets_at = field("reset-at").and_then(|text| text.parse().ok());
    let unused = used_percent == 0.0 && window_minutes.unwrap_or(0_i64) == 0 && resets_at.is_none();
    (used_percent.is_finite() && !unused).then_some(RateLimitWindow {
        used_percent,
        window_minutes,
        resets_at,
    })
}

fn credits(headers: &HeaderMap) -> Option<CreditsSnapshot> {
    Some(CreditsSnapshot {
        has_credits: flag(headers, "x-codex-credits-has-credits")?,
        unlimited: flag(headers, "x-codex-credits-unlimited")?,
        balance: text(headers, "x-codex-credits-balance").map(str::to_owned),
    })
}

fn flag(headers: &HeaderMap, name: &str) -> Option<bool> {
    let value = text(headers, name)?;
    if value == "1" || value.eq_ignore_ascii_case("true") {
        Some(true)
    } else if value == "0" || value.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// The trimmed value of a header, unless it is missing or blank.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderName;

    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let parse = |(name, value): &(&str, &str)| {
            let name: HeaderName = name.parse().unwrap();
            (name, value.parse().unwrap())
        };
        lines.iter().map(parse).collect()
    }

    #[test]
    fn a_plain_server_has_limits_without_content() {
        let expected = RateLimitSnapshot {
            limit_id: Some("codex".to_owned()),
            ..RateLimitSnapshot::default()
        };
        assert_eq!(snapshots(&HeaderMap::new()), [expected]);
    }

    #[test]
    fn rate_limit_headers_are_parsed() {
        let found = snapshots(&headers(&[
            ("x-codex-primary-used-percent", "12.5"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-at", "1700000000"),
            ("x-codex-secondary-used-percent", "1"),
            ("x-codex-credits-has-credits", "True"),
            ("x-codex-credits-unlimited", "0"),
            ("x-codex-credits-balance", "3"),
            ("x-zeta-primary-used-percent", "1"),
            ("x-codex-other-primary-used-percent", "2"),
            ("x-codex-other-limit-name", "Other"),
            ("x-empty-primary-used-percent", "0"),
        ]));
        let ids: Vec<_> = found
            .iter()
            .filter_map(|limits| limits.limit_id.as_deref())
            .collect();
        assert_eq!(ids, ["codex", "codex_other", "zeta"]);
        let primary = RateLimitWindow {
            used_percent: 12.5,
            window_minutes: Some(300),
            resets_at: Some(1_700_000_000),
        };
        assert_eq!(found[0].primary, Some(primary));
        assert_eq!(
            found[0].secondary.map(|window| window.used_percent),
            Some(1.0)
        );
        let credits = CreditsSnapshot {
            has_credits: true,
            unlimited: false,
            balance: Some("3".to_owned()),
        };
        assert_eq!(found[0].credits, Some(credits));
        assert_eq!(found[1].limit_name.as_deref(), Some("Other"));
        assert_eq!(found[1].credits, None);
    }

    #[test]
    fn windows_without_meaning_are_none() {
        let primary = |lines: &[(&str, &str)]| snapshots(&headers(lines))[0].primary;
        assert_eq!(primary(&[("x-codex-primary-used-percent", "NaN")]), None);
        assert_eq!(primary(&[("x-codex-primary-used-percent", "much")]), None);
        assert_eq!(primary(&[("x-codex-primary-window-minutes", "5")]), None);
        let zero = ("x-codex-primary-used-percent", "0");
        assert_eq!(
            primary(&[zero, ("x-codex-primary-window-minutes", "0")]),
            None
        );
        assert!(primary(&[zero, ("x-codex-primary-window-minutes", "5")]).is_some());
        assert!(primary(&[zero, ("x-codex-primary-reset-at", "5")]).is_some());
    }
}
