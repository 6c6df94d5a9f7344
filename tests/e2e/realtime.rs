//! Realtime conversations: both versions of the protocol, delegated work, ends and faults.

use std::fs;
use std::net::TcpListener as BlockingListener;
use std::path::Path;
use std::sync::Arc;

use codex_scenario::{
    HttpReply, HttpResponder, HttpServer, ReceivedRequest, Scenario, SocketSession,
};
use codex_test_support::{AppServer, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::newer_threads::newer_server;
use crate::setup::{PROGRAM, experimental_server, home_with, numbered, scripted_config};

const VERSIONS: [&str; 2] = ["v1", "v2"];

const SCRIPT: &str = r#"
description = "a test"
settings = { approval_policy = "never" }
replies = [{ steps = [{ message = "it is fixed now" }] }]
[[realtime.replies]]
when = "start"
steps = [{ hear = "hello" }, { say = "hi there" }]
[[realtime.replies]]
when = { text = "fix" }
steps = [{ delegate = "fix it" }]
[[realtime.replies]]
when = { result = "fixed now" }
steps = [{ say = "done" }]
[[realtime.replies]]
when = { audio_ms = 40 }
repeat = true
steps = [{ audio_ms = 100 }]
"#;

/// A thread whose realtime server follows a script.
struct RealtimeTest {
    server: AppServer,
    thread: String,
    _folder: TempDir,
}

impl RealtimeTest {
    async fn start(version: &str, script: &str) -> Self {
        Self::start_with(version, script, &[]).await
    }

    async fn start_with(version: &str, script: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scenario.toml");
        let script = format!("{script}\n[realtime]\nversion = \"{version}\"\n");
        fs::write(&path, &script).unwrap();
        Scenario::load(&path).unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        let own = ["--scenario", path.to_str().unwrap()];
        let arguments = [&own[..], arguments].concat();
        let mut server = AppServer::start_with(PROGRAM, &home, &arguments).unwrap();
        server.initialize_experimental().await;
        Self {
            thread: server.start_thread().await,
            server,
            _folder: folder,
        }
    }

    async fn call(&mut self, method: &str, more: Value) {
        call(&mut self.server, &self.thread, method, more).await;
    }

    async fn wait(&mut self, method: &str) -> Value {
        let method = format!("thread/realtime/{method}");
        self.server.wait_for(&method).await.unwrap()["params"].take()
    }

    async fn ended(mut self, reason: &str) {
        assert_eq!(self.wait("closed").await["reason"], reason);
        self.server.finish().await.unwrap();
    }
}

async fn call(server: &mut AppServer, thread: &str, method: &str, more: Value) {
    let mut params = json!({ "threadId": thread });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let method = format!("thread/realtime/{method}");
    assert_eq!(server.result(&method, params).await, json!({}));
}

fn sound(ms: usize) -> Value {
    json!({"audio": {"data": "A".repeat(ms * 64), "sampleRate": 24000, "numChannels": 1,
                     "samplesPerChannel": ms * 24, "itemId": null}})
}

#[tokio::test]
async fn each_version_speaks_and_hands_work_over() {
    for version in VERSIONS {
        let mut test = RealtimeTest::start(version, SCRIPT).await;
        test.call("start", json!({ "prompt": "be nice" })).await;
        let started = test.wait("started").await;
        assert_eq!(
            (&started["version"], &started["sessionId"]),
            (&json!(version), &json!(test.thread))
        );
        let heard = test.wait("transcriptUpdated").await;
        assert_eq!(
            (&heard["role"], &heard["text"]),
            (&json!("user"), &json!("hello"))
        );
        assert_eq!(test.wait("itemAdded").await["item"]["role"], "assistant");
        for word in ["hi ", "there"] {
            let said = test.wait("transcriptUpdated").await;
            assert_eq!(
                (&said["role"], &said["text"]),
                (&json!("assistant"), &json!(word))
            );
        }
        test.call("appendText", json!({ "text": "please fix it" }))
            .await;
        let handoff = loop {
            let added = test.wait("itemAdded").await["item"].take();
            if added["type"] == "handoff_request" {
                break added;
            }
        };
        assert_eq!(handoff["input_transcript"], "fix it");
        let turn = test.server.completed_turn().await;
        assert_eq!(turn["status"], "completed");
        let input = &turn["items"][0]["content"][0]["text"];
        let expected = match version {
            "v1" => "user: hello\nassistant: hi there",
            _ => "fix it",
        };
        assert_eq!(input, expected);
        // The server has the result of the work.
        assert_eq!(test.wait("transcriptUpdated").await["text"], "done");
        for _ in 0..2 {
            test.call("appendAudio", sound(20)).await;
        }
        let audio = test.wait("outputAudio/delta").await["audio"].take();
        assert_eq!(audio["data"].as_str().unwrap().len(), 6400);
        assert_eq!(
            (&audio["sampleRate"], &audio["numChannels"]),
            (&json!(24000), &json!(1))
        );
        test.call("stop", json!({})).await;
        test.ended("requested").await;
    }
}

#[tokio::test]
async fn newer_clients_get_items() {
    let mut test = RealtimeTest::start_with("v2", SCRIPT, &["--newer-clients"]).await;
    test.call(
        "start",
        json!({ "outputModality": "audio", "voice": "cedar" }),
    )
    .await;
    let item = test.wait("item/started").await["item"].take();
    assert_eq!(item["type"], "realtimeSessionStarted");
    let started = test.wait("started").await;
    assert_eq!(started["realtimeSessionId"], test.thread);
    let item = test.wait("item/started").await["item"].take();
    assert_eq!(
        (&item["type"], &item["role"]),
        (&json!("transcriptSegment"), &json!("user"))
    );
    let delta = test.wait("item/transcript/delta").await;
    assert_eq!(
        (&delta["itemId"], &delta["delta"]),
        (&item["id"], &json!("hello"))
    );
    assert_eq!(test.wait("transcript/delta").await["delta"], "hello");
    let whole = test.wait("item/completed").await["item"].take();
    assert_eq!(
        (&whole["id"], &whole["text"]),
        (&item["id"], &json!("hello"))
    );
    assert_eq!(test.wait("transcript/done").await["text"], "hello");
    let done = test.wait("transcript/done").await;
    assert_eq!(
        (&done["role"], &done["text"]),
        (&json!("assistant"), &json!("hi there"))
    );
    test.call("stop", json!({})).await;
    let item = test.wait("item/completed").await["item"].take();
    assert_eq!(
        (&item["type"], &item["outcome"]),
        (&json!("realtimeSessionClosed"), &json!("ended"))
    );
    test.ended("requested").await;
}

#[tokio::test]
async fn realtime_items_are_listed() {
    let mut test = RealtimeTest::start_with("v2", SCRIPT, &["--client-release", "0.171"]).await;
    let thread = test.thread.clone();
    let listed = |more: Value| {
        let mut params = json!({ "threadId": thread });
        let more = more.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(more);
        params
    };
    let method = "thread/realtime/list";
    let empty = test.server.result(method, listed(json!({}))).await;
    assert_eq!(
        (&empty["data"], &empty["coverage"]),
        (&json!([]), &json!("ready"))
    );
    test.call(
        "start",
        json!({ "outputModality": "audio", "voice": "cedar" }),
    )
    .await;
    test.wait("transcript/done").await;
    test.wait("transcript/done").await;
    test.call("stop", json!({})).await;
    test.wait("closed").await;
    let all = test.server.result(method, listed(json!({}))).await;
    let items: Vec<_> = all["data"].as_array().unwrap().iter().collect();
    let kinds = items
        .iter()
        .map(|entry| (&entry["position"], &entry["item"]["type"]));
    let expected = [
        "realtimeSessionStarted",
        "transcriptSegment",
        "transcriptSegment",
        "realtimeSessionClosed",
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .enumerate()
        .map(|(at, kind)| (json!(at), json!(kind)))
        .collect();
    assert!(
        kinds.eq(expected.iter().map(|(at, kind)| (at, kind))),
        "{all}"
    );
    assert!(
        items
            .iter()
            .all(|entry| entry["item"]["observedAtMs"].is_i64()),
        "{all}"
    );
    let first = test
        .server
        .result(method, listed(json!({ "limit": 3, "order": "position" })))
        .await;
    let rest = json!({ "limit": 3, "order": "position", "cursor": first["nextCursor"] });
    let rest = test.server.result(method, listed(rest)).await;
    assert_eq!(rest["data"], json!([items[3]]));
    let one = json!({ "eventId": items[1]["item"]["id"] });
    assert_eq!(
        test.server.result(method, listed(one)).await["data"],
        json!([items[1]])
    );
    let unknown = json!({ "sessionId": "x", "eventId": "y" });
    assert_eq!(
        test.server.result(method, listed(unknown)).await["coverage"],
        "pending"
    );
    let absent = json!({ "threadId": "0195f0a0-7b1c-7000-8000-0000000000ab" });
    assert_eq!(
        test.server.result(method, absent).await["coverage"],
        "unsupported"
    );
    for wrong in [
        json!({ "limit": 0 }),
        json!({ "cursor": "zz" }),
        json!({ "order": "bogus" }),
        json!({ "threadId": "nope" }),
    ] {
        assert_eq!(test.server.refusal(method, listed(wrong)).await.0, -32600);
    }
    let (code, _) = test
        .server
        .refusal(method, listed(json!({ "speaker": "user" })))
        .await;
    assert_eq!(code, -32602);
    test.server.finish().await.unwrap();
}

#[tokio::test]
async fn every_end_has_its_reason() {
    let ends = [
        ("\"cut\"", None, "transport_closed"),
        ("{ fail = \"out of order\" }", Some("out of order"), "error"),
        ("\"binary\", \"stall\"", Some("binary message"), "error"),
    ];
    for (step, error, reason) in ends {
        for version in VERSIONS {
            let script = format!(
                "description = \"a test\"\nreplies = [{{ steps = [{{ message = \"a\" }}] }}]\n\
                 [[realtime.replies]]\nwhen = \"start\"\nsteps = [{{ raw = \"no JSON\" }}, {step}]\n"
            );
            let mut test = RealtimeTest::start(version, &script).await;
            test.call("start", json!({ "prompt": "" })).await;
            test.wait("started").await;
            if let Some(error) = error {
                let message = test.wait("error").await["message"].take();
                assert!(message.as_str().unwrap().contains(error), "{message}");
            }
            assert_eq!(test.wait("closed").await["reason"], reason);
            // Nothing is left of it.
            test.call("appendText", json!({ "text": "a" })).await;
            let error = test.server.wait_for("error").await.unwrap();
            assert_eq!(
                error["params"]["error"]["message"],
                "conversation is not running"
            );
            test.call("stop", json!({})).await;
            test.ended("requested").await;
        }
    }
}

#[tokio::test]
async fn a_second_conversation_replaces_the_first_one() {
    let mut test = RealtimeTest::start("v1", SCRIPT).await;
    for session in ["one", "two"] {
        test.call("start", json!({ "prompt": "", "sessionId": session }))
            .await;
        assert_eq!(test.wait("started").await["sessionId"], session);
    }
    // The conversation ends with its thread.
    let leave = json!({ "threadId": test.thread });
    test.server.result("thread/unsubscribe", leave).await;
    test.server.wait_for("thread/closed").await.unwrap();
    test.server.finish().await.unwrap();
}

/// A realtime server that hands over what it is sent.
#[derive(Debug)]
struct RealtimeRecorder(mpsc::UnboundedSender<Value>);

impl HttpResponder for RealtimeRecorder {
    fn reply(&self, _: ReceivedRequest) -> HttpReply {
        HttpReply::status(404)
    }

    fn open_socket(
        self: Arc<Self>,
        handshake: &ReceivedRequest,
    ) -> Result<Box<dyn SocketSession>, HttpReply> {
        let header = |name| handshake.header(name);
        let handshake = json!({"path": handshake.path, "query": handshake.query, "key": header("authorization"),
                               "session": header("x-session-id"), "originator": header("originator")});
        self.0.send(handshake).unwrap();
        Ok(Box::new(RecorderSession(self.0.clone())))
    }
}

struct RecorderSession(mpsc::UnboundedSender<Value>);

impl SocketSession for RecorderSession {
    fn message(&mut self, text: &str) -> HttpReply {
        let _ = self.0.send(serde_json::from_str(text).unwrap());
        HttpReply::status(200)
    }
}

/// A home whose realtime server is at this address.
fn home_of(model: &ModelServer, url: &str, settings: &str) -> TempDir {
    let config = scripted_config(
        model,
        &format!(
            "approval_policy = \"never\"\nexperimental_realtime_ws_base_url = \"{url}\"\n{settings}"
        ),
    );
    home_with(&format!(
        "{config}experimental_bearer_token = \"the-key\"\n[features]\nrealtime_conversation = true\n"
    ))
}

async fn recorder() -> (HttpServer, mpsc::UnboundedReceiver<Value>) {
    let (sender, received) = mpsc::unbounded_channel();
    let server = HttpServer::start(Arc::new(RealtimeRecorder(sender)))
        .await
        .unwrap();
    (server, received)
}

fn url_of(server: &HttpServer) -> String {
    format!("ws://{}", server.address())
}

async fn thread_in(server: &mut AppServer, folder: &Path) -> String {
    server.start_thread_with(json!({ "cwd": folder })).await
}

#[tokio::test]
async fn realtime_request_has_client_and_thread_context() {
    let model = ModelServer::start([HttpReply::stream(&sse::text("It rains."))])
        .await
        .unwrap();
    let (realtime, mut sent) = recorder().await;
    let home = home_of(
        &model,
        &url_of(&realtime),
        "experimental_realtime_ws_model = \"voice\"",
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("umbrella.txt"), "").unwrap();
    let mut server = experimental_server(&home).await;
    let thread = thread_in(&mut server, folder.path()).await;
    server.run_turn(&thread, "How is the weather?").await;
    call(
        &mut server,
        &thread,
        "start",
        json!({ "prompt": "be nice" }),
    )
    .await;
    let handshake = sent.recv().await.unwrap();
    assert_eq!(handshake["path"], "/v1/realtime");
    assert_eq!(handshake["query"], "intent=quicksilver&model=voice");
    assert_eq!(handshake["key"], "Bearer the-key");
    assert_eq!(handshake["session"], *thread);
    let update = sent.recv().await.unwrap();
    assert_eq!(update["type"], "session.update");
    assert_eq!(update["session"]["type"], "quicksilver");
    let instructions = update["session"]["instructions"].as_str().unwrap();
    for part in [
        "user: How is the weather?\nassistant: It rains.",
        "umbrella.txt",
    ] {
        assert!(instructions.contains(part), "{instructions}");
    }
    assert!(instructions.starts_with("be nice\n\n"), "{instructions}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turns_know_whether_a_conversation_lasts() {
    let model = ModelServer::start([]).await.unwrap();
    for _ in 0..3 {
        model.push(HttpReply::stream(&numbered(sse::text("yes"))));
    }
    let (realtime, mut sent) = recorder().await;
    let settings = "experimental_realtime_ws_startup_context = \"\"";
    let home = home_of(&model, &url_of(&realtime), settings);
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let start = json!({"prompt": "p", "realtimeStartInstructions": "listen",
                       "realtimeEndInstructions": "it is quiet"});
    call(&mut server, &thread, "start", start).await;
    sent.recv().await.unwrap();
    assert_eq!(sent.recv().await.unwrap()["session"]["instructions"], "p");
    server.run_turn(&thread, "one").await;
    server.run_turn(&thread, "two").await;
    call(&mut server, &thread, "stop", json!({})).await;
    server.wait_for("thread/realtime/closed").await.unwrap();
    server.run_turn(&thread, "three").await;
    let counts = model.requests().into_iter().map(|request| {
        let input = request.json()["input"].to_string();
        let count = |text: &str| {
            input
                .matches(&format!("<realtime_conversation>\\n{text}"))
                .count()
        };
        (count("listen"), count("it is quiet"))
    });
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 0), (1, 0), (1, 1)]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unreachable_realtime_server_is_an_error() {
    let model = ModelServer::start([]).await.unwrap();
    let unused = BlockingListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let home = home_of(&model, &url, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    call(&mut server, &thread, "start", json!({ "prompt": "p" })).await;
    let error = server.wait_for("thread/realtime/error").await.unwrap();
    let message = error["params"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be reached"), "{message}");
    assert!(!message.contains("the-key"), "{message}");
    call(&mut server, &thread, "appendAudio", sound(20)).await;
    let error = server.wait_for("error").await.unwrap();
    assert_eq!(
        error["params"]["error"]["message"],
        "conversation is not running"
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn without_a_key_or_the_feature_there_is_none() {
    let model = ModelServer::start([]).await.unwrap();
    let config = scripted_config(&model, "");
    let home = home_with(&format!(
        "{config}[features]\nrealtime_conversation = true\n"
    ));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    call(&mut server, &thread, "start", json!({ "prompt": "p" })).await;
    let error = server.wait_for("thread/realtime/error").await.unwrap();
    let message = "realtime conversation requires API key auth";
    assert_eq!(error["params"]["message"], message);
    let transport =
        json!({"threadId": thread, "transport": {"type": "existingCall", "callId": "x"}});
    let refusal = server
        .call("thread/realtime/start", transport)
        .await
        .unwrap();
    assert_eq!(refusal["error"]["code"], -32600);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn newer_clients_need_no_feature_to_get_an_answer() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with(&scripted_config(&model, ""));
    let mut server = newer_server(&home).await;
    let thread = server.start_thread().await;
    let webrtc = json!({ "version": "v3", "transport": { "type": "webrtc", "sdp": "v=0" } });
    for (start, cause) in [(webrtc, "WebRTC"), (json!({}), "`realtime_conversation`")] {
        call(&mut server, &thread, "start", start.clone()).await;
        let error = server.wait_for("thread/realtime/error").await.unwrap();
        let message = error["params"]["message"].as_str().unwrap();
        assert!(message.contains(cause), "{start}: {message}");
        call(&mut server, &thread, "stop", json!({})).await;
        let closed = server.wait_for("thread/realtime/closed").await.unwrap();
        assert_eq!(closed["params"]["reason"], "requested");
    }
    server.finish().await.unwrap();
}

/// What the terminal UI 0.169 sends for `/voice`.
#[tokio::test]
async fn newer_realtime_conversation_ends_with_its_error() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_of(&model, "ws://127.0.0.1:9", "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    for (start, cause) in [
        (
            json!({ "version": "v3", "transport": { "type": "webrtc", "sdp": "v=0" } }),
            "WebRTC",
        ),
        (
            json!({ "transport": { "type": "webrtc", "sdp": "v=0" } }),
            "WebRTC",
        ),
        (json!({ "version": "v3" }), "`v3`"),
    ] {
        call(&mut server, &thread, "start", start.clone()).await;
        let error = server.wait_for("thread/realtime/error").await.unwrap();
        let message = error["params"]["message"].as_str().unwrap();
        assert!(message.contains(cause), "{start}: {message}");
        call(&mut server, &thread, "stop", json!({})).await;
        let closed = server.wait_for("thread/realtime/closed").await.unwrap();
        assert_eq!(closed["params"]["reason"], "requested");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unreading_realtime_server_blocks_no_request() {
    let model = ModelServer::start([]).await.unwrap();
    // The connection is accepted by the system, and nobody replies to the handshake.
    let silent = BlockingListener::bind("127.0.0.1:0").unwrap();
    let home = home_of(
        &model,
        &format!("ws://{}", silent.local_addr().unwrap()),
        "",
    );
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    call(&mut server, &thread, "start", json!({ "prompt": "p" })).await;
    for _ in 0..400 {
        call(&mut server, &thread, "appendAudio", sound(20)).await;
    }
    call(&mut server, &thread, "appendText", json!({ "text": "a" })).await;
    call(&mut server, &thread, "stop", json!({})).await;
    let closed = server.wait_for("thread/realtime/closed").await.unwrap();
    assert_eq!(closed["params"]["reason"], "requested");
    server.finish().await.unwrap();
}
