//! What the server says of itself: on standard error alone, as much and in the form that is asked for.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use codex_test_support::{HttpReply, ModelServer, ProtocolObserver, sse};
use serde_json::{Value, json};

use crate::setup::scripted_home;
use crate::threads::message_reply;

/// A conversation of a handshake and of a line that cannot be read, with these variables set.
fn converse(variables: &[(&str, &str)]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_codex"))
        .arg("app-server")
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .env_remove("RUST_LOG")
        .env_remove("LOG_FORMAT")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let client = r#"{"clientInfo":{"name":"tests","version":"1"}}"#;
    let said = format!(
        "{{\"id\":0,\"method\":\"initialize\",\"params\":{client}}}\n{{\"method\":\"initialized\"}}\n\
         not json\n"
    );
    server
        .stdin
        .take()
        .unwrap()
        .write_all(said.as_bytes())
        .unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    // Whatever is logged, this is the protocol and nothing else.
    let replies = String::from_utf8(output.stdout.clone()).unwrap();
    let replies: Vec<Value> = replies
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut observer = ProtocolObserver::default();
    let begin = json!({ "id": 0, "method": "initialize", "params": { "clientInfo": { "name": "tests", "version": "1" } } });
    observer.sent(&begin);
    // The reply to the line that is no message has no id that was sent.
    let known = replies.iter().filter(|reply| !reply["id"].is_null());
    known.for_each(|reply| observer.received(reply));
    assert_eq!(replies[0]["id"], 0);
    assert!(replies.iter().any(|reply| reply["error"]["code"] == -32700));
    output
}

fn log_of(variables: &[(&str, &str)]) -> String {
    String::from_utf8(converse(variables).stderr).unwrap()
}

#[test]
fn valid_conversation_logs_nothing() {
    assert_eq!(log_of(&[]), "");
}

#[test]
fn a_log_is_as_long_as_is_asked_for() {
    let log = log_of(&[("RUST_LOG", "codex_app_server=debug")]);
    assert!(log.contains("DEBUG codex_app_server"), "{log}");
    assert!(
        log.lines()
            .all(|line| serde_json::from_str::<Value>(line).is_err())
    );
    assert_eq!(log_of(&[("RUST_LOG", "codex_app_server=error")]), "");
}

#[test]
fn a_log_for_programs_has_an_object_a_line() {
    let log = log_of(&[
        ("RUST_LOG", "codex_app_server=debug"),
        ("LOG_FORMAT", "json"),
    ]);
    assert!(!log.is_empty());
    for line in log.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert_eq!(entry["level"], "DEBUG", "{line}");
        assert!(entry["timestamp"].is_string(), "{line}");
        assert!(entry["fields"]["message"].is_string(), "{line}");
        assert!(
            entry["target"]
                .as_str()
                .unwrap()
                .starts_with("codex_app_server"),
            "{line}"
        );
    }
}

/// A turn with a call of a tool, logged as these directives say.
async fn log_of_turn(directives: &str) -> String {
    let call = sse::function_call("call-1", "update_plan", &json!({ "plan": [] }));
    let model = ModelServer::start([
        HttpReply::stream(&sse::items(&[call])),
        message_reply("m", "done"),
    ]);
    let model = model.await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = Command::new(env!("CARGO_BIN_EXE_codex"))
        .arg("app-server")
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .env("RUST_LOG", directives)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let talking = tokio::task::spawn_blocking(move || {
        let mut input = server.stdin.take().unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
        let observer = RefCell::<ProtocolObserver>::default();
        let mut wait_for = |is_it: &dyn Fn(&Value) -> bool| loop {
            let message = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
            observer.borrow_mut().received(&message);
            if is_it(&message) {
                break message;
            }
        };
        let mut send = |message: Value| {
            observer.borrow_mut().sent(&message);
            writeln!(input, "{message}").unwrap();
        };
        let client = json!({ "clientInfo": { "name": "tests", "version": "1" } });
        send(json!({ "id": 0, "method": "initialize", "params": client }));
        send(json!({ "id": 1, "method": "thread/start", "params": {} }));
        let started = wait_for(&|message| message["id"] == 1);
        let thread = &started["result"]["thread"]["id"];
        let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
        send(json!({ "id": 2, "method": "turn/start", "params": params }));
        wait_for(&|message| message["method"] == "turn/completed");
        drop(input);
        String::from_utf8(server.wait_with_output().unwrap().stderr).unwrap()
    });
    talking.await.unwrap()
}

#[tokio::test]
async fn log_lines_name_their_request_turn_and_call() {
    assert_eq!(log_of_turn("error").await, "");
    let log = log_of_turn("codex_core=debug,codex_app_server=debug").await;
    for expected in [
        "request{method=\"thread/start\" id=1}",
        "a request is replied to id=2 elapsed=",
        "thread{id=",
        "turn{id=",
        "tool{name=\"update_plan\" call_id=\"call-1\"}",
        "model_request{attempt=1}",
    ] {
        assert!(log.contains(expected), "{expected} is not in\n{log}");
    }
}
