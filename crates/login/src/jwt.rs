//! Reads claims from tokens. Signatures are not verified: the claims are only displayed or sent back to the server
//! that issued the token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::Value;

/// The namespaces of the service's claims.
const AUTH: &str = "https://api.openai.com/auth";
const PROFILE: &str = "https://api.openai.com/profile";

/// The text is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid ID token format")]
pub(crate) struct InvalidToken;

/// The claims about the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenClaims {
    pub(crate) email: Option<String>,
    /// The name of the plan as in the token.
    pub(crate) plan: Option<String>,
    pub(crate) account_id: Option<String>,
    pub(crate) user_id: Option<String>,
}

impl TokenClaims {
    pub(crate) fn from_token(token: &str) -> Result<Self, InvalidToken> {
        let payload = payload(token)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let auth = &payload[AUTH];
        Ok(Self {
            email: text(&payload["email"]).or_else(|| text(&payload[PROFILE]["email"])),
            plan: text(&auth["chatgpt_plan_type"]),
            account_id: text(&auth["chatgpt_account_id"]),
            user_id: text(&auth["chatgpt_user_id"]).or_else(|| text(&auth["user_id"])),
        })
    }
}

/// The expiry of a token, if it contains one.
pub(crate) fn expiry(token: &str) -> Option<Timestamp> {
    let seconds = payload(token).ok()?["exp"].as_i64()?;
    Timestamp::from_second(seconds).ok()
}

fn payload(token: &str) -> Result<Value, InvalidToken> {
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, signature] = parts[..] else {
        return Err(InvalidToken);
    };
    if header.is_empty() || signature.is_empty() {
        return Err(InvalidToken);
    }
    let bytes = URL_SAFE_NO_PAD.decode(payload).map_err(|_| InvalidToken)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| InvalidToken)?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(InvalidToken)
    }
}

#[cfg(test)]
pub(crate) fn token(payload: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.sig", encode(&serde_json::json!({})), encode(payload))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_where_the_service_puts_them() {
        let auth = json!({ "chatgpt_plan_type": "pro", "chatgpt_account_id": "a", "user_id": "u" });
        let claims =
            TokenClaims::from_token(&token(&json!({ "email": "x@y", AUTH: auth }))).unwrap();
        assert_eq!(claims.email.as_deref(), Some("x@y"));
        assert_eq!(claims.plan.as_deref(), Some("pro"));
        assert_eq!(claims.account_id.as_deref(), Some("a"));
        assert_eq!(claims.user_id.as_deref(), Some("u"));
        let profile = json!({ PROFILE: { "email": "p@y" } });
        let claims = TokenClaims::from_token(&token(&profile)).unwrap();
        assert_eq!(claims.email.as_deref(), Some("p@y"));
        assert_eq!(
            expiry(&token(&json!({ "exp": 7 }))),
            Timestamp::from_second(7).ok()
        );
        assert_eq!(expiry(&token(&json!({}))), None);
    }

    #[test]
    fn invalid_jwt_is_refused() {
        for text in [
            "",
            "a",
            "a.b",
            ".e30.c",
            "a.e30.",
            "a.!.c",
            "a.W10.c",
            "a.e30.c.d",
        ] {
            assert_eq!(TokenClaims::from_token(text), Err(InvalidToken), "{text}");
        }
    }
}
