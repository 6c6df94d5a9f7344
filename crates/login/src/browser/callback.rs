//! Replies to the requests of the browser.

use std::sync::Arc;
use std::time::Duration;

use codex_http::PkceSecrets;
use codex_http::{CallbackSite, parameters};
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::exchange::exchange;
use super::pages;
use crate::accounts::Accounts;

/// How long another process may take to accept the request to cancel its login.
const CANCEL_TIME: Duration = Duration::from_secs(2);

type LoginReply = codex_http::CallbackReply<String>;

/// Serves the callback of one login.
#[derive(Debug)]
pub(crate) struct LoginCallback {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) redirect_uri: String,
    pub(crate) secrets: PkceSecrets,
}

impl CallbackSite for LoginCallback {
    type Failure = String;

    async fn reply(&self, target: &str) -> LoginReply {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match path {
            "/auth/callback" => self.callback(&parameters(query)).await,
            "/success" => LoginReply {
                is_last: true,
                ..LoginReply::page(pages::success())
            },
            "/cancel" => LoginReply {
                end: Some(Err("Login cancelled".to_owned())),
                ..LoginReply::text(StatusCode::OK, "Login cancelled")
            },
            "" => LoginReply::text(StatusCode::BAD_REQUEST, "Bad Request"),
            path if !path.starts_with('/') => {
                LoginReply::text(StatusCode::BAD_REQUEST, "Bad Request")
            }
            _ => LoginReply::text(StatusCode::NOT_FOUND, "Not Found"),
        }
    }
}

impl LoginCallback {
    async fn callback(&self, parameters: &[(String, String)]) -> LoginReply {
        let get = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        if get("state") != Some(&self.secrets.state) {
            return LoginReply::text(StatusCode::BAD_REQUEST, "State mismatch");
        }
        if let Some(error) = get("error") {
            let description = get("error_description");
            let message = refusal(error, description);
            return failure(message, error, description);
        }
        let Some(code) = get("code").filter(|code| !code.is_empty()) else {
            let message = "Missing authorization code. Sign-in could not be completed.";
            return failure(message.to_owned(), "missing_authorization_code", None);
        };
        let verifier = &self.secrets.verifier;
        match exchange(&self.accounts, code, &self.redirect_uri, verifier).await {
            Ok(()) => LoginReply {
                location: Some("/success"),
                end: Some(Ok(())),
                ..LoginReply::text(StatusCode::FOUND, "")
            },
            Err(error) => failure(error.message, error.code, None),
        }
    }
}

/// The message for the user if the identity server refused.
fn refusal(error: &str, description: Option<&str>) -> String {
    let not_entitled = description.is_some_and(|text| text.contains("missing_codex_entitlement"));
    if error == "access_denied" && not_entitled {
        return "Codex is not enabled for your workspace. Contact your workspace administrator to \
                request access to Codex."
            .to_owned();
    }
    format!("Sign-in failed: {}", description.unwrap_or(error))
}

fn failure(message: String, code: &str, description: Option<&str>) -> LoginReply {
    LoginReply {
        end: Some(Err(message.clone())),
        ..LoginReply::page(pages::failure(&message, code, description))
    }
}

/// Asks the program that listens on the port to cancel its login: most likely a login that was abandoned.
pub(crate) async fn ask_to_cancel(port: u16) {
    let request_tokens = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let request =
            format!("GET /cancel HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut reply = [0; 1024];
        stream.read(&mut reply).await
    };
    let _ = tokio::time::timeout(CANCEL_TIME, request_tokens).await;
}
