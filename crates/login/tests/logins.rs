//! Logins against a scripted identity server.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codex_http::{HttpPool, HttpSettings};
use codex_login::{
    Accounts, BrowserLoginError, ExternalTokens, LoginSettings, StoreKind, TokenRefreshError,
    TokenRefresher,
};
use codex_model_client::{
    ClientIdentity, Credential, CredentialSource, Platform, Recovery, SystemClock,
};
use codex_protocol::{AuthMode, ForcedLoginMethod, PlanType};
use codex_test_support::{HttpReply, Latch, ModelServer};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const AUTH: &str = "https://api.openai.com/auth";

/// A token of this account that expires after this many seconds.
fn token(account: &str, seconds: i64) -> String {
    let auth = json!({ "chatgpt_account_id": account, "chatgpt_plan_type": "plus" });
    let expiry = jiff::Timestamp::now().as_second() + seconds;
    let payload = json!({ "email": "me@here", AUTH: auth, "exp": expiry });
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.signature", encode(&json!({})), encode(&payload))
}

struct LoginTest {
    home: TempDir,
    server: ModelServer,
    settings: LoginSettings,
}

impl LoginTest {
    async fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let server = ModelServer::start([]).await.unwrap();
        let mut settings = LoginSettings::hosted(home.path());
        settings.issuer = server.base_url();
        settings.backend_url = server.base_url();
        settings.callback_port = 0;
        Self {
            home,
            server,
            settings,
        }
    }

    fn accounts(&self) -> Arc<Accounts> {
        let platform = Platform {
            os: "test",
            os_version: "0",
            architecture: "none",
            terminal: "none",
        };
        Arc::new(Accounts::new(
            self.settings.clone(),
            Arc::new(HttpPool::new(HttpSettings::default())),
            ClientIdentity::new("tests", "1.0.0", platform, None),
            Arc::new(SystemClock),
        ))
    }

    fn store(&self, account: &str, access_token: &str, refresh_token: &str) {
        store(self.home.path(), account, access_token, refresh_token);
    }

    fn stored(&self) -> Value {
        let text = fs::read(self.home.path().join("auth.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn renewals(&self) -> usize {
        let requests = self.server.requests();
        let renewal = |body: &Value| body["grant_type"] == "refresh_token";
        requests
            .iter()
            .filter(|request| renewal(&request.json()))
            .count()
    }
}

fn store(home: &Path, account: &str, access_token: &str, refresh_token: &str) {
    let file = json!({
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": null,
        "tokens": {
            "id_token": token(account, 3600), "access_token": access_token,
            "refresh_token": refresh_token, "account_id": account,
        },
        "last_refresh": jiff::Timestamp::now().to_string(),
        "unknown": { "kept": true },
    });
    let path = home.join("auth.json.new");
    fs::write(&path, file.to_string()).unwrap();
    fs::rename(path, home.join("auth.json")).unwrap();
}

fn renewed(access_token: &str) -> HttpReply {
    HttpReply::json(
        200,
        &json!({ "access_token": access_token, "refresh_token": "r2" }),
    )
}

fn access_token(credential: Option<Credential>) -> String {
    match credential {
        Some(Credential::ChatGpt { access_token, .. }) => access_token.reveal().to_owned(),
        other => panic!("no ChatGPT login: {other:?}"),
    }
}

/// Requests a local URL as a browser does. Returns the head and the body of the reply.
async fn browse(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://localhost:").unwrap();
    let (port, path) = rest.split_once('/').unwrap();
    let port: u16 = port.parse().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The callback URL of a login with additional parameters.
fn way_back(auth_url: &str, more: &str) -> String {
    let query = auth_url.split_once('?').unwrap().1;
    let get = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(known, _)| *known == name);
        found.next().unwrap().1.to_owned()
    };
    let back = get("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    format!("{back}?state={}&{more}", get("state"))
}

#[tokio::test]
async fn stored_api_key_is_private_and_removable() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    assert_eq!(accounts.login(), None);
    accounts.log_in_with_api_key("sk-1").unwrap();
    let expected = json!({ "auth_mode": "apikey", "OPENAI_API_KEY": "sk-1" });
    assert_eq!(test.stored(), expected);
    assert_eq!(
        accounts.current().await,
        Some(Credential::ApiKey("sk-1".into()))
    );
    assert!(accounts.log_in_with_api_key(" ").is_err());
    assert!(accounts.log_out().unwrap().was_logged_in);
    assert!(!accounts.log_out().unwrap().was_logged_in);
    assert_eq!(accounts.current().await, None);
}

#[tokio::test]
async fn process_key_wins_over_a_stored_login() {
    let mut test = LoginTest::new().await;
    test.store("w1", &token("w1", 3600), "r1");
    test.settings.api_key = Some("sk-own".into());
    let expected = Some(Credential::ApiKey("sk-own".into()));
    assert_eq!(test.accounts().current().await, expected);
}

#[tokio::test]
async fn login_file_changes_of_other_processes_are_noticed() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    assert_eq!(accounts.login(), None);
    test.accounts().log_in_with_api_key("sk-2").unwrap();
    assert_eq!(accounts.login().unwrap().mode(), AuthMode::Apikey);
    fs::write(test.home.path().join("auth.json"), "broken").unwrap();
    assert_eq!(accounts.login(), None);
    assert!(accounts.problem().unwrap().contains("cannot be read"));
    accounts.log_in_with_api_key("sk-3").unwrap();
    assert_eq!(accounts.problem(), None);
}

#[tokio::test]
async fn forbidden_login_is_refused_and_not_stored() {
    let mut test = LoginTest::new().await;
    test.store("w1", "a", "r");
    test.settings.forced_method = Some(ForcedLoginMethod::Api);
    let accounts = test.accounts();
    assert_eq!(accounts.login(), None);
    let tokens = ExternalTokens {
        access_token: token("w1", 60),
        account_id: "w1".to_owned(),
        plan: None,
    };
    assert!(accounts.log_in_with_tokens(&tokens).is_err());
    assert!(accounts.log_in_with_browser("tests").await.is_err());
    assert!(accounts.device_code().await.is_err());
    test.settings.forced_method = Some(ForcedLoginMethod::Chatgpt);
    assert!(test.accounts().log_in_with_api_key("sk").is_err());
    assert!(test.accounts().login().is_some());
    test.settings.forced_workspaces = vec!["w0".to_owned(), "w1".to_owned()];
    assert!(test.accounts().login().is_some());
    assert!(test.accounts().log_in_with_tokens(&tokens).is_ok());
    test.settings.forced_workspaces = vec!["w2".to_owned()];
    assert_eq!(test.accounts().login(), None);
    let refused = test.accounts().log_in_with_tokens(&tokens).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "External auth must use workspace w2, but received \"w1\"."
    );
    test.settings.forced_workspaces.push("w3".to_owned());
    assert_eq!(test.accounts().login(), None);
    let refused = test.accounts().log_in_with_tokens(&tokens).unwrap_err();
    assert!(
        refused.to_string().contains("workspace w2, w3,"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_browser_logs_in() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    let started = accounts.log_in_with_browser("my ide").await.unwrap();
    assert!(started.auth_url.contains("originator=my%20ide"));
    let (id, access) = (token("w1", 3600), token("w1", 3600));
    test.server.push_for(
        "/oauth/token",
        HttpReply::json(
            200,
            &json!({ "id_token": id, "access_token": access, "refresh_token": "r1" }),
        ),
    );
    let elsewhere = way_back(&started.auth_url, "code=c").replace("state=", "state=x");
    assert!(browse(&elsewhere).await.0.starts_with("HTTP/1.1 400"));
    let back = way_back(&started.auth_url, "code=the%2Fcode");
    let (head, _) = browse(&back).await;
    assert!(head.starts_with("HTTP/1.1 302") && head.contains("location: /success"));
    let root = back.split_once("/auth").unwrap().0;
    assert_eq!(started.outcome.await.unwrap(), Ok(()));
    let (head, body) = browse(&format!("{root}/success")).await;
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("<title>Signed in"));
    let exchange = test.server.request(0).await;
    let form = String::from_utf8(exchange.body).unwrap();
    assert!(form.contains("grant_type=authorization_code") && form.contains("code=the%2Fcode"));
    assert!(form.contains("code_verifier="));
    let login = accounts.login().unwrap();
    assert_eq!(login.email(), Some("me@here"));
    assert_eq!(login.plan(), Some(PlanType::Plus));
    assert_eq!(test.stored()["tokens"]["account_id"], "w1");
    // The login takes a single request, without one for an API key.
    assert_eq!(test.server.requests().len(), 1);
}

#[tokio::test]
async fn a_browser_that_brings_no_code_ends_the_login() {
    let test = LoginTest::new().await;
    for (more, message) in [
        (
            "error=access_denied&error_description=no",
            "Sign-in failed: no",
        ),
        ("error=server_error", "Sign-in failed: server_error"),
        (
            "error=access_denied&error_description=missing_codex_entitlement",
            "Codex is not enabled for your workspace. Contact your workspace administrator to request \
             access to Codex.",
        ),
        (
            "nothing=1",
            "Missing authorization code. Sign-in could not be completed.",
        ),
    ] {
        let started = test.accounts().log_in_with_browser("t").await.unwrap();
        let (head, body) = browse(&way_back(&started.auth_url, more)).await;
        assert!(head.starts_with("HTTP/1.1 200") && body.contains("Not signed in"));
        let expected = Err(BrowserLoginError::Failed(message.to_owned()));
        assert_eq!(started.outcome.await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_code_that_is_not_taken_ends_the_login() {
    let mut test = LoginTest::new().await;
    test.settings.forced_workspaces = vec!["w1".to_owned()];
    let tokens = |account| {
        let token = token(account, 60);
        let reply = json!({ "id_token": token, "access_token": token, "refresh_token": "r" });
        HttpReply::json(200, &reply)
    };
    for (reply, message) in [
        (
            HttpReply::json(400, &json!({ "error_description": "bad code" })),
            "Token exchange failed: token endpoint returned status 400 Bad Request: bad code",
        ),
        (
            HttpReply::json(200, &json!({ "id_token": token("w1", 60) })),
            "Token exchange failed: the reply has no `access_token`",
        ),
        (tokens("w2"), "Login is restricted to workspace id w1."),
    ] {
        test.server.push_for("/oauth/token", reply);
        let accounts = test.accounts();
        let started = accounts.log_in_with_browser("t").await.unwrap();
        browse(&way_back(&started.auth_url, "code=c")).await;
        let expected = Err(BrowserLoginError::Failed(message.to_owned()));
        assert_eq!(started.outcome.await.unwrap(), expected);
        assert_eq!(accounts.login(), None);
    }
}

#[tokio::test]
async fn a_login_that_waits_can_be_given_up() {
    let mut test = LoginTest::new().await;
    let accounts = test.accounts();
    let lost = Err(BrowserLoginError::NotCompleted);
    let first = accounts.log_in_with_browser("t").await.unwrap();
    let second = accounts.log_in_with_browser("t").await.unwrap();
    assert_eq!(first.outcome.await.unwrap(), lost);
    assert!(!accounts.cancel_login(&first.id));
    assert!(accounts.cancel_login(&second.id));
    assert!(!accounts.cancel_login(&second.id));
    assert_eq!(second.outcome.await.unwrap(), lost);
    let third = accounts.log_in_with_browser("t").await.unwrap();
    accounts.log_out().unwrap();
    assert_eq!(third.outcome.await.unwrap(), lost);
    let fourth = accounts.log_in_with_browser("t").await.unwrap();
    let back = way_back(&fourth.auth_url, "");
    let root = back.split_once("/auth").unwrap().0.to_owned();
    assert!(browse(&format!("{root}/other")).await.0.contains("404"));
    browse(&format!("{root}/cancel")).await;
    let cancelled = Err(BrowserLoginError::Failed("Login cancelled".to_owned()));
    assert_eq!(fourth.outcome.await.unwrap(), cancelled);
    test.settings.browser_time = Duration::ZERO;
    let fifth = test.accounts().log_in_with_browser("t").await.unwrap();
    assert_eq!(
        fifth.outcome.await.unwrap(),
        Err(BrowserLoginError::TimedOut)
    );
}

#[tokio::test]
async fn port_of_an_older_login_is_taken_over() {
    let mut test = LoginTest::new().await;
    let older = test.accounts().log_in_with_browser("t").await.unwrap();
    let back = way_back(&older.auth_url, "");
    let port = back.strip_prefix("http://localhost:").unwrap();
    test.settings.callback_port = port.split_once('/').unwrap().0.parse().unwrap();
    let newer = test.accounts().log_in_with_browser("t").await.unwrap();
    let cancelled = Err(BrowserLoginError::Failed("Login cancelled".to_owned()));
    assert_eq!(older.outcome.await.unwrap(), cancelled);
    drop(newer);
}

#[tokio::test]
async fn expired_tokens_are_renewed_once_for_all_requests() {
    let test = LoginTest::new().await;
    test.store("w1", &token("w1", 30), "r1");
    let fresh = token("w1", 3600);
    test.server.push_for("/oauth/token", renewed(&fresh));
    let accounts = test.accounts();
    let (one, other) = tokio::join!(accounts.current(), accounts.current());
    assert_eq!(access_token(one), fresh);
    assert_eq!(access_token(other), fresh);
    assert_eq!(test.renewals(), 1);
    let stored = test.stored();
    assert_eq!(stored["tokens"]["refresh_token"], "r2");
    assert_eq!(stored["unknown"], json!({ "kept": true }));
}

#[tokio::test]
async fn tokens_renewed_by_another_process_are_used() {
    let test = LoginTest::new().await;
    test.store("w1", &token("w1", -5), "r1");
    let accounts = test.accounts();
    let latch = Latch::new();
    let reused = json!({ "error": { "code": "refresh_token_reused" } });
    let reply = HttpReply::status(401).header("content-type", "application/json");
    let reply = reply.wait(&latch).body(reused.to_string());
    test.server.push_for("/oauth/token", reply);
    // The other process takes no lock and stores its tokens while this one sends its request.
    let fresh = token("w1", 3600);
    let theirs = async {
        test.server.request(0).await;
        test.store("w1", &fresh, "r2");
        latch.open();
    };
    let ((), credential) = tokio::join!(theirs, accounts.current());
    assert_eq!(access_token(credential), fresh);
    assert_eq!(test.renewals(), 1);
}

#[tokio::test]
async fn permanent_refusal_is_not_requested_twice() {
    let test = LoginTest::new().await;
    test.store("w1", &token("w1", -5), "r1");
    let accounts = test.accounts();
    let reply = HttpReply::json(
        401,
        &json!({ "error": { "code": "refresh_token_expired" } }),
    );
    test.server.push_for("/oauth/token", reply);
    for _ in 0..2 {
        accounts.current().await;
        let text = accounts.renew().await.unwrap_err().to_string();
        assert!(text.contains("your refresh token has expired"), "{text}");
    }
    assert_eq!(test.renewals(), 1);
    assert!(accounts.refusal(&accounts.login().unwrap()).is_some());
}

#[tokio::test]
async fn a_refused_login_is_read_again_and_then_renewed() {
    let test = LoginTest::new().await;
    test.store("w1", &token("w1", 3600), "r1");
    let accounts = test.accounts();
    assert_eq!(accounts.recover(0).await, Ok(Recovery::Retry));
    assert_eq!(test.renewals(), 0);
    let fresh = token("w1", 7200);
    test.server.push_for("/oauth/token", renewed(&fresh));
    assert_eq!(accounts.recover(1).await, Ok(Recovery::Retry));
    assert_eq!(access_token(accounts.current().await), fresh);
    assert_eq!(accounts.recover(2).await, Ok(Recovery::Exhausted));
}

#[tokio::test]
async fn temporary_renewal_failures_are_reported() {
    let test = LoginTest::new().await;
    test.store("w1", &token("w1", 3600), "r1");
    let accounts = test.accounts();
    for (reply, text) in [
        (
            HttpReply::json(500, &json!({ "error": { "message": "down" } })),
            "Failed to refresh token: 500 Internal Server Error: down",
        ),
        (
            HttpReply::status(200).body("no json"),
            "Failed to refresh token: the reply is no JSON",
        ),
    ] {
        test.server.push_for("/oauth/token", reply);
        assert_eq!(accounts.renew().await.unwrap_err().to_string(), text);
    }
    test.server.push_for("/oauth/token", HttpReply::hang_up());
    let text = accounts.renew().await.unwrap_err().to_string();
    assert!(text.starts_with("Failed to refresh token: "), "{text}");
}

/// A refresher with scripted answers. Records the requests.
#[derive(Debug)]
struct ScriptedRefresher {
    answers: Mutex<Vec<Result<ExternalTokens, TokenRefreshError>>>,
    asked: Mutex<Vec<Option<String>>>,
}

#[async_trait]
impl TokenRefresher for ScriptedRefresher {
    async fn renew(&self, previous: Option<&str>) -> Result<ExternalTokens, TokenRefreshError> {
        self.asked.lock().push(previous.map(str::to_owned));
        self.answers.lock().remove(0)
    }
}

#[tokio::test]
async fn host_tokens_are_never_stored() {
    let test = LoginTest::new().await;
    test.accounts().log_in_with_api_key("sk").unwrap();
    let accounts = test.accounts();
    let tokens = |access_token: &str| ExternalTokens {
        access_token: access_token.to_owned(),
        account_id: "w1".to_owned(),
        plan: Some("Enterprise".to_owned()),
    };
    assert!(accounts.log_in_with_tokens(&tokens("no token")).is_err());
    let first = token("w1", -5);
    accounts.log_in_with_tokens(&tokens(&first)).unwrap();
    assert_eq!(access_token(accounts.current().await), first);
    assert_eq!(accounts.login().unwrap().plan(), Some(PlanType::Enterprise));
    assert!(accounts.log_in_with_api_key("sk").is_err());
    let text = accounts.recover(0).await.unwrap_err().to_string();
    assert_eq!(text, "external auth refresher is not configured");
    let second = token("w1", 60);
    let refresher = Arc::new(ScriptedRefresher {
        answers: Mutex::new(vec![Err(TokenRefreshError::NoClient), Ok(tokens(&second))]),
        asked: Mutex::default(),
    });
    accounts.set_token_refresher(Arc::clone(&refresher) as Arc<dyn TokenRefresher>);
    assert_eq!(
        accounts.recover(0).await.unwrap_err().to_string(),
        "auth refresh request canceled: no client is connected"
    );
    assert_eq!(accounts.recover(0).await, Ok(Recovery::Retry));
    assert_eq!(access_token(accounts.current().await), second);
    assert_eq!(accounts.recover(1).await, Ok(Recovery::Exhausted));
    assert_eq!(refresher.asked.lock()[1].as_deref(), Some("w1"));
    assert_eq!(test.stored()["OPENAI_API_KEY"], "sk");
    assert!(accounts.log_out().unwrap().was_logged_in);
    assert!(!test.home.path().join("auth.json").exists());
}

#[tokio::test]
async fn another_device_logs_in() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    let code = json!({ "device_auth_id": "d", "usercode": "AB-CD", "interval": "1" });
    let server = &test.server;
    server.push_for(
        "/api/accounts/deviceauth/usercode",
        HttpReply::json(200, &code),
    );
    let code = accounts.device_code().await.unwrap();
    assert_eq!(code.user_code, "AB-CD");
    assert!(code.verification_url.ends_with("/codex/device"));
    let granted = json!({ "authorization_code": "c", "code_verifier": "v" });
    server.push_for(
        "/api/accounts/deviceauth/token",
        HttpReply::json(200, &granted),
    );
    let id = token("w1", 60);
    let tokens = json!({ "id_token": id, "access_token": id, "refresh_token": "r" });
    server.push_for("/oauth/token", HttpReply::json(200, &tokens));
    accounts.log_in_with_device(&code).await.unwrap();
    assert_eq!(accounts.login().unwrap().mode(), AuthMode::Chatgpt);
    for (status, text) in [
        (404, "device code login is not enabled"),
        (500, "device code request failed with status 500"),
    ] {
        server.push_for(
            "/api/accounts/deviceauth/usercode",
            HttpReply::status(status),
        );
        let error = accounts.device_code().await.unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
    server.push_for("/api/accounts/deviceauth/token", HttpReply::status(418));
    let error = accounts.log_in_with_device(&code).await.unwrap_err();
    assert_eq!(error.to_string(), "device auth failed with status 418");
}

#[tokio::test]
async fn device_code_login_runs_until_granted_or_cancelled() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    let code = json!({ "device_auth_id": "d", "user_code": "AB-CD", "interval": "1" });
    let server = &test.server;
    let started = || async {
        let reply = HttpReply::json(200, &code);
        server.push_for("/api/accounts/deviceauth/usercode", reply);
        accounts.start_device_login().await.unwrap()
    };
    server.push_for("/api/accounts/deviceauth/token", HttpReply::status(418));
    let failed = started().await.outcome.await.unwrap().unwrap_err();
    assert_eq!(failed.to_string(), "device auth failed with status 418");
    server.push_for("/api/accounts/deviceauth/token", HttpReply::silence());
    let waiting = started().await;
    assert!(!accounts.cancel_login("another"));
    assert!(accounts.cancel_login(&waiting.id));
    assert!(waiting.outcome.await.is_err());
}

#[tokio::test]
async fn limits_need_a_chatgpt_login_and_a_backend() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    let error = accounts.rate_limits().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "codex account authentication required to read rate limits"
    );
    accounts.log_in_with_api_key("sk").unwrap();
    let error = accounts.rate_limits().await.unwrap_err().to_string();
    assert_eq!(error, "chatgpt authentication required to read rate limits");
    test.store("w1", &token("w1", 3600), "r1");
    let usage = json!({
        "plan_type": "pro",
        "rate_limit": { "primary_window": { "used_percent": 42, "limit_window_seconds": 60 } },
    });
    test.server
        .push_for("/api/codex/usage", HttpReply::json(200, &usage));
    let limits = accounts.rate_limits().await.unwrap();
    assert_eq!(limits.families[0].plan_type, Some(PlanType::Pro));
    let request = test.server.requests().pop().unwrap();
    assert_eq!(request.header("chatgpt-account-id"), Some("w1"));
    assert!(
        request
            .header("authorization")
            .unwrap()
            .starts_with("Bearer ")
    );
    test.server
        .push_for("/api/codex/usage", HttpReply::status(503).body("secret"));
    let error = accounts.rate_limits().await.unwrap_err().to_string();
    assert!(
        error.contains("failed: 503") && !error.contains("secret"),
        "{error}"
    );
    test.server
        .push_for("/api/codex/usage", HttpReply::status(200).body("[]"));
    let error = accounts.rate_limits().await.unwrap_err().to_string();
    assert!(error.contains("Decode error for "), "{error}");
}

#[cfg(not(any(windows, target_os = "macos")))]
#[tokio::test]
async fn keyring_refusal_names_the_alternative() {
    let mut test = LoginTest::new().await;
    test.settings.store = StoreKind::Keyring;
    let accounts = test.accounts();
    let error = accounts.log_in_with_api_key("sk").unwrap_err().to_string();
    assert!(error.starts_with("failed to save api key: "), "{error}");
    let error = accounts.log_out().unwrap_err().to_string();
    assert!(error.starts_with("logout failed: "), "{error}");
    assert_eq!(accounts.current().await, None);
}

#[tokio::test]
async fn renewal_fails_after_login_to_another_account() {
    let test = LoginTest::new().await;
    test.store("w1", &token("w1", 3600), "r1");
    let accounts = test.accounts();
    let latch = Latch::new();
    let reply = HttpReply::status(401).wait(&latch);
    let reply = reply.body(json!({ "error": "refresh_token_reused" }).to_string());
    test.server.push_for("/oauth/token", reply);
    let meanwhile = async {
        test.server.request(0).await;
        test.store("w2", &token("w2", 3600), "r1");
        latch.open();
    };
    let ((), renewed) = tokio::join!(meanwhile, accounts.renew());
    let text = renewed.unwrap_err().to_string();
    assert!(text.contains("signed in to another account"), "{text}");
    let Some(Credential::ChatGpt { account_id, .. }) = accounts.current().await else {
        panic!("nobody is logged in");
    };
    assert_eq!(account_id.as_deref(), Some("w2"));
}

#[tokio::test]
async fn logout_revokes_tokens_at_a_reachable_server() {
    let test = LoginTest::new().await;
    let accounts = test.accounts();
    for status in [200, 503] {
        test.store("w1", &token("w1", 3600), "r1");
        let logged_out = accounts.log_out().unwrap();
        assert!(logged_out.was_logged_in);
        assert_eq!(accounts.login(), None);
        test.server
            .push_for("/oauth/revoke", HttpReply::status(status));
        accounts.revoke(logged_out).await;
        let request = test.server.requests().pop().unwrap();
        let expected = json!({
            "token": "r1", "token_type_hint": "refresh_token",
            "client_id": test.settings.client_id,
        });
        assert_eq!(request.json(), expected);
    }
    // An API key is not revoked, as it is no token of the server.
    accounts.log_in_with_api_key("sk").unwrap();
    accounts.revoke(accounts.log_out().unwrap()).await;
    assert_eq!(test.server.requests().len(), 2);
}
