//! MCP servers behind HTTP: answers as JSON and as events, sessions that expire, tokens.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::setup::{server_in, untrusted_home};

/// Speaks for a server that has one tool and forgets its first session at the first call.
#[derive(Default)]
struct McpReplies {
    sessions: AtomicUsize,
}

/// A server that listens.
async fn http_server() -> (MockServer, String) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(McpReplies::default())
        .mount(&server)
        .await;
    let url = format!("{}/mcp", server.uri());
    (server, url)
}

/// The requests so far that call this method.
async fn requests_for(server: &MockServer, method: &str) -> Vec<Request> {
    let mut requests = server.received_requests().await.unwrap();
    requests.retain(|request| message_of(request)["method"] == method);
    requests
}

fn message_of(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

impl Respond for McpReplies {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        if request.method != "POST" {
            return ResponseTemplate::new(405);
        }
        let header = |name: &str| {
            request
                .headers
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
        };
        if header("authorization") != "Bearer secret" {
            return ResponseTemplate::new(401).insert_header("www-authenticate", "Bearer");
        }
        let message = message_of(request);
        let answer =
            |result: Value| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        let event = |message: &Value| format!("event: message\ndata: {message}\n\n");
        match message["method"].as_str().unwrap() {
            "initialize" => {
                let number = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
                let result = json!({ "protocolVersion": "2025-03-26", "capabilities": {} });
                ResponseTemplate::new(200)
                    .set_body_json(answer(result))
                    .insert_header("mcp-session-id", format!("session-{number}"))
            }
            "tools/list" => {
                let tool = json!({ "name": "echo", "inputSchema": { "type": "object" },
                    "annotations": { "readOnlyHint": true } });
                let events = event(&answer(json!({ "tools": [tool] })));
                ResponseTemplate::new(200).set_body_raw(events, "text/event-stream; charset=utf-8")
            }
            "tools/call" if header("mcp-session-id") == "session-1" => ResponseTemplate::new(404),
            "tools/call" => {
                let text = json!({ "type": "text", "text": "heard you" });
                let notification = json!({ "jsonrpc": "2.0", "method": "notifications/message" });
                let events = event(&notification) + &event(&answer(json!({ "content": [text] })));
                ResponseTemplate::new(200).set_body_raw(events, "text/event-stream")
            }
            _ => ResponseTemplate::new(202),
        }
    }
}

/// A turn in which the model calls the tool, with a token in the environment.
async fn turn(url: &str, token: &str) -> (AppServer, ModelServer, Value, tempfile::TempDir) {
    let call = sse::function_call("call", "mcp__web__echo", &json!({}));
    let call = HttpReply::stream(&sse::items(&[call]));
    let model = ModelServer::start([call, HttpReply::stream(&sse::text("done"))]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let file = home.path().join("config.toml");
    let table = format!(
        "[mcp_servers.web]\nurl = \"{url}\"\nbearer_token_env_var = \"WEB_TOKEN\"\n\
         http_headers = {{ X-Own = \"mine\" }}\n"
    );
    let config = fs::read_to_string(&file).unwrap() + &table;
    fs::write(file, config).unwrap();
    let mut server = server_in(&home, &[("WEB_TOKEN", token)]).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    let status = loop {
        let status = server.wait_for("mcpServer/startupStatus/updated").await;
        let params = status.unwrap()["params"].clone();
        if params["status"] != "starting" {
            break params;
        }
    };
    server.wait_for("turn/completed").await.unwrap();
    (server, model, status, home)
}

#[tokio::test]
async fn expired_http_session_is_renewed_and_the_call_repeated() {
    let (web, url) = http_server().await;
    let (mut server, model, status, _home) = turn(&url, "secret").await;
    assert_eq!(status["status"], "ready");
    let body = model.request(1).await.json();
    let output = &body["input"].as_array().unwrap().last().unwrap()["output"];
    assert_eq!(output, r#"[{"type":"text","text":"heard you"}]"#);
    let listed = server
        .call("mcpServerStatus/list", json!({}))
        .await
        .unwrap();
    assert_eq!(listed["result"]["data"][0]["authStatus"], "bearerToken");
    server.finish().await.unwrap();
    assert_eq!(requests_for(&web, "tools/call").await.len(), 2);
    for request in requests_for(&web, "tools/list").await {
        for (name, value) in [
            ("x-own", "mine"),
            ("mcp-protocol-version", "2025-03-26"),
            ("accept", "text/event-stream, application/json"),
        ] {
            assert_eq!(request.headers[name], value);
        }
    }
}

#[tokio::test]
async fn server_that_needs_a_login_is_reported() {
    let (_web, url) = http_server().await;
    let (server, _model, status, _home) = turn(&url, "wrong").await;
    assert_eq!(status["status"], "failed");
    let error = status["error"].as_str().unwrap();
    assert!(
        error.starts_with("The web MCP server is not logged in."),
        "{error}"
    );
    server.finish().await.unwrap();
}
