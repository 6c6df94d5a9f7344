//! Messages about tokens that cannot be renewed, and the errors in replies of the identity server.

use codex_model_client::CredentialError;
use serde_json::Value;

/// The stored login is of another account, or gone.
pub(crate) const SIGNED_OUT: &str = "Your access token could not be refreshed because you have since \
                                     logged out or signed in to another account. Please sign in again.";

/// The error for a reply to a renewal.
pub(crate) fn refresh_error(status: u16, reason: &str, body: &[u8]) -> CredentialError {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    if !is_refusal(status, &code(&json)) {
        let text = detail(&json, body, "Unknown error");
        let text = format!("Failed to refresh token: {status} {reason}: {text}");
        return CredentialError::Failed(text);
    }
    let why = match code(&json).as_str() {
        "refresh_token_expired" => " because your refresh token has expired",
        "refresh_token_reused" => " because your refresh token was already used",
        "refresh_token_invalidated" => " because your refresh token was revoked",
        _ => "",
    };
    CredentialError::Refused(format!(
        "Your access token could not be refreshed{why}. Please log out and sign in again."
    ))
}

/// Whether another attempt with the same tokens is refused, too.
fn is_refusal(status: u16, code: &str) -> bool {
    let is_about_token = code == "invalid_grant" || code.starts_with("refresh_token_");
    status == 401 || (status == 400 && is_about_token)
}

/// Whether the server reports that the refresh token was already used.
pub(crate) fn is_reused(body: &[u8]) -> bool {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    code(&json) == "refresh_token_reused"
}

/// The error code in a reply, in lower case.
fn code(json: &Value) -> String {
    let error = &json["error"];
    let places = [&error["code"], error, &json["code"]];
    let found = places.into_iter().find_map(Value::as_str);
    found.unwrap_or_default().to_ascii_lowercase()
}

/// The error text in a reply.
pub(crate) fn detail(json: &Value, body: &[u8], nothing: &str) -> String {
    let error = &json["error"];
    let places = [
        &json["error_description"],
        &error["message"],
        error,
        &error["code"],
    ];
    let found = places.into_iter().find_map(Value::as_str);
    let text = found.map(str::to_owned);
    let text = text.unwrap_or_else(|| String::from_utf8_lossy(body).chars().take(1000).collect());
    match text.trim() {
        "" => nothing.to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(status: u16, body: &str) -> String {
        refresh_error(status, "X", body.as_bytes()).to_string()
    }

    #[test]
    fn each_refusal_has_its_own_sentence() {
        let sentence = |why: &str| {
            format!(
                "Your access token could not be refreshed{why}. Please log out and sign in again."
            )
        };
        for (body, why) in [
            (
                r#"{"error":{"code":"refresh_token_expired"}}"#,
                " because your refresh token has expired",
            ),
            (
                r#"{"error":"REFRESH_TOKEN_REUSED"}"#,
                " because your refresh token was already used",
            ),
            (
                r#"{"code":"refresh_token_invalidated"}"#,
                " because your refresh token was revoked",
            ),
            (r#"{"error":{"code":"other"}}"#, ""),
            ("no json", ""),
        ] {
            assert_eq!(text(401, body), sentence(why));
        }
        assert!(is_reused(br#"{"error":"refresh_token_reused"}"#) && !is_reused(b""));
    }

    #[test]
    fn other_failures_may_pass() {
        assert_eq!(
            text(500, r#"{"error":{"message":"down"}}"#),
            "Failed to refresh token: 500 X: down"
        );
        assert_eq!(
            text(502, ""),
            "Failed to refresh token: 502 X: Unknown error"
        );
        assert!(matches!(
            refresh_error(403, "X", b"refresh_token_expired"),
            CredentialError::Failed(_)
        ));
    }
}
