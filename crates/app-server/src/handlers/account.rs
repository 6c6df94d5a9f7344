//! Login, logout, account information, and rate limits.
//!
//! A reply is sent before the notifications that follow from the request. When they are sent, the new login is in use
//! already.

use std::sync::Arc;

use codex_app_server_protocol::{NoParams, ServerNotification, client_method as method, v2};
use codex_login::{BrowserLoginError, ExternalTokens, LoginError, RateLimitsError};
use codex_projection::wire_limits;
use codex_protocol::{AuthMode, PlanType};
use uuid::Uuid;

use super::blocking;
use super::call::{EarlyReply, RequestContext};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn read(
    RequestContext {
        server, connection, ..
    }: RequestContext,
    params: v2::GetAccountParams,
) -> Result<v2::GetAccountResponse, Failure> {
    let accounts = server.host().accounts();
    let requires_openai_auth = requires_login(&server);
    if requires_openai_auth {
        accounts.identify().await;
    }
    let login_in_use = || requires_openai_auth.then(|| accounts.login()).flatten();
    // Before anything is waited for: later requests may change it.
    let mut login = login_in_use();
    if let Some(mut response) = bedrock_account(&server).await? {
        let is_known = connection.dialect().has_bedrock_account();
        response.account = response.account.filter(|_| is_known);
        return Ok(response);
    }
    if params.refresh_token {
        if let Err(error) = accounts.renew().await {
            // The account is known without renewed tokens, unless they were refused.
            tracing::warn!(%error, "tokens were not renewed");
        }
        login = login_in_use();
    }
    // Nothing can be done with such a login any more: the user has to log in again.
    let login = login.filter(|login| accounts.refusal(login).is_none());
    let account = login.map(|login| match login.mode() {
        AuthMode::Apikey => v2::Account::ApiKey,
        AuthMode::Chatgpt | AuthMode::ChatgptAuthTokens | AuthMode::PersonalAccessToken => {
            v2::Account::Chatgpt {
                email: login.email().unwrap_or_default().to_owned(),
                plan_type: login.plan().unwrap_or(PlanType::Unknown),
            }
        }
    });
    Ok(v2::GetAccountResponse {
        account,
        requires_openai_auth,
    })
}

/// The ids of Amazon Bedrock as a model provider.
const BEDROCK: [&str; 2] = ["amazon-bedrock", "amazon-bedrock-runtime"];

/// The account where the settings name Amazon Bedrock, which takes no login of OpenAI.
async fn bedrock_account(
    server: &Arc<AppServer>,
) -> Result<Option<v2::GetAccountResponse>, Failure> {
    let server = Arc::clone(server);
    let read = move || {
        let named = server.host().configuration().named_provider();
        let has_keys = server.host().accounts().has_bedrock_keys();
        let is_bedrock = named.is_some_and(|name| BEDROCK.contains(&&*name));
        if has_keys && !is_bedrock && requires_login(&server) {
            let text = "the stored keys are for Amazon Bedrock, which is not the model provider; log in again";
            return Err(Failure::invalid(text));
        }
        Ok(is_bedrock.then_some(v2::GetAccountResponse {
            account: Some(v2::Account::AmazonBedrock {
                uses_codex_managed_credentials: has_keys,
            }),
            requires_openai_auth: false,
        }))
    };
    blocking(read).await
}

pub(super) async fn log_in(
    RequestContext { server, connection }: RequestContext,
    params: v2::LoginAccountParams,
) -> Result<EarlyReply<method::LoginAccount>, Failure> {
    let accounts = Arc::clone(server.host().accounts());
    let response = match params {
        v2::LoginAccountParams::ApiKey { api_key } => {
            blocking(move || accounts.log_in_with_api_key(&api_key).map_err(failure)).await?;
            v2::LoginAccountResponse::ApiKey
        }
        v2::LoginAccountParams::ChatgptAuthTokens {
            access_token,
            chatgpt_account_id,
            chatgpt_plan_type,
        } => {
            let tokens = ExternalTokens {
                access_token,
                account_id: chatgpt_account_id,
                plan: chatgpt_plan_type,
            };
            accounts.log_in_with_tokens(&tokens).map_err(failure)?;
            v2::LoginAccountResponse::ChatgptAuthTokens
        }
        v2::LoginAccountParams::Chatgpt => return log_in_with_browser(server, &connection).await,
        v2::LoginAccountParams::ChatgptDeviceCode => return log_in_with_code(server).await,
    };
    Ok(EarlyReply::then(response, move || {
        notify_completed(&server, None, &Ok(()));
        notify_updated(&server);
    }))
}

/// Starts a login. Its end is sent as a notification.
async fn log_in_with_browser(
    server: Arc<AppServer>,
    connection: &Connection,
) -> Result<EarlyReply<method::LoginAccount>, Failure> {
    let client = connection.client();
    let originator = client.map(|client| client.name.clone()).unwrap_or_default();
    let accounts = server.host().accounts();
    let started = accounts.log_in_with_browser(&originator).await;
    let started = started.map_err(failure)?;
    let response = v2::LoginAccountResponse::Chatgpt {
        login_id: started.id.clone(),
        auth_url: started.auth_url,
    };
    let completed = async move {
        let outcome = started
            .outcome
            .await
            .unwrap_or(Err(BrowserLoginError::NotCompleted))
            .map_err(|error| error.to_string());
        notify_completed(&server, Some(started.id), &outcome);
        if outcome.is_ok() {
            notify_updated(&server);
        }
    };
    Ok(EarlyReply::then(response, || drop(tokio::spawn(completed))))
}

/// Starts a login with a code. Its end is sent as a notification.
async fn log_in_with_code(
    server: Arc<AppServer>,
) -> Result<EarlyReply<method::LoginAccount>, Failure> {
    let started = server.host().accounts().start_device_login().await;
    let started = started.map_err(failure)?;
    let response = v2::LoginAccountResponse::ChatgptDeviceCode {
        login_id: started.id.clone(),
        user_code: started.code.user_code,
        verification_url: started.code.verification_url,
    };
    let completed = async move {
        let outcome = match started.outcome.await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(BrowserLoginError::NotCompleted.to_string()),
        };
        notify_completed(&server, Some(started.id), &outcome);
        if outcome.is_ok() {
            notify_updated(&server);
        }
    };
    Ok(EarlyReply::then(response, || drop(tokio::spawn(completed))))
}

pub(super) async fn cancel(
    RequestContext { server, .. }: RequestContext,
    params: v2::CancelLoginAccountParams,
) -> Result<v2::CancelLoginAccountResponse, Failure> {
    let id = params.login_id;
    let Ok(parsed) = Uuid::parse_str(&id) else {
        return Err(Failure::invalid(format!("invalid login id: {id}")));
    };
    let status = if server.host().accounts().cancel_login(&parsed.to_string()) {
        v2::CancelLoginAccountStatus::Canceled
    } else {
        v2::CancelLoginAccountStatus::NotFound
    };
    Ok(v2::CancelLoginAccountResponse { status })
}

pub(super) async fn log_out(
    RequestContext { server, .. }: RequestContext,
    _: NoParams,
) -> Result<EarlyReply<method::LogoutAccount>, Failure> {
    let accounts = Arc::clone(server.host().accounts());
    let logged_out = blocking({
        let accounts = Arc::clone(&accounts);
        move || accounts.log_out().map_err(failure)
    });
    let logged_out = logged_out.await?;
    Ok(EarlyReply::sent_by(|reply| async move {
        reply.accept(&v2::LogoutAccountResponse {});
        notify_updated(&server);
        accounts.revoke(logged_out).await;
    }))
}

pub(super) async fn read_rate_limits(
    RequestContext { server, .. }: RequestContext,
    _: NoParams,
) -> Result<v2::GetAccountRateLimitsResponse, Failure> {
    let limits = server.host().accounts().rate_limits().await;
    let limits = limits.map_err(|error| match error {
        RateLimitsError::NotLoggedIn | RateLimitsError::NotChatGpt => {
            Failure::invalid(error.to_string())
        }
        RateLimitsError::Failed(_) => Failure::internal(error.to_string()),
    });
    limits.map(|limits| {
        let families = limits.families.iter().map(wire_limits);
        let families: Vec<_> = families.collect();
        let is_main = |family: &&v2::RateLimitSnapshot| family.limit_id.as_deref() == Some("codex");
        let main = families.iter().find(is_main).or(families.first()).cloned();
        let by_id = families.into_iter();
        v2::GetAccountRateLimitsResponse {
            rate_limits: main.unwrap_or_else(|| wire_limits(&Default::default())),
            rate_limits_by_limit_id: Some(
                by_id
                    .filter_map(|family| Some((family.limit_id.clone()?, family)))
                    .collect(),
            ),
        }
    })
}

/// The older form of `read`.
pub(super) async fn auth_status(
    RequestContext { server, connection }: RequestContext,
    params: v2::GetAuthStatusParams,
) -> Result<v2::GetAuthStatusResponse, Failure> {
    let uses_bedrock = matches!(bedrock_account(&server).await, Ok(Some(_)));
    let requires_login = requires_login(&server) && !uses_bedrock;
    let accounts = server.host().accounts();
    let login = if !requires_login {
        None
    } else if params.refresh_token == Some(true) {
        if let Err(error) = accounts.renew().await {
            tracing::warn!(%error, "tokens were not renewed");
        }
        accounts.identify().await;
        accounts.login()
    } else {
        accounts.fresh_login().await
    };
    let wanted = params.include_token == Some(true);
    let token = login
        .as_ref()
        .filter(|login| wanted && accounts.refusal(login).is_none())
        .filter(|login| login.mode() != AuthMode::PersonalAccessToken)
        .map(|login| login.token().reveal().to_owned());
    Ok(v2::GetAuthStatusResponse {
        auth_method: login.map(|login| connection.dialect().auth_mode(login.mode())),
        auth_token: token,
        requires_openai_auth: Some(requires_login),
    })
}

/// Whether the provider that the server started with needs a login.
fn requires_login(server: &AppServer) -> bool {
    let config = server.host().configuration().startup();
    config.model.provider.requires_openai_auth
}

fn failure(error: LoginError) -> Failure {
    match error {
        LoginError::Refused(message) => Failure::invalid(message),
        LoginError::Failed(message) => Failure::internal(message),
    }
}

fn notify_completed(server: &AppServer, login_id: Option<String>, outcome: &Result<(), String>) {
    let notification = v2::AccountLoginCompletedNotification {
        login_id,
        success: outcome.is_ok(),
        error: outcome.as_ref().err().cloned(),
    };
    server.broadcast(&ServerNotification::AccountLoginCompleted(notification));
}

fn notify_updated(server: &AppServer) {
    let login = server.host().accounts().login();
    let mode = login.as_ref().map(codex_login::Login::mode);
    let plan_type = login.and_then(|login| login.plan());
    server.broadcast(&ServerNotification::AccountUpdated(
        v2::AccountUpdatedNotification {
            auth_mode: mode,
            plan_type,
        },
    ));
}
