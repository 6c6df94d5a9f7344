//! Exchanges a code for tokens and stores the login.

use crate::accounts::Accounts;
use crate::auth_file::{AuthFile, ChatGptTokens};
use crate::jwt::TokenClaims;
use crate::refused::detail;

/// Why the exchange failed.
#[derive(Debug)]
pub(crate) struct ExchangeError {
    /// The error code on the page in the browser.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Requests the tokens, checks the workspace and stores the login.
pub(crate) async fn exchange(
    accounts: &Accounts,
    code: &str,
    redirect_uri: &str,
    verifier: &str,
) -> Result<(), ExchangeError> {
    let tokens = tokens(accounts, code, redirect_uri, verifier).await;
    let (tokens, claims) = tokens.map_err(|why| ExchangeError {
        code: "token_exchange_failed",
        message: format!("Token exchange failed: {why}"),
    })?;
    check_workspace(accounts, &claims).map_err(|message| ExchangeError {
        code: "workspace_restriction",
        message,
    })?;
    let file = AuthFile::with_tokens(tokens, accounts.now());
    accounts.save(&file).map_err(|error| {
        tracing::error!(%error, "a login could not be stored");
        ExchangeError {
            code: "persist_failed",
            message: "Sign-in completed but credentials could not be saved locally.".to_owned(),
        }
    })
}

async fn tokens(
    accounts: &Accounts,
    code: &str,
    redirect_uri: &str,
    verifier: &str,
) -> Result<(ChatGptTokens, TokenClaims), String> {
    let settings = &accounts.settings;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect_uri),
        ("client_id", &settings.client_id),
        ("code_verifier", verifier),
    ];
    let answer = accounts
        .http
        .post_form(&settings.token_url(), &fields)
        .await?
        .without(&[code, verifier]);
    let json = answer.json();
    if !answer.is_success() {
        let text = detail(&json, &answer.body, "unknown error");
        let (status, reason) = (answer.status, &answer.reason);
        return Err(format!(
            "token endpoint returned status {status} {reason}: {text}"
        ));
    }
    let text = |name: &str| {
        let text = json[name].as_str();
        text.ok_or_else(|| format!("the reply has no `{name}`"))
    };
    let id_token = text("id_token")?;
    let claims = TokenClaims::from_token(id_token).map_err(|error| error.to_string())?;
    let tokens = ChatGptTokens {
        id_token: id_token.into(),
        access_token: text("access_token")?.into(),
        refresh_token: text("refresh_token")?.into(),
        account_id: claims.account_id.clone(),
    };
    Ok((tokens, claims))
}

fn check_workspace(accounts: &Accounts, claims: &TokenClaims) -> Result<(), String> {
    let settings = &accounts.settings;
    if settings.forced_workspaces.is_empty() {
        return Ok(());
    }
    match &claims.account_id {
        Some(id) if settings.allows_workspace(id) => Ok(()),
        Some(_) => Err(format!(
            "Login is restricted to workspace id {}.",
            settings.allowed_workspaces()
        )),
        None => Err(
            "Login is restricted to a specific workspace, but the token did not include an \
                     chatgpt_account_id claim."
                .to_owned(),
        ),
    }
}
