//! Input whose request was replied to is in its thread after a kill, however early that was.

use std::fs;
use std::path::Path;
use std::process::Command;

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::escapes::wait_until;
use crate::hooks::{self, answer_with, hook};
use crate::setup::{experimental_server, scripted_home, untrusted_home};

/// A hook that runs for longer than any test.
const SLOW_COMMAND: &str = "sleep 1000";

async fn message_texts(server: &mut AppServer, thread: &str) -> Vec<String> {
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", params).await;
    let turns = read["thread"]["turns"].as_array().unwrap().iter();
    let items = turns.flat_map(|turn| turn["items"].as_array().unwrap());
    items
        .filter(|item| item["type"] == "userMessage")
        .map(|item| item["content"][0]["text"].as_str().unwrap().to_owned())
        .collect()
}

async fn listed_previews(server: &mut AppServer) -> Vec<Value> {
    let listed = server.result("thread/list", json!({})).await;
    let threads = listed["data"].as_array().unwrap().iter();
    threads.map(|thread| thread["preview"].clone()).collect()
}

fn copies(home: &TempDir) -> usize {
    fs::read_dir(home.path().join("accepted-input")).map_or(0, Iterator::count)
}

/// Copies are removed once the file of the thread has the input, and nobody waits for that.
fn no_copies(home: &TempDir) {
    wait_until("the copies are removed", || copies(home) == 0);
}

fn steer(thread: &str, turn: &Value, text: &str) -> Value {
    let input = json!([{ "type": "text", "text": text }]);
    json!({ "threadId": thread, "expectedTurnId": turn["id"], "input": input })
}

#[tokio::test]
async fn first_message_before_hook_is_listed_after_kill() {
    let model = ModelServer::start([]).await.unwrap();
    let home = hooks::home_with(&model, &json!({ "UserPromptSubmit": hook(SLOW_COMMAND) }));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "the only message").await;
    server.kill().await.unwrap();

    let mut server = experimental_server(&home).await;
    assert_eq!(listed_previews(&mut server).await, ["the only message"]);
    assert_eq!(
        message_texts(&mut server, &thread).await,
        ["the only message"]
    );
    no_copies(&home);
    let resumed = server
        .result("thread/resume", json!({ "threadId": thread }))
        .await;
    let shown = &resumed["thread"]["turns"][0];
    assert_eq!(shown["id"], turn["id"]);
    assert_eq!(shown["status"], "interrupted");
    server.kill().await.unwrap();
}

#[tokio::test]
async fn message_before_hook_survives_leaving_client() {
    let model = ModelServer::start([]).await.unwrap();
    let home = hooks::home_with(&model, &json!({ "UserPromptSubmit": hook(SLOW_COMMAND) }));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "the only message").await;
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    assert_eq!(
        message_texts(&mut server, &thread).await,
        ["the only message"]
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn accepted_messages_survive_an_immediate_kill() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let mut expected = Vec::new();
    let thread = server.start_thread().await;
    for round in 0..12 {
        let text = format!("message {round}");
        server.start_turn(&thread, &text).await;
        server.kill().await.unwrap();
        expected.push(text);
        server = experimental_server(&home).await;
        assert_eq!(message_texts(&mut server, &thread).await, expected);
        server
            .result("thread/resume", json!({ "threadId": thread }))
            .await;
    }
    // The model gets them all.
    server.run_turn(&thread, "last").await;
    let sent = model.requests().last().unwrap().json()["input"].to_string();
    for text in expected {
        assert_eq!(sent.matches(&format!("\"{text}\"")).count(), 1, "{sent}");
    }
    no_copies(&home);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn first_message_in_repository_survives_kill() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    let folder = TempDir::new().unwrap();
    git(folder.path(), &["init", "-q"]);
    for _ in 0..6 {
        let mut server = experimental_server(&home).await;
        let thread = server
            .start_thread_with(json!({ "cwd": folder.path() }))
            .await;
        server.start_turn(&thread, "hello").await;
        server.kill().await.unwrap();
        let mut server = experimental_server(&home).await;
        assert_eq!(message_texts(&mut server, &thread).await, ["hello"]);
        server.finish().await.unwrap();
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .status();
    assert!(ran.unwrap().success());
}

#[tokio::test]
async fn steered_input_is_there_after_an_immediate_kill() {
    let model = ModelServer::start([]).await.unwrap();
    let never = Latch::new();
    model.push(HttpReply::status(200).wait(&never));
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "begin").await;
    model.request(0).await;
    for text in ["same words", "same words", "other words"] {
        server
            .result("turn/steer", steer(&thread, &turn, text))
            .await;
    }
    server.kill().await.unwrap();

    let mut server = experimental_server(&home).await;
    assert_eq!(
        message_texts(&mut server, &thread).await,
        ["begin", "same words", "same words", "other words"]
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn message_that_a_hook_refused_does_not_come_back() {
    let model = ModelServer::start([]).await.unwrap();
    let refuses = hook("echo not allowed >&2; exit 2");
    let home = hooks::home_with(&model, &json!({ "UserPromptSubmit": refuses }));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "refused").await;
    no_copies(&home);
    server.kill().await.unwrap();
    let mut server = experimental_server(&home).await;
    assert_eq!(listed_previews(&mut server).await, [] as [Value; 0]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn damaged_copy_stops_nothing_and_is_removed() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let folder = home.path().join("accepted-input");
    fs::create_dir(&folder).unwrap();
    let torn = folder.join("0195f0a0-7b1c-7000-8000-0000000000ab.json");
    fs::write(&torn, "{\"thread\":").unwrap();
    fs::write(folder.join("notes.txt"), "not ours").unwrap();
    // A copy that names a file elsewhere writes nothing there.
    let elsewhere = home.path().join("config-copy.toml");
    let thread = "0195f0a0-7b1c-7000-8000-0000000000cd";
    let content = json!({
        "thread": thread, "turn": "t", "item": "i", "file": elsewhere, "beginning": "x\n",
        "input": { "items": [{ "type": "text", "text": "hello" }] },
    });
    fs::write(folder.join(format!("{thread}.json")), content.to_string()).unwrap();
    let mut server = experimental_server(&home).await;
    assert_eq!(listed_previews(&mut server).await, [] as [Value; 0]);
    assert!(!elsewhere.exists());
    assert_eq!(copies(&home), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn input_of_copied_thread_survives_kill() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let first = scripted_home(&model, "");
    let mut server = experimental_server(&first).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "before").await;
    let read = server
        .result("thread/read", json!({ "threadId": thread }))
        .await;
    let path = read["thread"]["path"].clone();
    server.finish().await.unwrap();

    let home = hooks::home_with(&model, &json!({ "UserPromptSubmit": hook(SLOW_COMMAND) }));
    let mut server = experimental_server(&home).await;
    let by_path = json!({ "threadId": thread, "path": path });
    server.result("thread/resume", by_path).await;
    server.start_turn(&thread, "after").await;
    server.kill().await.unwrap();
    experimental_server(&home).await.kill().await.unwrap();
    let stored = fs::read_to_string(path.as_str().unwrap()).unwrap();
    assert_eq!(stored.matches("\"message\":\"after\"").count(), 1);
    no_copies(&home);
}

#[tokio::test]
async fn copy_of_a_newer_version_is_left_alone() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let folder = home.path().join("accepted-input");
    fs::create_dir(&folder).unwrap();
    let newer = folder.join("0195f0a0-7b1c-7000-8000-0000000000ab.json");
    fs::write(&newer, r#"{"form":2}"#).unwrap();
    experimental_server(&home).await.finish().await.unwrap();
    assert!(newer.exists());
}

/// A server with a turn whose request to the model has no answer, and two steered messages.
#[tokio::test]
async fn injected_items_and_pins_survive_an_immediate_kill() {
    let model = ModelServer::start([]).await.unwrap();
    let never = Latch::new();
    model.push(HttpReply::status(200).wait(&never));
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "begin").await;
    model.request(0).await;
    for text in ["first item", "second item"] {
        let content = json!([{ "type": "input_text", "text": text }]);
        let item = json!({ "type": "message", "role": "developer", "content": content });
        let params = json!({ "threadId": thread, "items": [item] });
        server.result("thread/inject_items", params).await;
    }
    let plan = json!({ "threadId": thread, "markdown": "build a bridge" });
    server.result("thread/prepareApprovedPlan", plan).await;
    let pin = json!({ "threadId": thread, "text": "pinned words" });
    server.result("thread/pin/add", pin).await;
    server.kill().await.unwrap();

    let mut server = experimental_server(&home).await;
    let resume = json!({ "threadId": thread });
    server.result("thread/resume", resume.clone()).await;
    no_copies(&home);
    let pins = server.result("thread/pin/list", resume).await;
    assert_eq!(pins["data"][0]["text"], "pinned words");
    model.push(answer_with("done"));
    server.start_turn(&thread, "go on").await;
    server.completed_turn().await;
    let sent = String::from_utf8(model.request(1).await.body).unwrap();
    let mut places = Vec::new();
    for text in [
        "first item",
        "second item",
        "build a bridge",
        "pinned words",
    ] {
        assert_eq!(sent.matches(text).count(), 1, "{text}: {sent}");
        places.push(sent.find(text));
    }
    assert!(places.is_sorted(), "{sent}");
    server.finish().await.unwrap();
}

async fn steered_turn(home: &TempDir, model: &ModelServer) -> (AppServer, String, Value) {
    let never = Latch::new();
    model.push(HttpReply::status(200).wait(&never));
    let mut server = experimental_server(home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "begin").await;
    model.request(0).await;
    for text in ["first", "second"] {
        let params = steer(&thread, &turn, text);
        server.result("turn/steer", params).await;
    }
    (server, thread, turn)
}

#[tokio::test]
async fn steered_input_survives_leaving_client() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let (server, thread, turn) = steered_turn(&home, &model).await;
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let texts = message_texts(&mut server, &thread).await;
    assert_eq!(texts, ["begin", "first", "second"]);
    no_copies(&home);
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    assert_eq!(read["thread"]["turns"][0]["id"], turn["id"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn steered_input_is_dropped_with_the_interrupted_turn() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let (mut server, thread, turn) = steered_turn(&home, &model).await;
    let params = json!({ "threadId": thread, "turnId": turn["id"] });
    server.result("turn/interrupt", params).await;
    server.completed_turn().await;
    no_copies(&home);
    assert_eq!(message_texts(&mut server, &thread).await, ["begin"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn steered_input_behind_a_question_survives_the_client() {
    let model = ModelServer::start([]).await.unwrap();
    let call = json!({ "command": "touch asked" });
    let call = sse::function_call("call", "shell_command", &call);
    model.push(HttpReply::stream(&sse::items(&[call])));
    let home = untrusted_home(&model);
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "begin").await;
    let asked = "item/commandExecution/requestApproval";
    server.wait_for(asked).await.unwrap();
    let params = steer(&thread, &turn, "meanwhile");
    server.result("turn/steer", params).await;
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let texts = message_texts(&mut server, &thread).await;
    assert_eq!(texts, ["begin", "meanwhile"]);
    no_copies(&home);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn turn_accepted_during_a_compaction_starts_after_its_interrupt() {
    let model = ModelServer::start([]).await.unwrap();
    model.push(HttpReply::stream(&sse::text("done")));
    let never = Latch::new();
    model.push(HttpReply::status(200).wait(&never));
    model.push(HttpReply::stream(&sse::text("done again")));
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "begin").await;
    let params = json!({ "threadId": thread });
    server.result("thread/compact/start", params).await;
    model.request(1).await;
    let compaction = server.wait_for("turn/started").await.unwrap();
    let later = server.start_turn(&thread, "later").await;
    let compaction = &compaction["params"]["turn"]["id"];
    let params = json!({ "threadId": thread, "turnId": compaction });
    server.result("turn/interrupt", params).await;
    let ended = server.completed_turn().await;
    assert_eq!(&ended["id"], compaction);
    let ended = server.completed_turn().await;
    assert_eq!(ended["id"], later["id"]);
    assert_eq!(ended["status"], "completed");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn steered_input_survives_compaction() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let (mut server, thread, _) = steered_turn(&home, &model).await;
    model.push(HttpReply::stream(&sse::text("a summary")));
    let params = json!({ "threadId": thread });
    server.result("thread/compact/start", params).await;
    server.completed_turn().await;
    server.completed_turn().await;
    let texts = message_texts(&mut server, &thread).await;
    assert_eq!(texts, ["begin", "first", "second"]);
    no_copies(&home);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn message_before_hook_is_dropped_by_interrupt() {
    let model = ModelServer::start([]).await.unwrap();
    let home = hooks::home_with(&model, &json!({ "UserPromptSubmit": hook(SLOW_COMMAND) }));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "begin").await;
    let params = json!({ "threadId": thread, "turnId": turn["id"] });
    server.result("turn/interrupt", params).await;
    server.completed_turn().await;
    server.finish().await.unwrap();
    no_copies(&home);
}
