//! Event streams of MCP servers behind HTTP that end: when they are opened again, and when they are left alone.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::setup::{scripted_home, server};

/// What a server does with its event streams.
#[derive(Clone, Debug)]
enum StreamBehaviour {
    /// Closes the stream of a call at once and sends the reply on the next one, which is to come after this time.
    Continued { retry_ms: u64 },
    /// The same, but the next streams have nothing either, until this many were opened.
    Postponed { streams: usize },
    /// Names no place where the stream of a call goes on.
    Lost,
    /// Forgets the session after it closed the stream of a call.
    Forgetful,
    /// Closes every stream of unsolicited messages at once. Calls take a while.
    Closing { call: Duration },
}

/// What a server has seen.
#[derive(Debug, Default)]
struct Observations {
    calls: AtomicUsize,
    streams: AtomicUsize,
    /// The id of the last call, and when its stream was closed.
    closed: parking_lot::Mutex<Option<(Value, Instant)>>,
    /// How long after that the next one was opened.
    waited: parking_lot::Mutex<Option<Duration>>,
}

struct StreamingServer {
    behaviour: StreamBehaviour,
    observations: Arc<Observations>,
}

impl StreamingServer {
    fn stream(&self, request: &Request) -> ResponseTemplate {
        let place = request.headers.get("last-event-id");
        let number = self.observations.streams.fetch_add(1, Ordering::Relaxed) + 1;
        match (&self.behaviour, place) {
            (StreamBehaviour::Closing { .. }, _) => events("retry: 10\n\n".to_owned()),
            // No stream of unsolicited messages.
            (_, None) => ResponseTemplate::new(405),
            (StreamBehaviour::Forgetful, _) => ResponseTemplate::new(404),
            (StreamBehaviour::Postponed { streams }, _) if number <= *streams => {
                events(format!("id: after-{number}\ndata: \n\n"))
            }
            (_, Some(place)) => {
                let (id, closed) = self.observations.closed.lock().clone().unwrap();
                *self.observations.waited.lock() = Some(closed.elapsed());
                let text = format!("went on after {}", place.to_str().unwrap());
                let result = json!({ "content": [{ "type": "text", "text": text }] });
                events(format!("data: {}\n\n", answer(&id, &result)))
            }
        }
    }

    fn call(&self, id: &Value) -> ResponseTemplate {
        self.observations.calls.fetch_add(1, Ordering::Relaxed);
        *self.observations.closed.lock() = Some((id.clone(), Instant::now()));
        match &self.behaviour {
            StreamBehaviour::Continued { retry_ms } => {
                events(format!("id: {id}\nretry: {retry_ms}\ndata: \n\n"))
            }
            StreamBehaviour::Postponed { .. } | StreamBehaviour::Forgetful => {
                events(format!("id: {id}\nretry: 100\ndata: \n\n"))
            }
            StreamBehaviour::Lost => events("retry: 100\n\n".to_owned()),
            StreamBehaviour::Closing { call } => {
                let result = json!({ "content": [] });
                ResponseTemplate::new(200)
                    .set_body_json(answer(id, &result))
                    .set_delay(*call)
            }
        }
    }
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn events(text: String) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(text, "text/event-stream")
}

impl Respond for StreamingServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        if request.method == "GET" {
            return self.stream(request);
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let id = &message["id"];
        let json = |result: Value| ResponseTemplate::new(200).set_body_json(answer(id, &result));
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => json(json!({ "protocolVersion": "2025-11-25", "capabilities": {} }))
                .insert_header("mcp-session-id", "session"),
            "tools/list" => {
                json(json!({ "tools": [{ "name": "wait", "inputSchema": { "type": "object" } }] }))
            }
            "tools/call" => self.call(id),
            _ => ResponseTemplate::new(202),
        }
    }
}

/// An app-server whose threads have such a server, and a thread.
struct EventStreamTest {
    server: AppServer,
    thread: String,
    observations: Arc<Observations>,
    _web: MockServer,
    _model: ModelServer,
    _home: TempDir,
}

impl EventStreamTest {
    async fn start(behaviour: StreamBehaviour) -> Self {
        let observations = Arc::<Observations>::default();
        let web = MockServer::start().await;
        Mock::given(any())
            .respond_with(StreamingServer {
                behaviour,
                observations: Arc::clone(&observations),
            })
            .mount(&web)
            .await;
        let model = ModelServer::start([]).await.unwrap();
        let home = scripted_home(&model, "");
        let file = home.path().join("config.toml");
        let table = format!("[mcp_servers.web]\nurl = \"{}/mcp\"\n", web.uri());
        fs::write(&file, fs::read_to_string(&file).unwrap() + &table).unwrap();
        let mut server = server(&home).await;
        let thread = server.start_thread().await;
        Self {
            server,
            thread,
            observations,
            _web: web,
            _model: model,
            _home: home,
        }
    }

    fn call_params(&self) -> Value {
        json!({ "threadId": self.thread, "server": "web", "tool": "wait", "arguments": {} })
    }

    /// The text of a call's result.
    async fn called(&mut self) -> Value {
        let params = self.call_params();
        let result = self.server.result("mcpServer/tool/call", params).await;
        result["content"][0]["text"].clone()
    }

    /// The error of a call.
    async fn refused(&mut self) -> String {
        let params = self.call_params();
        let refused = self.server.refusal("mcpServer/tool/call", params).await;
        refused.1
    }

    fn streams(&self) -> usize {
        self.observations.streams.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn call_resumes_after_retry_time() {
    let mut setup = EventStreamTest::start(StreamBehaviour::Continued { retry_ms: 700 }).await;
    let text = setup.called().await;
    assert!(
        text.as_str().unwrap().starts_with("went on after "),
        "{text}"
    );
    let waited = setup.observations.waited.lock().unwrap();
    assert!(waited >= Duration::from_millis(700), "{waited:?}");
    assert_eq!(setup.observations.calls.load(Ordering::Relaxed), 1);
    setup.server.finish().await.unwrap();
}

#[tokio::test]
async fn call_continues_until_a_stream_has_its_reply() {
    let mut setup = EventStreamTest::start(StreamBehaviour::Postponed { streams: 5 }).await;
    assert_eq!(setup.called().await, "went on after after-5");
    assert_eq!(setup.observations.calls.load(Ordering::Relaxed), 1);
    setup.server.finish().await.unwrap();
}

#[tokio::test]
async fn call_without_a_resumable_stream_fails() {
    let mut setup = EventStreamTest::start(StreamBehaviour::Lost).await;
    let error = setup.refused().await;
    assert!(error.contains("the answer is missing"), "{error}");
    assert_eq!(setup.observations.calls.load(Ordering::Relaxed), 1);
    setup.server.finish().await.unwrap();
}

#[tokio::test]
async fn call_is_not_repeated_after_its_session_ended() {
    let mut setup = EventStreamTest::start(StreamBehaviour::Forgetful).await;
    let error = setup.refused().await;
    assert!(error.contains("404"), "{error}");
    assert_eq!(setup.observations.calls.load(Ordering::Relaxed), 1);
    setup.server.finish().await.unwrap();
}

#[tokio::test]
async fn closed_event_streams_are_opened_again_on_use() {
    let call = Duration::from_secs(5);
    let mut setup = EventStreamTest::start(StreamBehaviour::Closing { call }).await;
    setup.called().await;
    // Three at the start, and at most one more for the call.
    let streams = setup.streams();
    assert!((3..=4).contains(&streams), "{streams}");
    setup.server.finish().await.unwrap();
}
