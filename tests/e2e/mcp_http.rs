//! MCP servers behind HTTP: answers as JSON and as events, sessions that expire, tokens.

use std::fs;
use std::sync::Arc;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::setup::{server_in, untrusted_home};

/// A request as it came: its method, its headers in lower case, its body.
#[derive(Clone, Debug)]
struct HttpRequest {
    method: String,
    headers: String,
    body: Value,
}

/// A server that knows one tool and forgets its first session at the first call.
#[derive(Clone, Default)]
struct HttpServer(Arc<Mutex<Vec<HttpRequest>>>);

impl HttpServer {
    async fn start() -> (Self, String) {
        let server = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let own = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = own.clone();
                tokio::spawn(async move { server.serve(stream).await });
            }
        });
        (server, url)
    }

    fn requests(&self) -> Vec<HttpRequest> {
        self.0.lock().clone()
    }

    fn asked(&self, method: &str) -> Vec<HttpRequest> {
        let mut requests = self.requests();
        requests.retain(|requests| requests.body["method"] == method);
        requests
    }

    /// One request for each connection.
    async fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let headers = head.to_lowercase();
        let length = headers
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let requests = HttpRequest {
            method: head.split(' ').next().unwrap().to_owned(),
            headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        let reply = self.reply(&requests);
        self.0.lock().push(requests);
        let _ = stream.write_all(reply.as_bytes()).await;
    }

    fn reply(&self, requests: &HttpRequest) -> String {
        let plain = |status: &str| {
            format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        };
        if requests.method != "POST" {
            return plain("405 Method Not Allowed");
        }
        if !requests.headers.contains("authorization: bearer secret") {
            return plain("401 Unauthorized\r\nwww-authenticate: Bearer");
        }
        let id = &requests.body["id"];
        let answer = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let with = |kind: &str, body: &str, more: &str| {
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{more}\
                 connection: close\r\n\r\n{body}"
            )
        };
        let events = |answer: Value| format!("event: message\ndata: {answer}\n\n");
        match requests.body["method"].as_str().unwrap() {
            "initialize" => {
                let number = self.asked("initialize").len() + 1;
                let result = json!({ "protocolVersion": "2025-03-26", "capabilities": {} });
                let session = format!("mcp-session-id: session-{number}\r\n");
                with("application/json", &answer(result).to_string(), &session)
            }
            "tools/list" => {
                let tool = json!({ "name": "echo", "inputSchema": { "type": "object" },
                    "annotations": { "readOnlyHint": true } });
                let events = events(answer(json!({ "tools": [tool] })));
                with("text/event-stream; charset=utf-8", &events, "")
            }
            "tools/call" if requests.headers.contains("mcp-session-id: session-1") => {
                plain("404 Not Found")
            }
            "tools/call" => {
                let text = json!({ "type": "text", "text": "heard you" });
                let told = json!({ "jsonrpc": "2.0", "method": "notifications/message" });
                let events = events(told) + &events(answer(json!({ "content": [text] })));
                with("text/event-stream", &events, "")
            }
            _ => plain("202 Accepted"),
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
        let told = server.wait_for("mcpServer/startupStatus/updated").await;
        let params = told.unwrap()["params"].clone();
        if params["status"] != "starting" {
            break params;
        }
    };
    server.wait_for("turn/completed").await.unwrap();
    (server, model, status, home)
}

#[tokio::test]
async fn a_server_behind_http_is_called_again_when_its_session_has_expired() {
    let (web, url) = HttpServer::start().await;
    let (mut server, model, status, _home) = turn(&url, "secret").await;
    assert_eq!(status["status"], "ready");
    let body = model.request(1).await.json();
    let output = &body["input"].as_array().unwrap().last().unwrap()["output"];
    assert_eq!(output, r#"[{"type":"text","text":"requests you"}]"#);
    let listed = server
        .call("mcpServerStatus/list", json!({}))
        .await
        .unwrap();
    assert_eq!(listed["result"]["data"][0]["authStatus"], "bearerToken");
    server.finish().await.unwrap();
    assert_eq!(web.asked("tools/call").len(), 2);
    for requests in web.asked("tools/list") {
        assert!(requests.headers.contains("x-own: mine"));
        assert!(
            requests
                .headers
                .contains("mcp-protocol-version: 2025-03-26")
        );
        let accepts = "accept: text/event-stream, application/json";
        assert!(requests.headers.contains(accepts));
    }
}

#[tokio::test]
async fn a_server_that_wants_a_login_is_told_of() {
    let (_web, url) = HttpServer::start().await;
    let (server, _model, status, _home) = turn(&url, "wrong").await;
    assert_eq!(status["status"], "failed");
    let error = status["error"].as_str().unwrap();
    assert!(
        error.starts_with("The web MCP server is not logged in."),
        "{error}"
    );
    server.finish().await.unwrap();
}
