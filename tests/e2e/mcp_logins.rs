//! Logins to MCP servers: what is asked, what is kept, and who is not let in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{SystemTime, UNIX_EPOCH};

use codex_test_support::AppServer;
use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::Request;

use crate::oauth_server::{OauthServer, body_of, browse, parameter};
use crate::setup::server;

const COMPLETED_METHOD: &str = "mcpServer/oauthLogin/completed";

/// A home that knows a server, which wants a login.
struct McpLoginTest {
    web: OauthServer,
    home: TempDir,
    server: AppServer,
}

impl McpLoginTest {
    async fn new(keys: &str) -> Self {
        Self::with_keys(keys, |_| {}).await
    }

    /// `prepare` is given the home folder before anything starts.
    async fn with_keys(keys: &str, prepare: impl FnOnce((&TempDir, &OauthServer))) -> Self {
        let web = OauthServer::start().await;
        let home = tempfile::tempdir().unwrap();
        let url = web.url();
        let config = format!("{keys}\n[mcp_servers.web]\nurl = \"{url}\"\n");
        fs::write(home.path().join("config.toml"), config).unwrap();
        prepare((&home, &web));
        let server = server(&home).await;
        Self { web, home, server }
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.server.call(method, params).await.unwrap()
    }

    /// Begins a login: the address for the browser.
    async fn begin(&mut self, params: Value) -> String {
        let mut all = json!({ "name": "web" });
        all.as_object_mut()
            .unwrap()
            .extend(params.as_object().unwrap().clone());
        let reply = self.call("mcpServer/oauth/login", all).await;
        let url = reply["result"]["authorizationUrl"].as_str();
        url.unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    /// How a login that does not begin is refused.
    async fn refusal(&mut self) -> String {
        let reply = self
            .call("mcpServer/oauth/login", json!({ "name": "web" }))
            .await;
        assert_eq!(reply["error"]["code"], -32603, "{reply}");
        reply["error"]["message"].as_str().unwrap().to_owned()
    }

    /// The end of a login, without its id.
    async fn completed(&mut self) -> Value {
        let mut completed = self.completed_with_id().await;
        completed.as_object_mut().unwrap().remove("loginId");
        completed
    }

    async fn completed_with_id(&mut self) -> Value {
        let notification = self.server.wait_for(COMPLETED_METHOD).await.unwrap();
        notification["params"].clone()
    }

    async fn status(&mut self) -> (Value, Vec<String>) {
        let reply = self.call("mcpServerStatus/list", json!({})).await;
        let found = &reply["result"]["data"][0];
        let tools = found["tools"].as_object().unwrap();
        (found["authStatus"].clone(), tools.keys().cloned().collect())
    }

    fn kept(&self) -> Value {
        let text = fs::read(self.home.path().join(".credentials.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

/// Where the browser is sent back.
fn back(authorization: &str) -> String {
    parameter(authorization, "redirect_uri").unwrap()
}

/// Comes back with a code, as the authorisation server has the browser do it.
async fn come_back(authorization: &str) -> (String, String) {
    let state = parameter(authorization, "state").unwrap();
    browse(&format!(
        "{}?code=the-code&state={state}",
        back(authorization)
    ))
    .await
}

fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn login_stores_and_uses_tokens() {
    let mut test = McpLoginTest::new("").await;
    assert_eq!(test.status().await, ("notLoggedIn".into(), Vec::new()));
    let url = test.begin(json!({})).await;
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "client"),
        ("code_challenge_method", "S256"),
        ("scope", "read write"),
    ] {
        assert_eq!(parameter(&url, name).as_deref(), Some(value));
    }
    let back = back(&url);
    assert!(back.starts_with("http://127.0.0.1:"), "{back}");
    let registrations = test.web.requests_at("/register").await;
    let notification: Value = serde_json::from_slice(&registrations[0].body).unwrap();
    assert_eq!(notification["redirect_uris"], json!([back]));
    let (status, page) = come_back(&url).await;
    assert!(
        status.contains(" 200 ") && page.contains("complete"),
        "{status} {page}"
    );
    assert_eq!(
        test.completed().await,
        json!({ "name": "web", "success": true })
    );
    let exchanges = test.web.requests_at("/token").await;
    assert!(
        body_of(&exchanges[0])
            .contains("grant_type=authorization_code&code=the-code&code_verifier=")
    );
    let kept = test.kept();
    let (key, entry) = kept.as_object().unwrap().iter().next().unwrap();
    assert!(key.starts_with("web|") && key.len() == 20, "{key}");
    assert!(entry["expires_at"].as_u64().unwrap() > milliseconds());
    let expected = json!({
        "server_name": "web", "server_url": test.web.url(), "client_id": "client",
        "access_token": "access-1", "refresh_token": "refresh-1", "scopes": [],
        "expires_at": entry["expires_at"],
    });
    assert_eq!(*entry, expected);
    let path = test.home.path().join(".credentials.json");
    assert_eq!(
        fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        test.status().await,
        ("oAuth".into(), vec!["echo".to_owned()])
    );
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn only_the_browser_that_was_sent_ends_a_login() {
    let mut test = McpLoginTest::new("").await;
    let url = test.begin(json!({ "scopes": ["own"] })).await;
    assert_eq!(parameter(&url, "scope").as_deref(), Some("own"));
    let back = back(&url);
    for strange in [
        format!("{back}?code=theirs&state=guessed"),
        format!("{back}?code=theirs"),
        format!("{back}?error=access_denied&state=guessed"),
        back.replace("/callback", "/other"),
    ] {
        let (status, _) = browse(&strange).await;
        assert!(status.contains(" 400 "), "{strange}: {status}");
    }
    assert!(test.web.requests_at("/token").await.is_empty());
    come_back(&url).await;
    assert_eq!(test.completed().await["success"], true);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn refused_or_slow_login_is_reported() {
    let mut test = McpLoginTest::new("").await;
    let url = test.begin(json!({})).await;
    let state = parameter(&url, "state").unwrap();
    let refused = format!(
        "{}?error=access_denied&error_description=not+you&state={state}",
        back(&url)
    );
    browse(&refused).await;
    let expected = json!({ "name": "web", "success": false,
        "error": "OAuth provider returned `access_denied`: not you" });
    assert_eq!(test.completed().await, expected);
    test.begin(json!({ "timeoutSecs": 0 })).await;
    let expected = json!({ "name": "web", "success": false,
        "error": "timed out waiting for OAuth callback" });
    assert_eq!(test.completed().await, expected);
    assert!(!test.home.path().join(".credentials.json").exists());
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn the_last_of_several_logins_counts() {
    let mut test = McpLoginTest::new("").await;
    let first = test.begin(json!({})).await;
    let second = test.begin(json!({})).await;
    let given_up = test.completed().await;
    assert_eq!(given_up["success"], false);
    assert_eq!(given_up["error"], "another login took its place");
    let port = back(&first).replace("http://", "").replace("/callback", "");
    assert!(tokio::net::TcpStream::connect(port).await.is_err());
    come_back(&second).await;
    assert_eq!(test.completed().await["success"], true);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn nonsense_of_an_authorisation_server_is_named() {
    let mut test = McpLoginTest::new("").await;
    test.web
        .answer("/register", 400, r#"{"error":"invalid_redirect_uri"}"#);
    let refusal = test.refusal().await;
    assert!(
        refusal.ends_with("400 Bad Request: invalid_redirect_uri"),
        "{refusal}"
    );
    test.web.answer("/register", 200, "<html>");
    let refusal = test.refusal().await;
    assert!(refusal.ends_with("does not reply with JSON"), "{refusal}");
    test.web
        .answer("/register", 200, r#"{"client_id":"client"}"#);
    test.web.answer("/token", 200, "access-secret");
    let url = test.begin(json!({})).await;
    let (status, page) = come_back(&url).await;
    assert!(
        status.contains(" 400 ") && !page.contains("secret"),
        "{page}"
    );
    let expected =
        "failed to handle OAuth callback: the authorization server does not reply with JSON";
    assert_eq!(test.completed().await["error"], expected);
    let description = "/.well-known/oauth-authorization-server";
    for nonsense in [
        "<html>",
        r#"{"authorization_endpoint":"URL/authorize"}"#,
        r#"{"authorization_endpoint":"file:///etc/passwd","token_endpoint":"URL/token"}"#,
    ] {
        test.web.answer(description, 200, nonsense);
        let refusal = test.refusal().await;
        assert!(
            refusal.ends_with("No authorization support detected"),
            "{refusal}"
        );
    }
    assert_eq!(test.status().await, ("unsupported".into(), Vec::new()));
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_server_may_name_another_one_for_logins() {
    let mut test = McpLoginTest::new("").await;
    test.web
        .answer("/.well-known/oauth-authorization-server", 404, "");
    let named = r#"{"authorization_servers":["URL/elsewhere"]}"#;
    test.web
        .answer("/.well-known/oauth-protected-resource/mcp", 200, named);
    let description = r#"{"authorization_endpoint":"URL/authorize?tenant=1",
        "token_endpoint":"URL/token","registration_endpoint":"URL/register"}"#;
    test.web.answer(
        "/.well-known/openid-configuration/elsewhere",
        200,
        description,
    );
    let url = test.begin(json!({})).await;
    assert_eq!(parameter(&url, "tenant").as_deref(), Some("1"));
    assert_eq!(parameter(&url, "scope"), None);
    come_back(&url).await;
    assert_eq!(test.completed().await["success"], true);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn login_requests_the_scopes_of_the_server_metadata() {
    let mut test = McpLoginTest::new("").await;
    test.web
        .challenge_messages(r#"Bearer resource_metadata="URL/described", scope="of-challenge""#);
    let described = r#"{"resource":"URL/mcp","authorization_servers":["URL/"],
        "scopes_supported":["of-resource"]}"#;
    test.web.answer("/described", 200, described);
    let metadata = r#"{"issuer":"URL","authorization_endpoint":"URL/authorize",
        "token_endpoint":"URL/token","registration_endpoint":"URL/register",
        "scopes_supported":["of-authorization-server"],
        "token_endpoint_auth_methods_supported":["client_secret_post"]}"#;
    let place = "/.well-known/oauth-authorization-server";
    test.web.answer(place, 200, metadata);
    test.web.answer(
        "/register",
        200,
        r#"{"client_id":"client","client_secret":"hidden"}"#,
    );
    let url = test.begin(json!({})).await;
    assert_eq!(parameter(&url, "scope").as_deref(), Some("of-challenge"));
    let resource = test.web.url();
    assert_eq!(parameter(&url, "resource").as_deref(), Some(&*resource));
    let registrations = test.web.requests_at("/register").await;
    assert!(body_of(&registrations[0]).contains(r#""client_secret_post""#));
    come_back(&url).await;
    assert_eq!(test.completed().await["success"], true);
    let exchanges = test.web.requests_at("/token").await;
    let form = body_of(&exchanges[0]);
    assert!(form.contains("client_secret=hidden") && form.contains("resource=http"));
    assert!(!exchanges[0].headers.contains_key("authorization"));
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_server_that_describes_another_resource_gets_no_login() {
    let mut test = McpLoginTest::new("").await;
    let place = "/.well-known/oauth-protected-resource/mcp";
    for resource in ["https://bank.test/mcp", "URL/other", "URL/mcp/below"] {
        let described = format!(r#"{{"resource":"{resource}","authorization_servers":["URL"]}}"#);
        test.web.answer(place, 200, &described);
        let refusal = test.refusal().await;
        assert!(refusal.contains("describes another resource"), "{refusal}");
    }
    assert!(test.web.requests_at("/register").await.is_empty());
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn authorization_server_with_another_issuer_is_refused() {
    let mut test = McpLoginTest::new("").await;
    let described = r#"{"authorization_servers":["URL/honest"]}"#;
    test.web
        .answer("/.well-known/oauth-protected-resource/mcp", 200, described);
    let metadata = |rest: &str| {
        format!(
            r#"{{"authorization_endpoint":"URL/authorize","token_endpoint":"URL/token",
            "registration_endpoint":"URL/register",{rest}}}"#
        )
    };
    let place = "/.well-known/oauth-authorization-server/honest";
    let other = metadata(r#""issuer":"URL/other""#);
    test.web.answer(place, 200, &other);
    let refusal = test.refusal().await;
    assert!(refusal.ends_with("names another one"), "{refusal}");
    let own =
        metadata(r#""issuer":"URL/honest","authorization_response_iss_parameter_supported":true"#);
    test.web.answer(place, 200, &own);
    let url = test.begin(json!({})).await;
    // The callback does not say who sends it.
    come_back(&url).await;
    let completed = test.completed().await;
    assert_eq!(completed["success"], false);
    let error = completed["error"].as_str().unwrap();
    assert!(error.ends_with("another authorization server"), "{error}");
    assert!(test.web.requests_at("/token").await.is_empty());
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn server_without_metadata_uses_default_login_addresses() {
    let mut test = McpLoginTest::new("").await;
    test.web
        .answer("/.well-known/oauth-authorization-server", 404, "");
    assert_eq!(test.status().await, ("unsupported".into(), Vec::new()));
    let url = test.begin(json!({})).await;
    assert!(url.contains("/authorize?"), "{url}");
    come_back(&url).await;
    assert_eq!(test.completed().await["success"], true);
    assert_eq!(test.web.requests_at("/token").await.len(), 1);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn next_login_requests_missing_scopes() {
    let mut test = McpLoginTest::new("").await;
    test.web
        .challenge_calls(r#"Bearer error="insufficient_scope", scope="read admin""#);
    let url = test.begin(json!({})).await;
    assert_eq!(parameter(&url, "scope").as_deref(), Some("read write"));
    come_back(&url).await;
    assert_eq!(test.completed().await["success"], true);
    let thread = test.server.start_thread().await;
    let call = json!({ "threadId": thread, "server": "web", "tool": "echo", "arguments": {} });
    let (_, error) = test.server.refusal("mcpServer/tool/call", call).await;
    assert!(error.contains("lacks scopes"), "{error}");
    for scope in ["read admin", "read write"] {
        let url = test.begin(json!({})).await;
        assert_eq!(parameter(&url, "scope").as_deref(), Some(scope));
        come_back(&url).await;
        assert_eq!(test.completed().await["success"], true);
    }
    test.server.finish().await.unwrap();
}

/// A stored login whose tokens are old.
fn stored(home: &TempDir, web: &OauthServer, expires_at: u64) {
    let entry = json!({
        "server_name": "web", "server_url": web.url(), "client_id": "client",
        "access_token": "access-0", "refresh_token": "refresh-0", "scopes": ["read"],
        "expires_at": expires_at,
    });
    let all = json!({ "web|0": entry, "other|0": { "server_name": "other", "later": 1 } });
    fs::write(home.path().join(".credentials.json"), all.to_string()).unwrap();
}

#[tokio::test]
async fn expiring_and_refused_tokens_are_renewed() {
    for expires_at in [milliseconds() - 1000, milliseconds() + 3_600_000] {
        let prepare = |(home, web): (&TempDir, &OauthServer)| stored(home, web, expires_at);
        let mut test = McpLoginTest::with_keys("", prepare).await;
        assert_eq!(
            test.status().await,
            ("oAuth".into(), vec!["echo".to_owned()])
        );
        let renewals = test.web.requests_at("/token").await;
        let expected = "grant_type=refresh_token&refresh_token=refresh-0&client_id=client";
        assert_eq!(renewals.len(), 1);
        assert_eq!(body_of(&renewals[0]), expected);
        let kept = test.kept();
        assert_eq!(kept["other|0"]["later"], 1);
        let mut entries = kept.as_object().unwrap().values();
        let entry = entries.find(|entry| entry["server_name"] == "web").unwrap();
        assert_eq!(entry["access_token"], "access-1");
        assert_eq!(
            (&entry["refresh_token"], &entry["scopes"]),
            (&"refresh-1".into(), &json!(["read"]))
        );
        test.server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn refused_refresh_token_is_dropped() {
    let prepare = |(home, web): (&TempDir, &OauthServer)| stored(home, web, milliseconds() - 1000);
    let mut test = McpLoginTest::with_keys("", prepare).await;
    test.web.takes_only("access-0");
    test.web
        .answer("/token", 400, r#"{"error":"invalid_grant"}"#);
    assert_eq!(
        test.status().await,
        ("oAuth".into(), vec!["echo".to_owned()])
    );
    assert_eq!(test.web.requests_at("/token").await.len(), 1);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn server_headers_stay_with_their_host() {
    let other = OauthServer::start().await;
    let other_url = other.url().replace("/mcp", "");
    let mut test = McpLoginTest::new("").await;
    let config = test.home.path().join("config.toml");
    let keys = "http_headers = { X-Key = \"secret\" }\noauth_resource = \"https://resource\"\n";
    let text = fs::read_to_string(&config).unwrap() + keys;
    fs::write(&config, text).unwrap();
    test.web
        .answer("/.well-known/oauth-authorization-server", 404, "");
    let named = json!({ "authorization_servers": [other_url] }).to_string();
    test.web
        .answer("/.well-known/oauth-protected-resource", 200, &named);
    let url = test.begin(json!({})).await;
    assert_eq!(
        parameter(&url, "resource").as_deref(),
        Some("https://resource")
    );
    come_back(&url).await;
    assert_eq!(test.completed().await["success"], true);
    let path = "/.well-known/oauth-protected-resource";
    let own = test.web.requests_at(path).await;
    assert_eq!(own[0].headers["x-key"], "secret");
    for path in [
        "/.well-known/oauth-authorization-server",
        "/register",
        "/token",
    ] {
        let requests = other.requests_at(path).await;
        let has_key = |request: &Request| request.headers.contains_key("x-key");
        assert!(!requests.is_empty() && !requests.iter().any(has_key));
    }
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn keyring_storage_is_refused_before_the_login() {
    let mut test = McpLoginTest::new("mcp_oauth_credentials_store = \"keyring\"").await;
    let refusal = test.refusal().await;
    assert!(
        refusal.contains("set `mcp_oauth_credentials_store` to `file`"),
        "{refusal}"
    );
    let params = json!({ "name": "nobody" });
    let reply = test.call("mcpServer/oauth/login", params).await;
    assert_eq!(reply["error"]["code"], -32600);
    assert!(test.web.requests_at("/register").await.is_empty());
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn newer_clients_ask_for_a_thread_and_for_less() {
    let project = tempfile::tempdir().unwrap();
    let folder = project.path().canonicalize().unwrap();
    let prepare = |(home, web): (&TempDir, &OauthServer)| {
        web.takes_only("access-0");
        stored(home, web, milliseconds() + 3_600_000);
        let config = home.path().join("config.toml");
        let trust = format!("[projects.{folder:?}]\ntrust_level = \"trusted\"\n");
        fs::write(&config, fs::read_to_string(&config).unwrap() + &trust).unwrap();
        let own = format!("[mcp_servers.own]\nurl = \"{}\"\n", web.url());
        fs::create_dir(folder.join(".codex")).unwrap();
        fs::write(folder.join(".codex/config.toml"), own).unwrap();
    };
    let mut test = McpLoginTest::with_keys("", prepare).await;
    let reply = test.call("thread/start", json!({ "cwd": folder })).await;
    let thread = reply["result"]["thread"]["id"].clone();
    let names = |reply: Value| {
        let data = reply["result"]["data"].as_array().unwrap().clone();
        let name = |server: &Value| server["name"].as_str().unwrap().to_owned();
        data.iter().map(name).collect::<Vec<_>>()
    };
    let reply = test
        .call("mcpServerStatus/list", json!({ "detail": "full" }))
        .await;
    assert_eq!(names(reply), ["web"]);
    let lists = async |web: &OauthServer| {
        let requests = web.requests_at("/mcp").await;
        let is_list = |request: &&Request| body_of(request).contains("resources/list");
        requests.iter().filter(is_list).count()
    };
    assert_eq!(lists(&test.web).await, 1);
    let params = json!({ "detail": "toolsAndAuthOnly", "threadId": thread });
    let reply = test.call("mcpServerStatus/list", params).await;
    assert_eq!(names(reply), ["own", "web"]);
    assert_eq!(lists(&test.web).await, 1);
    let params = json!({ "threadId": thread, "serverName": "own" });
    let reply = test.call("mcpServerStatus/list", params).await;
    assert_eq!(names(reply), ["own"]);
    let params = json!({ "name": "own", "threadId": thread });
    let reply = test.call("mcpServer/oauth/login", params).await;
    come_back(reply["result"]["authorizationUrl"].as_str().unwrap()).await;
    let login = reply["result"]["loginId"].clone();
    assert!(login.is_string(), "{reply}");
    let expected = json!({ "loginId": login, "name": "own", "success": true, "threadId": thread });
    assert_eq!(test.completed_with_id().await, expected);
    let nobody = json!({ "threadId": "01a2044c-9e35-7640-8dc5-69a36d1dacdd" });
    let reply = test.call("mcpServerStatus/list", nobody).await;
    assert_eq!(reply["error"]["code"], -32600);
    test.server.finish().await.unwrap();
}
