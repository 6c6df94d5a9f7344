//! Logins through the built server and the command line, with a scripted identity server.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::setup::PROGRAM;

/// A token for an account; the claims are what the service puts into one.
pub(crate) fn token(account: &str) -> String {
    // `{}` and the claims, each as base64 without padding.
    let claims = json!({
        "email": "me@here", "exp": 4_000_000_000_u32,
        "https://api.openai.com/auth": {
            "chatgpt_account_id": account, "chatgpt_plan_type": "pro",
        },
    });
    format!("e30.{}.s", base64(claims.to_string().as_bytes()))
}

/// The text of a stored ChatGPT login with this token.
pub(crate) fn stored_login(token: &str) -> String {
    json!({
        "auth_mode": "chatgpt", "OPENAI_API_KEY": null, "last_refresh": "2100-01-01T00:00:00Z",
        "tokens": {
            "id_token": token, "access_token": token, "refresh_token": "r1", "account_id": "w1",
        },
    })
    .to_string()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut bits = 0;
        for at in 0..3 {
            bits = bits << 8 | u32::from(chunk.get(at).copied().unwrap_or_default());
        }
        for at in 0..=chunk.len() {
            let letter = (bits >> (18 - 6 * at)) & 63;
            text.push(char::from(LETTERS[letter as usize]));
        }
    }
    text
}

struct AccountTest {
    home: TempDir,
    service: ModelServer,
}

impl AccountTest {
    /// A home whose models, logins and backend are all at one scripted server.
    async fn new(more: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let service = ModelServer::start([]).await.unwrap();
        let url = service.base_url();
        let config = format!("openai_base_url = \"{url}\"\nchatgpt_base_url = \"{url}\"\n{more}");
        fs::write(home.path().join("config.toml"), config).unwrap();
        Self { home, service }
    }

    async fn server(&self) -> AppServer {
        let issuer = self.service.base_url();
        let variables = [("CODEX_LOGIN_ISSUER", &*issuer), ("CODEX_LOGIN_PORT", "0")];
        let mut server = AppServer::start_in(PROGRAM, self.home.path(), &variables).unwrap();
        server.initialize_experimental().await;
        server
    }

    fn auth_file(&self) -> Value {
        let text = fs::read(self.home.path().join("auth.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

/// Runs a turn, and says how it ended.
async fn turn(server: &mut AppServer) -> Value {
    let thread = server.start_thread().await;
    server.run_turn(&thread, "hello").await
}

#[tokio::test]
async fn new_api_key_is_used_by_next_request() {
    let test = AccountTest::new("").await;
    let mut server = test.server().await;
    let nobody = json!({ "account": null, "requiresOpenaiAuth": true });
    assert_eq!(server.result("account/read", json!({})).await, nobody);
    let params = json!({ "type": "apiKey", "apiKey": "sk-e2e" });
    let reply = server.result("account/login/start", params).await;
    assert_eq!(reply, json!({ "type": "apiKey" }));
    let completed = server.wait_for("account/login/completed").await.unwrap();
    let expected = json!({ "loginId": null, "success": true, "error": null });
    assert_eq!(completed["params"], expected);
    let updated = server.wait_for("account/updated").await.unwrap();
    let expected = json!({ "authMode": "apikey", "planType": null });
    assert_eq!(updated["params"], expected);
    let status = server
        .result("getAuthStatus", json!({ "includeToken": true }))
        .await;
    assert_eq!(
        (&status["authMethod"], &status["authToken"]),
        (&json!("apikey"), &json!("sk-e2e"))
    );
    let status = server.result("getAuthStatus", json!({})).await;
    assert_eq!(status["authToken"], json!(null));
    test.service
        .push_for("/responses", HttpReply::stream(&sse::text("hi")));
    assert_eq!(turn(&mut server).await["status"], "completed");
    let request = test.service.request(0).await;
    assert_eq!(request.header("authorization"), Some("Bearer sk-e2e"));
    assert_eq!(
        server.result("account/logout", json!(null)).await,
        json!({})
    );
    let updated = server.wait_for("account/updated").await.unwrap();
    assert_eq!(
        updated["params"],
        json!({ "authMode": null, "planType": null })
    );
    assert_eq!(server.result("account/read", json!({})).await, nobody);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_provider_that_needs_no_login_has_no_account() {
    let test = AccountTest::new("model_provider = \"ollama\"\n").await;
    let mut server = test.server().await;
    let expected = json!({ "account": null, "requiresOpenaiAuth": false });
    assert_eq!(server.result("account/read", json!({})).await, expected);
    let status = server
        .result("getAuthStatus", json!({ "includeToken": true }))
        .await;
    let expected = json!({ "authMethod": null, "authToken": null, "requiresOpenaiAuth": false });
    assert_eq!(status, expected);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn login_methods_against_the_settings_are_refused() {
    let test = AccountTest::new("forced_login_method = \"chatgpt\"\n").await;
    let mut server = test.server().await;
    for (method, params, code, start) in [
        (
            "account/login/start",
            json!({ "type": "apiKey", "apiKey": "sk" }),
            -32600,
            "API key login is disabled.",
        ),
        (
            "account/login/start",
            json!({ "type": "chatgptAuthTokens", "accessToken": "x", "chatgptAccountId": "w" }),
            -32603,
            "failed to set external auth: invalid ID token format",
        ),
        (
            "account/login/cancel",
            json!({ "loginId": "x" }),
            -32600,
            "invalid login id: x",
        ),
        (
            "account/rateLimits/read",
            json!(null),
            -32600,
            "codex account authentication required to read rate limits",
        ),
    ] {
        let (got, message) = server.refusal(method, params).await;
        assert_eq!(got, code, "{message}");
        assert!(message.starts_with(start), "{message}");
    }
    server.finish().await.unwrap();
}

/// Sends the browser back to where it came from, with a code.
async fn come_back(auth_url: &str) {
    let get = |name: &str| {
        let query = auth_url.split_once('?').unwrap().1;
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(known, _)| *known == name);
        found.next().unwrap().1.to_owned()
    };
    let back = get("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    let back = back.strip_prefix("http://localhost:").unwrap().to_owned();
    let (port, path) = back.split_once('/').unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))
        .await
        .unwrap();
    let request = format!("GET /{path}?state={}&code=c HTTP/1.1\r\n\r\n", get("state"));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 302"), "{reply}");
}

#[tokio::test]
async fn a_browser_logs_in_and_the_login_renews_itself() {
    let test = AccountTest::new("").await;
    let mut server = test.server().await;
    let start = json!({ "type": "chatgpt" });
    let first = server.result("account/login/start", start.clone()).await;
    let cancel = json!({ "loginId": first["loginId"] });
    let status = server.result("account/login/cancel", cancel.clone()).await;
    assert_eq!(status, json!({ "status": "canceled" }));
    let completed = server.wait_for("account/login/completed").await.unwrap();
    assert_eq!(completed["params"]["success"], false);
    let status = server.result("account/login/cancel", cancel).await;
    assert_eq!(status, json!({ "status": "notFound" }));
    let second = server.result("account/login/start", start).await;
    let tokens = json!({
        "id_token": token("w1"), "access_token": token("w1"), "refresh_token": "r1",
    });
    test.service
        .push_for("/oauth/token", HttpReply::json(200, &tokens));
    come_back(second["authUrl"].as_str().unwrap()).await;
    let completed = server.wait_for("account/login/completed").await.unwrap();
    let expected = json!({ "loginId": second["loginId"], "success": true, "error": null });
    assert_eq!(completed["params"], expected);
    let updated = server.wait_for("account/updated").await.unwrap();
    let expected = json!({ "authMode": "chatgpt", "planType": "pro" });
    assert_eq!(updated["params"], expected);
    let account = server.result("account/read", json!({})).await;
    let expected = json!({ "type": "chatgpt", "email": "me@here", "planType": "pro" });
    assert_eq!(account["account"], expected);
    // Refused twice: read again, renewed, accepted.
    for _ in 0..2 {
        test.service.push_for("/responses", HttpReply::status(401));
    }
    let renewed = json!({ "access_token": "new", "refresh_token": "r2" });
    test.service
        .push_for("/oauth/token", HttpReply::json(200, &renewed));
    test.service
        .push_for("/responses", HttpReply::stream(&sse::text("hi")));
    assert_eq!(turn(&mut server).await["status"], "completed");
    let last = test.service.requests().pop().unwrap();
    assert_eq!(last.header("authorization"), Some("Bearer new"));
    assert_eq!(last.header("chatgpt-account-id"), Some("w1"));
    assert_eq!(last.header("content-encoding"), Some("zstd"));
    assert!(last.json()["input"].is_array());
    assert_eq!(test.auth_file()["tokens"]["refresh_token"], "r2");
    let usage = json!({ "plan_type": "pro", "rate_limit": {
        "primary_window": { "used_percent": 42, "limit_window_seconds": 18000, "reset_at": 7 } } });
    test.service
        .push_for("/api/codex/usage", HttpReply::json(200, &usage));
    let limits = server.result("account/rateLimits/read", json!(null)).await;
    let primary = json!({ "usedPercent": 42, "windowDurationMins": 300, "resetsAt": 7 });
    assert_eq!(limits["rateLimits"]["primary"], primary);
    assert!(limits["rateLimitsByLimitId"]["codex"].is_object());
    let (code, message) = server.refusal("account/rateLimits/read", json!(null)).await;
    assert_eq!(code, -32603, "{message}");
    let before = test.service.requests().len();
    server.result("account/logout", json!(null)).await;
    let revocation = test.service.request(before).await.json();
    assert_eq!(revocation["token"], "r2");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_business_account_opens_no_thread_without_its_limits() {
    let test = AccountTest::new("").await;
    let mut server = test.server().await;
    let log_in = async |server: &mut AppServer, plan: &str| {
        let params = json!({ "type": "chatgptAuthTokens", "accessToken": token("w1"),
            "chatgptAccountId": "w1", "chatgptPlanType": plan });
        server.result("account/login/start", params).await;
    };
    // Other accounts have none.
    log_in(&mut server, "pro").await;
    server.result("thread/start", json!({})).await;
    let path = "/api/codex/config/requirements";
    let asked = |test: &AccountTest| {
        let requests = test.service.requests();
        let asked = requests
            .iter()
            .filter(|request| request.path.ends_with(path));
        asked.count()
    };
    assert_eq!(asked(&test), 0);

    log_in(&mut server, "business").await;
    test.service
        .push_for(path, HttpReply::status(200).body("{"));
    let reply = server.call("thread/start", json!({})).await.unwrap();
    let error = &reply["error"];
    assert_eq!(error["code"], -32600, "{reply}");
    let detail = "failed to load your workspace-managed config";
    assert_eq!(
        error["message"],
        format!("failed to load configuration: {detail}")
    );
    let expected = json!({ "reason": "cloudRequirements", "errorCode": "Parse", "detail": detail });
    assert_eq!(error["data"], expected);
    (0..5).for_each(|_| test.service.push_for(path, HttpReply::status(503)));
    let reply = server.call("thread/start", json!({})).await.unwrap();
    let data = &reply["error"]["data"];
    assert_eq!(
        (&data["errorCode"], &data["statusCode"]),
        (&json!("RequestFailed"), &json!(503))
    );
    assert_eq!(asked(&test), 6);
    test.service.push_for(path, HttpReply::status(401));
    let begun = server.begin("thread/start", json!({})).await.unwrap();
    let asked_for = server
        .wait_for("account/chatgptAuthTokens/refresh")
        .await
        .unwrap();
    let no = json!({ "id": asked_for["id"], "error": { "code": -32000, "message": "no" } });
    server.send(&no).await.unwrap();
    let reply = server.reply_to(begun).await.unwrap();
    let data = &reply["error"]["data"];
    let refused = (&data["errorCode"], &data["statusCode"], &data["action"]);
    assert_eq!(
        refused,
        (&json!("Auth"), &json!(401), &json!("relogin")),
        "{reply}"
    );

    // One failure may pass; what is answered holds, also for the next thread.
    let limits = json!({ "contents": "allowed_sandbox_modes = [\"read-only\"]" });
    test.service.push_for(path, HttpReply::status(500));
    test.service.push_for(path, HttpReply::json(200, &limits));
    let wider = json!({ "sandbox": "danger-full-access" });
    for _ in 0..2 {
        let thread = server.result("thread/start", json!({})).await;
        assert_eq!(thread["sandbox"]["type"], "readOnly");
        let thread = server.result("thread/start", wider.clone()).await;
        assert_eq!(thread["sandbox"]["type"], "readOnly");
    }
    assert_eq!(asked(&test), 9);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn chatgpt_login_lists_models_of_service() {
    let test = AccountTest::new("features.apps = false\n").await;
    let mut server = test.server().await;
    let login = json!({
        "type": "chatgptAuthTokens", "accessToken": token("w1"), "chatgptAccountId": "w1",
    });
    server.result("account/login/start", login).await;
    let entry = json!({
        "slug": "gpt-next", "display_name": "Next", "description": null,
        "supported_reasoning_levels": [], "shell_type": "shell_command", "visibility": "list",
        "supported_in_api": false, "priority": -5, "supports_reasoning_summaries": false,
        "support_verbosity": false, "supports_parallel_tool_calls": false,
        "truncation_policy": { "mode": "bytes", "limit": 1000 },
    });
    let list = json!({ "models": [entry] });
    test.service
        .push_for("/models", HttpReply::json(200, &list));
    for _ in 0..2 {
        let models = server.result("model/list", json!({})).await;
        assert_eq!(models["data"][0]["id"], "gpt-next");
    }
    assert_eq!(test.service.requests().len(), 1);
    assert!(test.home.path().join("models_cache.json").exists());
    // A reply that names another version of the list has it asked for again, beside the turn.
    let reply = HttpReply::stream(&sse::text("hi")).header("x-models-etag", "newer");
    test.service.push_for("/responses", reply);
    test.service
        .push_for("/models", HttpReply::json(200, &list));
    assert_eq!(turn(&mut server).await["status"], "completed");
    assert!(test.service.request(1).await.path.contains("/responses"));
    assert!(test.service.request(2).await.path.contains("/models"));
    server.finish().await.unwrap();
}

/// As releases 0.169 and 0.171 answer.
#[tokio::test]
async fn a_login_whose_renewal_was_refused_is_no_account() {
    let error = |code: &str| json!({ "error": { "code": code, "message": "no" } });
    for (status, body, is_refused) in [
        (401, error("refresh_token_invalidated"), true),
        (401, error("other"), true),
        (400, error("invalid_grant"), true),
        (400, json!({ "error": "invalid_grant" }), true),
        (400, error("other"), false),
        (500, error("other"), false),
    ] {
        let test = AccountTest::new("").await;
        let file = test.home.path().join("auth.json");
        fs::write(&file, stored_login(&token("w1"))).unwrap();
        let mut server = test.server().await;
        let known = json!({ "account": { "type": "chatgpt", "email": "me@here", "planType": "pro" },
            "requiresOpenaiAuth": true });
        assert_eq!(server.result("account/read", json!({})).await, known);
        for _ in 0..2 {
            test.service
                .push_for("/oauth/token", HttpReply::json(status, &body));
        }
        let nobody = json!({ "account": null, "requiresOpenaiAuth": true });
        let expected = if is_refused { &nobody } else { &known };
        let renewing = json!({ "refreshToken": true });
        for params in [renewing.clone(), json!({}), renewing] {
            let read = server.result("account/read", params).await;
            assert_eq!(read, *expected, "{status} {body}");
        }
        let with_token = json!({ "includeToken": true });
        let read = server.result("getAuthStatus", with_token).await;
        assert_eq!(read["authMethod"], "chatgpt");
        assert_eq!(read["authToken"].is_null(), is_refused);
        // The login is kept, and another one takes its place.
        assert_eq!(test.auth_file()["tokens"]["refresh_token"], "r1");
        let key = json!({ "type": "apiKey", "apiKey": "sk-1" });
        server.result("account/login/start", key).await;
        let read = server.result("account/read", json!({})).await;
        assert_eq!(read["account"], json!({ "type": "apiKey" }));
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn amazon_bedrock_is_an_account_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    fs::write(&config, "model_provider = \"amazon-bedrock\"\n").unwrap();
    let mut older = AppServer::start_in(PROGRAM, home.path(), &[]).unwrap();
    older.initialize().await;
    let none = json!({ "account": null, "requiresOpenaiAuth": false });
    assert_eq!(older.result("account/read", json!({})).await, none);
    older.finish().await.unwrap();
    let newer = ["--newer-clients"];
    let mut server = AppServer::start_with(PROGRAM, home.path(), &newer).unwrap();
    server.initialize_experimental().await;
    let account = |is_managed: bool| {
        json!({
            "account": { "type": "amazonBedrock", "usesCodexManagedCredentials": is_managed },
            "requiresOpenaiAuth": false,
        })
    };
    for params in [json!({}), json!({ "refreshToken": true })] {
        assert_eq!(server.result("account/read", params).await, account(false));
    }
    let read = server.result("getAuthStatus", json!({})).await;
    let none = json!({ "authMethod": null, "authToken": null, "requiresOpenaiAuth": false });
    assert_eq!(read, none);
    // Keys that another release has stored.
    let keys = json!({ "auth_mode": "bedrockApiKey", "OPENAI_API_KEY": null,
        "bedrock_api_key": { "api_key": "bk-1", "region": "us-east-1" } });
    fs::write(home.path().join("auth.json"), keys.to_string()).unwrap();
    assert_eq!(
        server.result("account/read", json!({})).await,
        account(true)
    );
    fs::write(&config, "").unwrap();
    let (code, message) = server.refusal("account/read", json!({})).await;
    assert_eq!(code, -32600, "{message}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn rate_limits_are_read_from_replies_and_refusals() {
    let test = AccountTest::new("").await;
    let mut server = test.server().await;
    let key = json!({ "type": "apiKey", "apiKey": "sk-1" });
    server.result("account/login/start", key).await;
    let thread = server.result("thread/start", json!({})).await;
    let input = json!([{ "type": "text", "text": "hello" }]);
    let turn = json!({ "threadId": thread["thread"]["id"], "input": input });
    let heading = |reply: HttpReply, family: &str, used: &str| {
        let header = |part: &str| format!("x-{family}-primary-{part}");
        reply
            .header(&header("used-percent"), used)
            .header(&header("window-minutes"), "300")
    };
    let hello = HttpReply::stream(&sse::text("hi"));
    let refusal =
        json!({ "error": { "type": "usage_limit_reached", "resets_at": 4_102_444_800_u32 } });
    let refusal = HttpReply::json(429, &refusal)
        .header("x-codex-active-limit", "codex-other")
        .header("x-codex-other-limit-name", "Other");
    for (reply, family, used) in [(hello, "codex", "42"), (refusal, "codex-other", "100")] {
        let reply = heading(reply, family, used);
        test.service.push_for("/responses", reply);
        server.result("turn/start", turn.clone()).await;
        let notification = server.wait_for("account/rateLimits/updated").await.unwrap();
        let limits = &notification["params"]["rateLimits"];
        assert_eq!(
            limits["limitId"],
            family.replace('-', "_"),
            "{notification}"
        );
        let primary = &limits["primary"];
        assert_eq!(primary["usedPercent"].to_string(), used);
        assert_eq!(primary["windowDurationMins"], 300);
        let ended = server.wait_for("turn/completed").await.unwrap();
        let error = &ended["params"]["turn"]["error"]["codexErrorInfo"];
        let is_refused = family == "codex-other";
        assert_eq!(*error == "usageLimitExceeded", is_refused, "{ended}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn tokens_of_the_client_are_renewed_by_the_client() {
    let test = AccountTest::new("").await;
    let mut server = test.server().await;
    let login = json!({
        "type": "chatgptAuthTokens", "accessToken": token("w1"), "chatgptAccountId": "w1",
        "chatgptPlanType": "team",
    });
    let reply = server.result("account/login/start", login).await;
    assert_eq!(reply, json!({ "type": "chatgptAuthTokens" }));
    let updated = server.wait_for("account/updated").await.unwrap();
    let expected = json!({ "authMode": "chatgptAuthTokens", "planType": "team" });
    assert_eq!(updated["params"], expected);
    let params = json!({ "type": "apiKey", "apiKey": "sk" });
    let (code, message) = server.refusal("account/login/start", params).await;
    assert_eq!(code, -32600);
    assert!(message.starts_with("External auth is active."), "{message}");
    test.service.push_for("/responses", HttpReply::status(401));
    test.service
        .push_for("/responses", HttpReply::stream(&sse::text("hi")));
    let thread = server.start_thread().await;
    server.start_turn(&thread, "hello").await;
    let question = server
        .wait_for("account/chatgptAuthTokens/refresh")
        .await
        .unwrap();
    let expected = json!({ "reason": "unauthorized", "previousAccountId": "w1" });
    assert_eq!(question["params"], expected);
    let fresh = token("w1-again");
    let answer = json!({ "id": question["id"], "result": {
        "accessToken": fresh, "chatgptAccountId": "w1", "chatgptPlanType": null } });
    server.send(&answer).await.unwrap();
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed");
    let last = test.service.requests().pop().unwrap();
    let bearer = format!("Bearer {fresh}");
    assert_eq!(last.header("authorization"), Some(bearer.as_str()));
    assert!(!test.home.path().join("auth.json").exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn client_without_tokens_fails_only_the_turn() {
    let more = "[model_providers.service]\nname = \"Service\"\nrequires_openai_auth = true\n\
                request_max_retries = 0\nstream_max_retries = 0\n";
    // Apps would ask for tokens, too.
    let settings = "model_provider = \"service\"\nfeatures.apps = false\n";
    let test = AccountTest::new(settings).await;
    let path = test.home.path().join("config.toml");
    let config = fs::read_to_string(&path).unwrap();
    let url = test.service.base_url();
    fs::write(&path, format!("{config}{more}base_url = \"{url}\"\n")).unwrap();
    let mut server = test.server().await;
    let login = json!({
        "type": "chatgptAuthTokens", "accessToken": token("w1"), "chatgptAccountId": "w1",
    });
    server.result("account/login/start", login).await;
    test.service.always(HttpReply::status(401));
    let thread = server.start_thread().await;
    server.start_turn(&thread, "hello").await;
    let question = server
        .wait_for("account/chatgptAuthTokens/refresh")
        .await
        .unwrap();
    let error = json!({ "code": -1, "message": "nobody home" });
    let answer = json!({ "id": question["id"], "error": error });
    server.send(&answer).await.unwrap();
    let turn = &server.completed_turn().await;
    assert_eq!(turn["status"], "failed");
    let message = turn["error"]["message"].as_str().unwrap();
    let expected = "auth refresh request failed: code=-1 message=nobody home";
    assert!(message.contains(expected), "{message}");
    server.result("account/read", json!({})).await;
    server.finish().await.unwrap();
}

/// Runs the binary with this home, and this on its standard input.
fn codex(home: &Path, arguments: &[&str], input: &str) -> Output {
    codex_with(home, arguments, &[], input)
}

fn codex_with(home: &Path, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(arguments)
        .env("HOME", home)
        .env("CODEX_HOME", home)
        .envs(variables.iter().copied())
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that does not read may be gone by now.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn command_line_logs_in_and_out() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| {
        let output = codex(home.path(), arguments, input);
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    assert_eq!(
        run(&["login", "status"], ""),
        (1, "Not logged in\n".to_owned())
    );
    assert_eq!(run(&["login", "--with-api-key"], " \n").0, 1);
    assert_eq!(run(&["login", "--api-key", "sk"], "").0, 1);
    let (code, text) = run(&["login", "--with-api-key"], "sk-proj-abcdefghijkl\n");
    assert_eq!((code, text.as_str()), (0, "Successfully logged in\n"));
    let expected = "Logged in using an API key - sk-proj-***hijkl\n";
    assert_eq!(run(&["login", "status"], ""), (0, expected.to_owned()));
    let forced = [
        "login",
        "--with-api-key",
        "-c",
        "forced_login_method=\"chatgpt\"",
    ];
    let (code, text) = run(&forced, "sk-other");
    assert_eq!(code, 1);
    assert!(
        text.starts_with("Error logging in: API key login is disabled."),
        "{text}"
    );
    let expected = "Successfully logged out\n";
    assert_eq!(run(&["logout"], ""), (0, expected.to_owned()));
    assert_eq!(run(&["logout"], ""), (0, "Not logged in\n".to_owned()));
    let local = ["-c", "model_provider=\"ollama\"", "login", "status"];
    assert_eq!(run(&local, "").0, 0);
}

#[tokio::test]
async fn listed_workspaces_restrict_logins() {
    for (setting, is_allowed) in [
        ("['w0', 'w1']", true),
        ("['w1']", true),
        ("'w1'", true),
        ("[]", true),
        ("['w0', 'w2']", false),
        ("'w2'", false),
        // The rest of the settings is invalid.
        ("['w0', 'w1']\nmodel = 3", true),
        ("['w0', 'w2']\nmodel = 3", false),
    ] {
        let settings = format!("forced_chatgpt_workspace_id = {setting}\n");
        let test = AccountTest::new(&settings).await;
        fs::write(
            test.home.path().join("auth.json"),
            stored_login(&token("w1")),
        )
        .unwrap();
        let mut server = test.server().await;
        let account = server.result("account/read", json!({})).await;
        assert_eq!(
            account["account"].is_object(),
            is_allowed,
            "{setting}: {account}"
        );
        let login = json!({ "type": "chatgpt" });
        let started = server.result("account/login/start", login).await;
        let url = started["authUrl"].as_str().unwrap();
        let (_, allowed) = url.split_once("allowed_workspace_id=").unwrap_or_default();
        let listed = setting.lines().next().unwrap();
        let listed = listed
            .replace(['[', ']', '\'', ' '], "")
            .replace(',', "%2C");
        assert_eq!(allowed.split('&').next().unwrap(), listed, "{url}");
        if !setting.contains("model") {
            let read = server.result("config/read", json!({})).await;
            let shown = &read["config"]["forced_chatgpt_workspace_id"];
            // This client counts as one of 0.117, which knows one workspace.
            assert_eq!(*shown, listed.replace("%2C", ","), "{setting}");
        }
        server.finish().await.unwrap();
    }
}

/// What the service says of the owner of a personal access token.
fn owner(account: &str) -> Value {
    json!({
        "email": "me@here", "chatgpt_user_id": "u1", "chatgpt_account_id": account,
        "chatgpt_plan_type": "pro", "chatgpt_account_is_fedramp": true,
    })
}

impl AccountTest {
    /// A server with a personal access token in its environment.
    fn server_with_token(&self, token: &str) -> AppServer {
        let accounts = self.service.base_url();
        let variables = [
            ("CODEX_ACCESS_TOKEN", token),
            ("CODEX_AUTHAPI_BASE_URL", &*accounts),
        ];
        AppServer::start_in(PROGRAM, self.home.path(), &variables).unwrap()
    }
}

const WHO_AM_I: &str = "/v1/user-auth-credential/whoami";

#[tokio::test]
async fn personal_access_token_logs_in_its_owner() {
    let test = AccountTest::new("").await;
    test.service
        .push_for(WHO_AM_I, HttpReply::json(200, &owner("w1")));
    test.service
        .push_for("/responses", HttpReply::stream(&sse::text("hi")));
    fs::write(
        test.home.path().join("auth.json"),
        r#"{"OPENAI_API_KEY":"sk-stored"}"#,
    )
    .unwrap();
    let mut server = test.server_with_token("at-secret");
    server.initialize_experimental().await;
    let account = server.result("account/read", json!({})).await;
    let expected = json!({
        "account": { "type": "chatgpt", "email": "me@here", "planType": "pro" },
        "requiresOpenaiAuth": true,
    });
    assert_eq!(account, expected);
    assert_eq!(turn(&mut server).await["status"], "completed");
    let requests = test.service.requests();
    let sent_to = |path: &str| -> Vec<_> {
        let to_path = requests.iter().filter(|one| one.path.ends_with(path));
        to_path.collect()
    };
    let asked = sent_to(WHO_AM_I);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("authorization"), Some("Bearer at-secret"));
    let sent = sent_to("/responses")[0];
    assert_eq!(sent.header("authorization"), Some("Bearer at-secret"));
    assert_eq!(sent.header("chatgpt-account-id"), Some("w1"));
    assert_eq!(sent.header("x-openai-fedramp"), Some("true"));
    // The token is in no reply, and a client of 0.117 knows no such kind of login.
    let status = json!({ "includeToken": true });
    let status = server.result("getAuthStatus", status).await;
    let expected =
        json!({ "authMethod": "chatgpt", "authToken": null, "requiresOpenaiAuth": true });
    assert_eq!(status, expected);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn personal_access_token_of_an_unknown_owner_is_refused() {
    let refused = HttpReply::json(401, &json!({}));
    let unreadable = HttpReply::json(200, &json!({ "email": "me@here" }));
    let of_another_workspace = HttpReply::json(200, &owner("w2"));
    for reply in [refused, unreadable, of_another_workspace] {
        let test = AccountTest::new("forced_chatgpt_workspace_id = \"w1\"\n").await;
        fs::write(
            test.home.path().join("auth.json"),
            stored_login(&token("w1")),
        )
        .unwrap();
        test.service.push_for(WHO_AM_I, reply);
        let mut server = test.server_with_token("at-secret");
        server.initialize_experimental().await;
        let nobody = json!({ "account": null, "requiresOpenaiAuth": true });
        for _ in 0..2 {
            assert_eq!(server.result("account/read", json!({})).await, nobody);
        }
        let status = server.result("getAuthStatus", json!({})).await;
        assert_eq!(status["authMethod"], json!(null));
        assert_eq!(test.service.requests().len(), 1);
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn access_token_of_another_kind_is_not_sent_anywhere() {
    let test = AccountTest::new("").await;
    fs::write(
        test.home.path().join("auth.json"),
        stored_login(&token("w1")),
    )
    .unwrap();
    let mut server = test.server_with_token(&token("w1"));
    server.initialize_experimental().await;
    let nobody = json!({ "account": null, "requiresOpenaiAuth": true });
    assert_eq!(server.result("account/read", json!({})).await, nobody);
    assert!(test.service.requests().is_empty());
    server.finish().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_access_token_is_stored_by_command_line() {
    let test = AccountTest::new("").await;
    test.service
        .push_for(WHO_AM_I, HttpReply::json(401, &json!({})));
    let accounts = test.service.base_url();
    let log_in = |arguments: &[&str], input: &str| {
        let variables = [("CODEX_AUTHAPI_BASE_URL", &*accounts)];
        codex_with(test.home.path(), arguments, &variables, input)
    };
    let with_token = ["login", "--with-access-token"];
    let refused = log_in(&with_token, "at-secret");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        text.contains("refused") && !text.contains("at-secret"),
        "{text}"
    );
    assert!(!test.home.path().join("auth.json").exists());
    test.service
        .push_for(WHO_AM_I, HttpReply::json(200, &owner("w1")));
    assert!(log_in(&with_token, "at-secret\n").status.success());
    let expected = json!({ "OPENAI_API_KEY": null, "personal_access_token": "at-secret" });
    assert_eq!(test.auth_file(), expected);
    test.service
        .push_for(WHO_AM_I, HttpReply::json(200, &owner("w1")));
    let status = log_in(&["login", "status"], "");
    assert!(status.status.success());
    let text = String::from_utf8_lossy(&status.stderr).into_owned();
    assert!(text.contains("personal access token"), "{text}");
}
