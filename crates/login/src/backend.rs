//! The rate limits of an account, requested from the backend.

use codex_model_client::Credential;
use codex_model_client::plan_type;
use codex_protocol::{CreditsSnapshot, RateLimitSnapshot, RateLimitWindow};
use serde_json::Value;

use crate::accounts::Accounts;

/// The rate limits of an account. The general ones come first.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimits {
    /// One snapshot per family of limits; never empty.
    pub families: Vec<RateLimitSnapshot>,
}

/// Why the rate limits are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateLimitsError {
    #[error("codex account authentication required to read rate limits")]
    NotLoggedIn,
    /// The login is an API key, which has no such limits.
    #[error("chatgpt authentication required to read rate limits")]
    NotChatGpt,
    /// The request failed.
    #[error("failed to fetch codex rate limits: {0}")]
    Failed(String),
}

impl Accounts {
    /// Requests the rate limits of the account.
    ///
    /// # Errors
    /// There is no ChatGPT login, or the request failed.
    pub async fn rate_limits(&self) -> Result<RateLimits, RateLimitsError> {
        let login = self
            .fresh_login()
            .await
            .ok_or(RateLimitsError::NotLoggedIn)?;
        let credential = login.credential();
        let Credential::ChatGpt { access_token, .. } = &credential else {
            return Err(RateLimitsError::NotChatGpt);
        };
        let url = backend_url(&self.settings.backend_url, "usage");
        let bearer = format!("Bearer {}", access_token.reveal());
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(credential.account_headers());
        let answer = self.http.get(&url, &headers).await;
        let answer = answer
            .map_err(|error| RateLimitsError::Failed(format!("GET {url} failed: {error}")))?;
        if !answer.is_success() {
            let (status, reason, kind) = (answer.status, &answer.reason, &answer.content_type);
            let text = format!("GET {url} failed: {status} {reason}; content-type={kind}");
            return Err(RateLimitsError::Failed(text));
        }
        let usage: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| RateLimitsError::Failed(format!("Decode error for {url}: {error}")))?;
        if !usage.is_object() {
            let text = format!("Decode error for {url}: not a JSON object");
            return Err(RateLimitsError::Failed(text));
        }
        Ok(limits_of(&usage))
    }
}

/// The address of an endpoint of the backend.
pub(crate) fn backend_url(base: &str, endpoint: &str) -> String {
    let base = base.trim_end_matches('/');
    let hosts = ["https://chatgpt.com", "https://chat.openai.com"];
    let hosted = hosts.iter().any(|host| base.starts_with(host));
    if hosted && !base.contains("/backend-api") {
        return format!("{base}/backend-api/wham/{endpoint}");
    }
    if base.contains("/backend-api") {
        format!("{base}/wham/{endpoint}")
    } else {
        format!("{base}/api/codex/{endpoint}")
    }
}

fn limits_of(usage: &Value) -> RateLimits {
    let plan_type = usage["plan_type"].as_str().map(plan_type);
    let family =
        |id: Option<String>, name: Option<String>, limit: &Value, credits| RateLimitSnapshot {
            limit_id: id,
            limit_name: name,
            primary: window(&limit["primary_window"]),
            secondary: window(&limit["secondary_window"]),
            credits,
            plan_type,
        };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let main = family(
        Some("codex".to_owned()),
        None,
        &usage["rate_limit"],
        credits(&usage["credits"]),
    );
    let others = usage["additional_rate_limits"].as_array();
    let others = others.into_iter().flatten().map(|other| {
        let (id, name) = (text(&other["metered_feature"]), text(&other["limit_name"]));
        family(id, name, &other["rate_limit"], None)
    });
    RateLimits {
        families: std::iter::once(main).chain(others).collect(),
    }
}

fn window(window: &Value) -> Option<RateLimitWindow> {
    let seconds = window["limit_window_seconds"].as_i64();
    Some(RateLimitWindow {
        used_percent: window["used_percent"].as_f64()?,
        window_minutes: seconds
            .filter(|seconds| *seconds > 0)
            .map(|seconds| (seconds - 1) / 60 + 1),
        resets_at: window["reset_at"].as_i64(),
    })
}

fn credits(credits: &Value) -> Option<CreditsSnapshot> {
    Some(CreditsSnapshot {
        has_credits: credits["has_credits"].as_bool()?,
        unlimited: credits["unlimited"].as_bool()?,
        balance: credits["balance"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use codex_protocol::PlanType;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_follow_the_backend() {
        let check = |base, expected| assert_eq!(backend_url(base, "usage"), expected);
        check(
            "https://chatgpt.com/backend-api/",
            "https://chatgpt.com/backend-api/wham/usage",
        );
        check(
            "https://chatgpt.com",
            "https://chatgpt.com/backend-api/wham/usage",
        );
        check("http://local/x/", "http://local/x/api/codex/usage");
    }

    #[test]
    fn every_family_is_read_and_minutes_are_rounded_up() {
        let usage = json!({
            "plan_type": "pro",
            "rate_limit": {
                "primary_window": { "used_percent": 42, "limit_window_seconds": 18001, "reset_at": 7 },
                "secondary_window": null,
            },
            "credits": { "has_credits": true, "unlimited": false, "balance": "3" },
            "additional_rate_limits": [
                { "limit_name": "Other", "metered_feature": "codex_other", "rate_limit": null },
            ],
        });
        let limits = limits_of(&usage).families;
        let main = &limits[0];
        assert_eq!(main.plan_type, Some(PlanType::Pro));
        let primary = main.primary;
        assert_eq!(primary.and_then(|window| window.window_minutes), Some(301));
        assert_eq!(primary.and_then(|window| window.resets_at), Some(7));
        assert!(main.secondary.is_none() && main.credits.is_some());
        assert_eq!(limits[1].limit_id.as_deref(), Some("codex_other"));
        assert_eq!(limits[1].limit_name.as_deref(), Some("Other"));
        assert!(limits[1].primary.is_none() && limits[1].credits.is_none());
    }
}
