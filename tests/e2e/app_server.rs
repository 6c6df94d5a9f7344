//! Threads and turns through the built server, with a scripted model behind it.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home whose model is `model`.
pub(crate) fn home(model: &ModelServer) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\napproval_policy = \"untrusted\"\n\
         sandbox_mode = \"danger-full-access\"\n\
         [model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        model.base_url()
    );
    fs::write(home.path().join("config.toml"), config).unwrap();
    home
}

pub(crate) async fn server(home: &TempDir) -> AppServer {
    let program = env!("CARGO_BIN_EXE_codex");
    let mut server = AppServer::start(program, home.path()).unwrap();
    let client = json!({ "name": "tests", "version": "1" });
    let reply = server
        .call("initialize", json!({ "clientInfo": client }))
        .await;
    assert!(reply.unwrap()["result"]["userAgent"].is_string());
    server
}

pub(crate) async fn start_thread(server: &mut AppServer) -> String {
    let reply = server.call("thread/start", json!({})).await.unwrap();
    reply["result"]["thread"]["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn start_turn(server: &mut AppServer, thread: &str, text: &str) -> Value {
    let input = json!([{ "type": "text", "text": text }]);
    let params = json!({ "threadId": thread, "input": input });
    server.call("turn/start", params).await.unwrap()
}

fn reply(events: &[Value]) -> HttpReply {
    HttpReply::stream(events)
}

/// The parts of a turn that do not depend on where it was read.
pub(crate) fn shape(turn: &Value) -> Value {
    let mut items = turn["items"].clone();
    for item in items.as_array_mut().unwrap() {
        let item = item.as_object_mut().unwrap();
        item.retain(|name, _| !matches!(&**name, "id" | "startedAtMs" | "completedAtMs"));
    }
    json!({ "id": turn["id"], "status": turn["status"], "items": items })
}

#[tokio::test]
async fn a_turn_reads_back_as_it_was_streamed() {
    let call = json!({ "command": "echo hello" });
    let model = ModelServer::start([
        reply(&sse::items(&[sse::function_call(
            "call-1",
            "shell_command",
            &call,
        )])),
        reply(&sse::text("done")),
    ]);
    let model = model.await.unwrap();
    let home = home(&model);
    let mut server = server(&home).await;
    let thread = start_thread(&mut server).await;
    let started = start_turn(&mut server, &thread, "say hello").await;
    assert_eq!(started["result"]["turn"]["status"], "inProgress");
    let ended = server.wait_for("turn/completed").await.unwrap();
    let turn = &ended["params"]["turn"];
    assert_eq!(turn["id"], started["result"]["turn"]["id"]);
    assert_eq!(turn["status"], "completed");
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    let thread = &read["result"]["thread"];
    assert_eq!(thread["preview"], "say hello");
    let stored = &thread["turns"][0];
    assert_eq!(shape(stored), shape(turn));
    for (stored, told) in items(stored).iter().zip(items(turn)) {
        let time = |item: &Value, name: &str| item[name].as_i64().unwrap();
        assert!(time(told, "startedAtMs") <= time(told, "completedAtMs"));
        // It is stored a moment later than it is told.
        let apart = time(stored, "completedAtMs") - time(told, "completedAtMs");
        assert!(apart.abs() < 60_000, "{apart}");
        if stored["type"] == "commandExecution" {
            let took = time(stored, "completedAtMs") - time(stored, "startedAtMs");
            assert_eq!(took, stored["durationMs"].as_i64().unwrap());
        }
    }
    server.finish().await.unwrap();
}

fn items(turn: &Value) -> &[Value] {
    turn["items"].as_array().unwrap()
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_the_connection_goes_on() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home(&model);
    let mut server = server(&home).await;
    for (line, code) in [
        ("no json", -32700),
        (r#"{"id":"a","params":{}}"#, -32600),
        (r#"{"id":"b","method":"no/such"}"#, -32601),
        (
            r#"{"id":"c","method":"thread/start","params":{"cwd":7}}"#,
            -32600,
        ),
        (
            r#"{"id":"d","method":"initialize","params":{"clientInfo":{"name":"x","version":"1"}}}"#,
            -32600,
        ),
    ] {
        match serde_json::from_str::<Value>(line) {
            Ok(message) => server.send(&message).await.unwrap(),
            Err(_) => server.send_line(line).await.unwrap(),
        }
        let refused = loop {
            let message = server.receive().await;
            if message.as_ref().unwrap().get("error").is_some() {
                break message.unwrap();
            }
        };
        assert_eq!(refused["error"]["code"], code, "{line}: {refused}");
    }
    start_thread(&mut server).await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_runs_when_the_client_goes_away_ends_as_interrupted() {
    let model = ModelServer::start([HttpReply::silence()]).await.unwrap();
    let home = home(&model);
    let mut server = server(&home).await;
    let thread = start_thread(&mut server).await;
    start_turn(&mut server, &thread, "wait").await;
    server.wait_for("turn/started").await.unwrap();
    server.finish().await.unwrap();
}

#[tokio::test]
async fn an_interrupt_is_replied_to_and_ends_the_turn() {
    let model = ModelServer::start([HttpReply::silence()]).await.unwrap();
    let home = home(&model);
    let mut server = server(&home).await;
    let thread = start_thread(&mut server).await;
    let started = start_turn(&mut server, &thread, "wait").await;
    let turn = &started["result"]["turn"]["id"];
    let params = json!({ "threadId": thread, "turnId": turn });
    let reply = server.call("turn/interrupt", params.clone()).await.unwrap();
    assert_eq!(reply["result"], json!({}));
    let ended = server.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["turn"]["status"], "interrupted");
    let late = server.call("turn/interrupt", params).await.unwrap();
    assert_eq!(late["error"]["code"], -32600);
    server.finish().await.unwrap();
}
