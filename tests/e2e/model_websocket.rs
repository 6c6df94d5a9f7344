//! The model over a websocket: one connection per thread, incremental input, fall-backs and faults.

use std::fs;
use std::path::Path;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::setup::{home_with, numbered, server};
use crate::trace_record::Traced;

/// A home whose provider has websockets.
fn home_of(url: &str, provider: &str) -> TempDir {
    home_with(&format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\n\
         [model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{url}\"\n\
         wire_api = \"responses\"\nsupports_websockets = true\nrequest_max_retries = 0\n{provider}\n"
    ))
}

struct SocketTest {
    model: ModelServer,
    server: AppServer,
    home: TempDir,
}

impl SocketTest {
    /// A server whose websockets are accepted.
    async fn accepting(provider: &str) -> Self {
        let test = Self::start(provider).await;
        test.model.accept_websockets();
        test
    }

    async fn start(provider: &str) -> Self {
        let model = ModelServer::start([]).await.unwrap();
        let home = home_of(&model.base_url(), provider);
        let server = server(&home).await;
        Self {
            model,
            server,
            home,
        }
    }

    async fn turn(&mut self, thread: &str) -> Value {
        self.server.run_turn(thread, "hello").await
    }

    /// How often each request was sent, by method.
    fn methods(&self) -> Vec<String> {
        let requests = self.model.requests();
        requests.into_iter().map(|request| request.method).collect()
    }

    async fn finish(self) {
        self.server.finish().await.unwrap();
    }
}

fn command(script: &str) -> Value {
    let arguments = json!({ "command": script });
    sse::function_call("call_1", "shell_command", &arguments)
}

/// A response with a message. Its ids are its own.
fn text(text: &str) -> Vec<Value> {
    numbered(sse::text(text))
}

/// A response with a command.
fn call(script: &str) -> Vec<Value> {
    numbered(sse::items(&[command(script)]))
}

/// The events of a response, each sent on its own.
fn reply(events: &[Value]) -> HttpReply {
    let reply = HttpReply::status(200);
    events
        .iter()
        .fold(reply, |reply, event| reply.body(sse::frame(event)))
}

fn input_types(request: &Value) -> Vec<&str> {
    let items = request["input"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn thread_reuses_one_websocket_with_new_items_only() {
    let mut test = SocketTest::accepting("stream_max_retries = 0").await;
    test.model.push(reply(&call("echo hi")));
    test.model.push(reply(&text("one")));
    test.model.push(reply(&text("two")));
    let thread = test.server.start_thread().await;
    test.model.warmed(1).await;
    for _ in 0..2 {
        assert_eq!(test.turn(&thread).await["status"], "completed");
    }
    assert_eq!(test.methods(), ["WEBSOCKET"; 3]);
    assert_eq!(test.model.connections(), 1);
    let requests = test.model.requests();
    let header = requests[0].header("openai-beta").unwrap();
    assert_eq!(header, "responses_websockets=2026-02-06");
    let [first, second, third] = [0, 1, 2].map(|number: usize| requests[number].json());
    assert_eq!(first["type"], "response.create");
    assert_eq!(first["previous_response_id"], "warm");
    assert!(input_types(&first).len() > 1, "{first}");
    let previous = second["previous_response_id"].as_str().unwrap();
    assert!(previous.starts_with("resp_"), "{previous}");
    assert_eq!(input_types(&second), ["function_call_output"]);
    assert_eq!(input_types(&third), ["message"]);
    assert_eq!(third["input"][0]["content"][0]["text"], "hello");
    test.finish().await;
}

#[tokio::test]
async fn other_settings_are_sent_with_the_whole_input() {
    let mut test = SocketTest::accepting("stream_max_retries = 0").await;
    for answer in ["one", "two"] {
        test.model.push(reply(&text(answer)));
    }
    let thread = test.server.start_thread().await;
    test.turn(&thread).await;
    let params = json!({"threadId": thread, "model": "other",
                        "input": [{"type": "text", "text": "hello"}]});
    test.server.call("turn/start", params).await.unwrap();
    test.server.wait_for("turn/completed").await.unwrap();
    let second = test.model.requests()[1].json();
    assert!(second.get("previous_response_id").is_none(), "{second}");
    assert!(input_types(&second).len() > 3, "{second}");
    assert_eq!(test.model.connections(), 1);
    test.finish().await;
}

#[tokio::test]
async fn a_server_without_websockets_gets_http_at_once() {
    let mut test = SocketTest::start("stream_max_retries = 0").await;
    for answer in ["one", "two"] {
        test.model.push(reply(&text(answer)));
    }
    let thread = test.server.start_thread().await;
    for _ in 0..2 {
        assert_eq!(test.turn(&thread).await["status"], "completed");
    }
    assert_eq!(test.methods(), ["POST"; 2]);
    test.finish().await;
}

/// Gateways that know no websockets refuse the handshake in one of these ways.
#[tokio::test]
async fn refused_handshake_means_no_websocket_support() {
    for status in [400, 403, 404, 405] {
        let mut test = SocketTest::start("stream_max_retries = 0").await;
        // To prepare, and for the first turn, if that did not wait.
        for _ in 0..2 {
            let refusal = HttpReply::status(status).body("no");
            test.model.push_handshake(Some(refusal));
        }
        test.model.push(reply(&text("one")));
        let thread = test.server.start_thread().await;
        let turn = test.turn(&thread).await;
        assert_eq!(turn["status"], "completed", "{status}: {turn}");
        assert_eq!(test.methods(), ["POST"]);
        test.finish().await;
    }
}

#[tokio::test]
async fn thread_falls_back_to_http_after_the_last_retry() {
    let mut test = SocketTest::start("stream_max_retries = 2").await;
    // To prepare, the first attempt, and two repeats.
    for _ in 0..4 {
        test.model
            .push_handshake(Some(HttpReply::status(503).body("no")));
    }
    test.model.accept_websockets();
    for answer in ["one", "two"] {
        test.model.push(reply(&text(answer)));
    }
    let thread = test.server.start_thread().await;
    test.server.start_turn(&thread, "hello").await;
    let retry = test.server.wait_for("error").await.unwrap();
    let message = &retry["params"]["error"]["message"];
    assert_eq!(message, "Reconnecting... 2/2", "the first repeat is silent");
    let turn = test.server.completed_turn().await;
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(test.turn(&thread).await["status"], "completed");
    assert_eq!(test.methods(), ["POST"; 2]);
    test.finish().await;
}

#[tokio::test]
async fn a_server_that_forgot_the_response_gets_everything() {
    let mut test = SocketTest::accepting("stream_max_retries = 0").await;
    let forgotten = json!({"error": {"code": "previous_response_not_found", "message": "gone"}});
    test.model.push(reply(&text("one")));
    test.model.push(HttpReply::json(400, &forgotten));
    test.model.push(reply(&text("two")));
    let thread = test.server.start_thread().await;
    for _ in 0..2 {
        assert_eq!(test.turn(&thread).await["status"], "completed");
    }
    let requests = test.model.requests();
    let whole = requests[2].json();
    assert!(whole.get("previous_response_id").is_none(), "{whole}");
    assert!(input_types(&whole).len() > 3, "{whole}");
    assert_eq!(test.model.connections(), 1);
    test.finish().await;
}

#[tokio::test]
async fn websocket_error_has_its_status() {
    let mut test = SocketTest::accepting("stream_max_retries = 0").await;
    let limit = json!({"error": {"type": "usage_limit_reached", "plan_type": "pro"}});
    test.model.push(HttpReply::json(429, &limit));
    let thread = test.server.start_thread().await;
    let turn = test.turn(&thread).await;
    assert_eq!(turn["status"], "failed");
    assert_eq!(
        turn["error"]["codexErrorInfo"], "usageLimitExceeded",
        "{turn}"
    );
    assert_eq!(test.model.requests().len(), 1);
    test.finish().await;
}

/// How many lines the command of a test wrote.
fn runs(log: &Path) -> usize {
    fs::read_to_string(log).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn lost_websocket_repeats_no_command() {
    let mut test = SocketTest::accepting("stream_max_retries = 3").await;
    let log = test.home.path().join("log");
    let events = call(&format!("echo run >> {}", log.display()));
    let length = text("done").len();
    for at in 0..events.len() {
        let _ = fs::remove_file(&log);
        test.model.push(reply(&events[..at]).cut());
        test.model.push(reply(&text("done")));
        let thread = test.server.start_thread().await;
        let turn = test.turn(&thread).await;
        assert_eq!(turn["status"], "completed", "{at}: {turn}");
        // The call is complete with the third event.
        assert_eq!(runs(&log), usize::from(at > 2), "{at}");
    }
    for at in 0..length {
        let _ = fs::remove_file(&log);
        test.model.push(reply(&events));
        test.model.push(reply(&text("cut")[..at]).cut());
        test.model.push(reply(&text("done")));
        let thread = test.server.start_thread().await;
        let turn = test.turn(&thread).await;
        assert_eq!(turn["status"], "completed", "{at}: {turn}");
        assert_eq!(runs(&log), 1, "{at}");
    }
    assert!(test.methods().iter().all(|method| method == "WEBSOCKET"));
    test.finish().await;
}

#[tokio::test]
async fn binary_websocket_message_ends_response() {
    let mut test = SocketTest::accepting("stream_max_retries = 1").await;
    let (one, other) = (text("one"), text("other"));
    let frames = |reply: HttpReply, events: &[Value]| {
        events
            .iter()
            .fold(reply, |reply, event| reply.body(sse::frame(event)))
    };
    let odd = reply(&one[..2]).body("nonsense").body("[1, 2]").body("{}");
    test.model.push(frames(odd, &one[2..]));
    let thread = test.server.start_thread().await;
    assert_eq!(test.turn(&thread).await["status"], "completed");
    assert_eq!(test.model.requests().len(), 1);
    test.model
        .push(frames(reply(&other[..2]).binary(*b"abc"), &other[2..]));
    test.model.push(reply(&text("two")));
    let turn = test.turn(&thread).await;
    assert_eq!(turn["status"], "completed", "{turn}");
    let requests = test.model.requests();
    assert_eq!(requests.len(), 3);
    let repeated = requests[2].json();
    assert!(repeated.get("previous_response_id").is_none(), "{repeated}");
    test.finish().await;
}

#[tokio::test]
async fn interrupted_response_is_not_read_by_the_next_request() {
    let mut test = SocketTest::accepting("stream_max_retries = 0").await;
    test.model.push(reply(&text("never told")[..3]).stall());
    test.model.push(reply(&text("two")));
    let thread = test.server.start_thread().await;
    let turn = test.server.start_turn(&thread, "hello").await;
    test.server
        .wait_for("item/agentMessage/delta")
        .await
        .unwrap();
    let params = json!({"threadId": thread, "turnId": turn["id"]});
    test.server.call("turn/interrupt", params).await.unwrap();
    test.server.wait_for("turn/completed").await.unwrap();
    let turn = test.turn(&thread).await;
    assert_eq!(turn["status"], "completed");
    assert!(turn.to_string().contains("two"), "{turn}");
    assert_eq!(test.model.connections(), 2);
    test.finish().await;
}

#[tokio::test]
async fn websocket_trace_reduces() {
    let replies = [call("echo hi"), text("one"), text("two")];
    let mut traced = Traced::start_with("Scripted", "supports_websockets = true", &replies).await;
    traced.model.accept_websockets();
    let thread = traced.thread().await;
    traced.model.warmed(1).await;
    for _ in 0..2 {
        traced.turn(&thread).await;
    }
    let (bundles, _home) = traced.finish().await;
    let bundle = &bundles[&thread];
    let started = bundle.outline();
    let started = started.iter().filter(|line| *line == "inference_started");
    assert_eq!(started.count(), 3);
    // The first one continues what only prepared the server, which the trace does not have.
    let first = bundle.payload("inference_started", "request_payload");
    assert!(first.get("previous_response_id").is_none(), "{first}");
    let state = bundle.reduce();
    assert_eq!(state["status"], "completed", "{state}");
}

/// Accepts a websocket on a connection. Returns the head of the request.
pub(crate) async fn upgrade(stream: &mut tokio::net::TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(tokio::io::AsyncReadExt::read_u8(stream).await.unwrap());
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    if let Some(headers) = codex_http::accept_handshake(|name| header(&head, name)) {
        let mut reply = "HTTP/1.1 101 Switching Protocols\r\n".to_owned();
        for (name, value) in headers {
            reply.push_str(&format!("{name}: {value}\r\n"));
        }
        reply.push_str("\r\n");
        stream.write_all(reply.as_bytes()).await.unwrap();
    }
    head
}

/// The value of a header in the head of a request.
pub(crate) fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(": ")?;
        known.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

/// A server that accepts websockets and reads nothing.
async fn deaf_server() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut open = tokio::task::JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            // One that the client gives up early ends alone.
            open.spawn(async move {
                upgrade(&mut stream).await;
                std::future::pending::<()>().await;
            });
        }
    });
    (url, task)
}

#[tokio::test]
async fn stalled_server_fails_turn_in_time() {
    let (url, task) = deaf_server().await;
    let limits = "stream_max_retries = 1\nstream_idle_timeout_ms = 200";
    let home = home_of(&url, limits);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let long = "x".repeat(900_000);
    let turn = server.run_turn(&thread, &long).await;
    assert_eq!(turn["status"], "failed");
    let message = turn["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("timed out waiting for"), "{message}");
    server.finish().await.unwrap();
    task.abort();
}
