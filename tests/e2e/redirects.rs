//! Redirects: whatever this program sends stays with the server that it was meant for.

use std::fs;
use std::path::{Path, PathBuf};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::account::stored_login;
use crate::repository;
use crate::setup::server_in;

/// A server that sends everybody to another one, and that other one.
struct RedirectServers {
    home: TempDir,
    server: ModelServer,
    other: ModelServer,
}

impl RedirectServers {
    /// `config` and the login may name the server as `URL`.
    async fn new(status: u16, config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let server = ModelServer::start([]).await.unwrap();
        let other = ModelServer::start([]).await.unwrap();
        other.always(HttpReply::stream(&sse::text("hello")));
        let target = format!("{}/elsewhere", other.base_url());
        server.always(HttpReply::status(status).header("location", &target));
        let config = config.replace("URL", &server.base_url());
        fs::write(home.path().join("config.toml"), config).unwrap();
        Self {
            home,
            server,
            other,
        }
    }

    async fn app_server(&self) -> AppServer {
        let issuer = self.server.base_url();
        let variables = [("CODEX_LOGIN_ISSUER", &*issuer), ("CODEX_LOGIN_PORT", "0")];
        server_in(&self.home, &variables).await
    }

    /// A path was asked for, and nothing went on to the other server.
    fn assert_stayed(&self, path: &str) {
        let asked = self.server.requests();
        let paths: Vec<_> = asked.iter().map(|request| &request.path).collect();
        assert!(paths.iter().any(|asked| asked.ends_with(path)), "{paths:?}");
        let strayed = self.other.requests();
        assert!(strayed.is_empty(), "{strayed:?}");
    }
}

const PROVIDER: &str = "model = \"scripted\"\nmodel_provider = \"scripted\"\n\
    [model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"URL\"\nwire_api = \"responses\"\n\
    request_max_retries = 0\nstream_max_retries = 0\nhttp_headers = { api-key = \"secret-key\" }\n";

async fn turn(server: &mut AppServer) -> Value {
    let thread = server.start_thread().await;
    server.run_turn(&thread, "hello").await
}

#[tokio::test]
async fn turn_request_is_not_redirected_elsewhere() {
    for status in [301, 302, 303, 307, 308] {
        let servers = RedirectServers::new(status, PROVIDER).await;
        let mut server = servers.app_server().await;
        let turn = turn(&mut server).await;
        assert_eq!(turn["status"], "failed", "{turn}");
        let message = turn["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("the server redirects to http://127"),
            "{message}"
        );
        servers.assert_stayed("/v1/responses");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_redirect_to_the_same_server_keeps_the_request() {
    let servers = RedirectServers::new(307, PROVIDER).await;
    let there = HttpReply::status(307).header("location", "/v1/moved");
    servers.server.push_for("/responses", there);
    let hello = HttpReply::stream(&sse::text("hello"));
    servers.server.push_for("/moved", hello);
    let mut server = servers.app_server().await;
    assert_eq!(turn(&mut server).await["status"], "completed");
    let moved = servers.server.requests().pop().unwrap();
    assert_eq!(moved.header("api-key"), Some("secret-key"));
    assert!(moved.json()["input"].is_array());
    // One that leads to itself ends.
    let there = HttpReply::status(307).header("location", "/v1/responses");
    servers.server.always(there);
    let before = servers.server.requests().len();
    assert_eq!(turn(&mut server).await["status"], "failed");
    assert!(servers.server.requests().len() < before + 10);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn servers_of_tools_and_their_logins_stay_as_well() {
    let config = "[mcp_servers.tools]\nurl = \"URL/mcp\"\n\
        http_headers = { api-key = \"secret-key\" }\n";
    let servers = RedirectServers::new(307, &format!("{PROVIDER}{config}")).await;
    let mut server = servers.app_server().await;
    turn(&mut server).await;
    servers.assert_stayed("/v1/mcp");
    let login = json!({ "name": "tools" });
    let reply = server.call("mcpServer/oauth/login", login).await.unwrap();
    assert!(reply["error"].is_object(), "{reply}");
    let status = server.call("mcpServerStatus/list", json!({})).await;
    assert!(status.unwrap()["result"].is_object());
    servers.assert_stayed("/oauth-authorization-server/v1/mcp");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn reports_stay() {
    let config = "[feedback]\nendpoint = \"URL/feedback\"\n";
    let servers = RedirectServers::new(307, config).await;
    let mut server = servers.app_server().await;
    let report = json!({ "classification": "bug", "includeLogs": false });
    let reply = server.call("feedback/upload", report).await.unwrap();
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("redirects to"), "{message}");
    servers.assert_stayed("/v1/feedback");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn logins_and_the_catalogue_stay() {
    let config = "openai_base_url = \"URL\"\nchatgpt_base_url = \"URL\"\n";
    let servers = RedirectServers::new(307, config).await;
    let auth = servers.home.path().join("auth.json");
    // {"email":"me@here","exp":1,"https://api.openai.com/auth":{"chatgpt_account_id":"w1"}}
    let claims = "eyJlbWFpbCI6Im1lQGhlcmUiLCJleHAiOjEsImh0dHBzOi8vYXBpLm9wZW5haS5jb20vYXV0aCI6\
        eyJjaGF0Z3B0X2FjY291bnRfaWQiOiJ3MSJ9fQ";
    fs::write(auth, stored_login(&format!("e30.{claims}.s"))).unwrap();
    let mut server = servers.app_server().await;
    server.call("model/list", json!({})).await.unwrap();
    turn(&mut server).await;
    let limits = server.call("account/rateLimits/read", json!(null)).await;
    assert!(limits.unwrap()["error"].is_object());
    let before = servers.server.requests().len();
    server.call("account/logout", json!(null)).await.unwrap();
    servers.server.request(before).await;
    for path in ["/oauth/token", "/responses", "/models", "/usage", "/revoke"] {
        servers.assert_stayed(path);
    }
    server.finish().await.unwrap();
}

/// Every client is made where the policy is.
#[test]
fn clients_are_made_in_one_place() {
    let mut made = Vec::new();
    let mut folders = vec![repository().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let makes = ["Client::builder()", "ClientBuilder::new", "reqwest::get"];
                if makes.iter().any(|makes| text.contains(makes)) {
                    made.push(path.file_name().map(PathBuf::from).unwrap());
                }
            }
        }
    }
    assert_eq!(made, [Path::new("pool.rs")]);
}
