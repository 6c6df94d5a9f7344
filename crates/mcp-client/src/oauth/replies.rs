//! Reads the replies of authorization servers.

use codex_http::BoundedReply;
use codex_protocol::Secret;
use serde_json::Value;

/// The maximum length of a server's text in an error.
const MAX_SHOWN_CHARS: usize = 300;

/// The tokens in a reply.
pub(super) struct TokenReply {
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    /// In seconds.
    pub(super) expires_in: Option<u64>,
    pub(super) scopes: Option<Vec<String>>,
}

/// Reads the reply of the token endpoint.
///
/// # Errors
/// The server refused, or sent no usable token. The message does not contain the text of the reply.
pub(super) fn tokens(answer: &BoundedReply) -> Result<TokenReply, String> {
    let json = success(answer)?;
    let text = |name: &str| json[name].as_str().filter(|text| !text.is_empty());
    let access_token =
        text("access_token").ok_or("the authorization server gives no access token")?;
    if !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the access token cannot be sent".to_owned());
    }
    if text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err("the tokens are not of the kind `Bearer`".to_owned());
    }
    let expires_in = &json["expires_in"];
    let as_text = || expires_in.as_str()?.parse().ok();
    let scopes = text("scope").map(|all| all.split_whitespace().map(str::to_owned).collect());
    Ok(TokenReply {
        access_token: access_token.into(),
        refresh_token: text("refresh_token").map(Secret::from),
        expires_in: expires_in.as_u64().or_else(as_text),
        scopes,
    })
}

/// The JSON of a successful reply.
///
/// # Errors
/// The server refused, or the reply is not JSON.
pub(super) fn success(answer: &BoundedReply) -> Result<Value, String> {
    let json = answer.json();
    if answer.is_success() {
        return if json.is_object() {
            Ok(json)
        } else {
            Err("the authorization server does not reply with JSON".to_owned())
        };
    }
    let (status, reason) = (answer.status, &answer.reason);
    let mut text = format!("the authorization server answers {status} {reason}");
    for name in ["error", "error_description"] {
        if let Some(said) = json[name].as_str() {
            text = format!("{text}: {}", readable(said));
        }
    }
    Err(text)
}

/// Replaces control characters, which terminals would execute, and limits the length.
pub(super) fn readable(text: &str) -> String {
    let fit = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    text.chars().take(MAX_SHOWN_CHARS).map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> BoundedReply {
        BoundedReply {
            status,
            reason: "X".to_owned(),
            content_type: String::new(),
            body: body.into(),
        }
    }

    #[test]
    fn tokens_are_read_as_servers_write_them() {
        let body = r#"{"access_token":"a","expires_in":"60","scope":"x  y","token_type":"bearer"}"#;
        let given = tokens(&answer(200, body)).ok().unwrap();
        assert_eq!(given.access_token.reveal(), "a");
        assert!(given.refresh_token.is_none());
        assert_eq!(given.expires_in, Some(60));
        assert_eq!(given.scopes.unwrap(), ["x", "y"]);
    }

    #[test]
    fn nonsense_is_named_and_not_repeated() {
        let table = [
            (
                200,
                "secret",
                "the authorization server does not reply with JSON",
            ),
            (
                200,
                r#"{"id":"secret"}"#,
                "the authorization server gives no access token",
            ),
            (
                200,
                r#"{"access_token":"secret\n"}"#,
                "the access token cannot be sent",
            ),
            (
                200,
                r#"{"access_token":"secret","token_type":"mac"}"#,
                "the tokens are not of the kind `Bearer`",
            ),
            (500, "secret", "the authorization server answers 500 X"),
            (
                400,
                r#"{"error":"invalid_grant","error_description":"no\u001b[2J"}"#,
                "the authorization server answers 400 X: invalid_grant: no [2J",
            ),
        ];
        for (status, body, expected) in table {
            let error = tokens(&answer(status, body)).err();
            assert_eq!(error.as_deref(), Some(expected));
        }
    }
}
