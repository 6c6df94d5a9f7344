//! Threads and turns through the built server, with a scripted model behind it.

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::setup::{server, untrusted_home};

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
        HttpReply::stream(&sse::items(&[sse::function_call(
            "call-1",
            "shell_command",
            &call,
        )])),
        HttpReply::stream(&sse::text("done")),
    ]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let started = server.start_turn(&thread, "say hello").await;
    assert_eq!(started["status"], "inProgress");
    let turn = &server.completed_turn().await;
    assert_eq!(turn["id"], started["id"]);
    assert_eq!(turn["status"], "completed");
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    let thread = &read["result"]["thread"];
    assert_eq!(thread["preview"], "say hello");
    let stored = &thread["turns"][0];
    assert_eq!(shape(stored), shape(turn));
    for (stored, live) in items(stored).iter().zip(items(turn)) {
        let time = |item: &Value, name: &str| item[name].as_i64().unwrap();
        assert!(time(live, "startedAtMs") <= time(live, "completedAtMs"));
        // It is stored a moment later than it is told.
        let apart = time(stored, "completedAtMs") - time(live, "completedAtMs");
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
async fn invalid_request_is_refused_and_the_connection_continues() {
    let model = ModelServer::start([]).await.unwrap();
    let home = untrusted_home(&model);
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
    server.start_thread().await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn running_turn_is_interrupted_when_the_client_disconnects() {
    let model = ModelServer::start([HttpReply::silence()]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "wait").await;
    server.wait_for("turn/started").await.unwrap();
    server.finish().await.unwrap();
}

#[tokio::test]
async fn an_interrupt_is_replied_to_and_ends_the_turn() {
    let model = ModelServer::start([HttpReply::silence()]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let started = server.start_turn(&thread, "wait").await;
    let turn = &started["id"];
    let params = json!({ "threadId": thread, "turnId": turn });
    let reply = server.call("turn/interrupt", params.clone()).await.unwrap();
    assert_eq!(reply["result"], json!({}));
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "interrupted");
    let late = server.call("turn/interrupt", params).await.unwrap();
    assert_eq!(late["error"]["code"], -32600);
    server.finish().await.unwrap();
}
