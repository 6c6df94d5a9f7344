//! Where items begin and end when something comes between: nobody agrees, an error for an answer, a
//! failure of the model.

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};

use crate::setup::{PROGRAM, server, untrusted_home};

const APPROVAL: &str = "item/commandExecution/requestApproval";

fn call(name: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call("call", name, arguments)]))
}

/// A message whose id is its text.
fn text_reply(text: &str) -> HttpReply {
    let mut message = sse::message(text);
    message["id"] = text.into();
    HttpReply::stream(&sse::items(&[message]))
}

/// The messages about items of a kind and about errors until the turn ends: what each is, and the
/// status that it has.
async fn ends_of(server: &mut AppServer, kinds: &[&str]) -> Vec<(String, Value)> {
    let mut ends = Vec::new();
    loop {
        let message = server.receive().await.unwrap();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let item = &message["params"]["item"];
        let is_wanted = item["type"]
            .as_str()
            .is_some_and(|kind| kinds.contains(&kind));
        if is_wanted || ["error", "thread/compacted", APPROVAL].contains(&method.as_str()) {
            ends.push((method, item["status"].clone()));
        } else if method == "item/commandExecution/terminalInteraction" {
            ends.push((method, message["params"]["stdin"].clone()));
        } else if method == "turn/completed" {
            return ends;
        }
    }
}

fn expected(ends: &[(&str, Value)]) -> Vec<(String, Value)> {
    let owned = |(method, status): &(&str, Value)| ((*method).to_owned(), status.clone());
    ends.iter().map(owned).collect()
}

/// A thread whose commands are those of `exec_command`.
async fn thread_with_terminals(server: &mut AppServer, policy: &str) -> String {
    let params = json!({ "approvalPolicy": policy, "config": { "features.unified_exec": true } });
    let reply = server.call("thread/start", params).await.unwrap();
    reply["result"]["thread"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn last_terminal_input_is_reported_before_the_end() {
    let waits = json!({ "cmd": "read line", "tty": true, "yield_time_ms": 250 });
    let model = ModelServer::start([call("exec_command", &waits), text_reply("it waits")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = thread_with_terminals(&mut server, "never").await;
    server.run_turn(&thread, "run it").await;
    let seen = model.request(1).await.json().to_string();
    let (_, rest) = seen.split_once("session ID ").unwrap();
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    let session: u64 = digits.unwrap().parse().unwrap();
    let types = json!({ "session_id": session, "chars": "go\n" });
    model.push(call("write_stdin", &types));
    model.push(text_reply("done"));
    server.start_turn(&thread, "go on").await;
    let typed = ("item/commandExecution/terminalInteraction", json!("go\n"));
    let seen = ends_of(&mut server, &["commandExecution"]).await;
    assert_eq!(
        seen,
        expected(&[typed, ("item/completed", json!("completed"))])
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn reconnected_client_sees_the_running_command() {
    let runs = json!({ "cmd": "sleep 600", "yield_time_ms": 250 });
    let model = ModelServer::start([call("exec_command", &runs), text_reply("it runs")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
    let params = json!({
        "clientInfo": { "name": "editor", "version": "1" },
        "capabilities": { "clientRelease": "0.169", "experimentalApi": true },
    });
    server.call("initialize", params).await.unwrap();
    let initialized = json!({ "method": "initialized" });
    server.send(&initialized).await.unwrap();
    let thread = thread_with_terminals(&mut server, "never").await;
    server.run_turn(&thread, "run it").await;
    let of_thread = json!({ "threadId": thread });
    let left = server.call("thread/unsubscribe", of_thread.clone()).await;
    assert_eq!(left.unwrap()["result"]["status"], "unsubscribed");
    server
        .call("thread/resume", of_thread.clone())
        .await
        .unwrap();
    let begun = server.wait_for("item/started").await.unwrap();
    assert_eq!(
        begun["params"]["item"]["command"],
        "/bin/bash -lc 'sleep 600'"
    );
    assert_eq!(begun["params"]["item"]["status"], "inProgress");
    server
        .call("thread/backgroundTerminals/clean", of_thread)
        .await
        .unwrap();
    let ended = server.wait_for("item/completed").await.unwrap();
    assert_eq!(ended["params"]["item"]["id"], begun["params"]["item"]["id"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn error_answer_declines_the_command() {
    let command = call("shell_command", &json!({ "command": "touch made.txt" }));
    let model = ModelServer::start([command, text_reply("done")])
        .await
        .unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "run it").await;
    let question = server.wait_for(APPROVAL).await.unwrap();
    let error = json!({ "code": -32603, "message": "the window was closed" });
    let answer = json!({ "id": question["id"], "error": error });
    server.send(&answer).await.unwrap();
    let ended = ("item/completed", json!("declined"));
    let seen = ends_of(&mut server, &["commandExecution"]).await;
    assert_eq!(seen, expected(&[ended.clone(), ended]));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn approved_command_that_cannot_start_fails() {
    let arguments = json!({ "cmd": "touch made.txt", "workdir": "no/such/folder" });
    let model = ModelServer::start([call("exec_command", &arguments), text_reply("done")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = thread_with_terminals(&mut server, "untrusted").await;
    server.start_turn(&thread, "run it").await;
    let question = server.wait_for(APPROVAL).await.unwrap();
    let answer = json!({ "id": question["id"], "result": { "decision": "accept" } });
    server.send(&answer).await.unwrap();
    let turn = server.completed_turn().await;
    let statuses = |turn: &Value| -> Vec<Value> {
        let items = turn["items"].as_array().unwrap().iter();
        let commands = items.filter(|item| item["type"] == "commandExecution");
        commands.map(|item| item["status"].clone()).collect()
    };
    assert_eq!(statuses(&turn), [json!("failed")]);
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    assert_eq!(
        statuses(&read["result"]["thread"]["turns"][0]),
        [json!("failed")]
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn empty_model_message_is_stored_as_shown() {
    let model = ModelServer::start([text_reply("")]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.run_turn(&thread, "say nothing").await;
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    let kinds = |turn: &Value| -> Vec<Value> {
        let items = turn["items"].as_array().unwrap().iter();
        items.map(|item| item["type"].clone()).collect()
    };
    assert_eq!(kinds(&turn), ["userMessage", "agentMessage"]);
    assert_eq!(kinds(&read["result"]["thread"]["turns"][0]), kinds(&turn));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn compaction_can_be_first_turn() {
    let model = ModelServer::start([text_reply("a summary")]).await.unwrap();
    let home = untrusted_home(&model);
    let mut first = server(&home).await;
    let thread = first.start_thread().await;
    let params = json!({ "threadId": thread });
    first.begin("thread/compact/start", params).await.unwrap();
    let turn = first.completed_turn().await;
    first.finish().await.unwrap();
    let mut second = server(&home).await;
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = second.call("thread/read", params).await.unwrap();
    assert_eq!(read["result"]["thread"]["turns"][0]["id"], turn["id"]);
    second.finish().await.unwrap();
}

fn refused() -> HttpReply {
    HttpReply::json(400, &json!({ "error": { "message": "no" } }))
}

#[tokio::test]
async fn a_compaction_that_fails_ends_as_failed() {
    let model = ModelServer::start([text_reply("hello"), refused(), text_reply("still here")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "hi").await;
    let params = json!({ "threadId": thread });
    server.begin("thread/compact/start", params).await.unwrap();
    let seen = ends_of(&mut server, &["contextCompaction"]).await;
    assert_eq!(
        seen,
        expected(&[
            ("item/started", Value::Null),
            ("error", Value::Null),
            ("item/completed", json!("failed")),
        ])
    );
    let ended = server.run_turn(&thread, "and now?").await;
    assert_eq!(ended["status"], "completed");
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.call("thread/read", params).await.unwrap();
    assert!(!read.to_string().contains("contextCompaction"));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn failed_review_gives_the_reason_before_its_end() {
    let model = ModelServer::start([refused()]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let target = json!({ "type": "custom", "instructions": "look" });
    let params = json!({ "threadId": thread, "target": target });
    server.call("review/start", params).await.unwrap();
    let seen = ends_of(&mut server, &["exitedReviewMode"]).await;
    let seen: Vec<_> = seen.iter().map(|(method, _)| method.as_str()).collect();
    assert_eq!(seen, ["error", "item/started", "item/completed"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_message_that_is_interrupted_ends_with_its_turn() {
    let frames = sse::text("one two");
    let begun = frames.len() - 2;
    let latch = Latch::new();
    let reply = HttpReply::stream(&frames[..begun]).wait(&latch);
    let model = ModelServer::start([reply]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "hi").await;
    server.wait_for("item/agentMessage/delta").await.unwrap();
    let params = json!({ "threadId": thread, "turnId": turn["id"] });
    server.begin("turn/interrupt", params).await.unwrap();
    assert_eq!(ends_of(&mut server, &["agentMessage"]).await, []);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_terminal_that_is_declined_begins_once() {
    let command = call("exec_command", &json!({ "cmd": "touch made.txt" }));
    let model = ModelServer::start([command, text_reply("done")])
        .await
        .unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = thread_with_terminals(&mut server, "untrusted").await;
    server.start_turn(&thread, "run it").await;
    let question = server.wait_for(APPROVAL).await.unwrap();
    let answer = json!({ "id": question["id"], "result": { "decision": "decline" } });
    server.send(&answer).await.unwrap();
    let seen = ends_of(&mut server, &["commandExecution"]).await;
    let begun = ("item/started", json!("inProgress"));
    let ended = ("item/completed", json!("declined"));
    assert_eq!(seen, expected(&[begun, ended.clone(), ended]));
    server.finish().await.unwrap();
}

/// Some servers give every message the same id.
#[tokio::test]
async fn messages_with_the_same_id_are_two_items() {
    let mut message = sse::message("one");
    message["id"] = "same".into();
    let mut other = sse::message("two");
    other["id"] = "same".into();
    let reply = HttpReply::stream(&sse::items(&[message, other]));
    let model = ModelServer::start([reply]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let ended = server.run_turn(&thread, "hi").await;
    let texts: Vec<_> = ended["items"].as_array().unwrap()[1..]
        .iter()
        .map(|item| item["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "two"]);
    assert_ne!(ended["items"][1]["id"], ended["items"][2]["id"]);
    server.finish().await.unwrap();
}

/// A model may give two calls the same id.
#[tokio::test]
async fn calls_with_the_same_id_are_two_items() {
    let call = |command: &str| {
        let arguments = json!({ "command": command, "login": false });
        sse::function_call("same", "shell_command", &arguments)
    };
    let replies = [
        HttpReply::stream(&sse::items(&[call("echo one"), call("echo two")])),
        HttpReply::stream(&sse::items(&[call("echo three")])),
        text_reply("done"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let ended = server.run_turn(&thread, "go").await;
    let items = ended["items"].as_array().unwrap().iter();
    let commands = items.filter(|item| item["type"] == "commandExecution");
    let outputs: Vec<_> = commands
        .map(|item| item["aggregatedOutput"].as_str().unwrap())
        .collect();
    assert_eq!(outputs, ["one\n", "two\n", "three\n"]);
    // The model is told which output is whose.
    let input = model.request(2).await.json()["input"].take();
    let ids = |kind: &str| {
        let items = input.as_array().unwrap().iter();
        let found = items.filter(|item| item["type"] == kind);
        found
            .map(|item| item["call_id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let expected = ["same", "same-2", "same-3"];
    assert_eq!(ids("function_call"), expected);
    assert_eq!(ids("function_call_output"), expected);
    server.finish().await.unwrap();
}

/// The end of the turn has charged the goal without a word; the change says it.
#[tokio::test]
async fn goal_paused_by_an_interrupt_is_reported_once() {
    let latch = Latch::new();
    let frames = sse::text("one two");
    let reply = HttpReply::stream(&frames[..frames.len() - 2]).wait(&latch);
    let model = ModelServer::start([reply]).await.unwrap();
    let home = untrusted_home(&model);
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let turn = server.start_turn(&thread, "hi").await;
    server.wait_for("item/agentMessage/delta").await.unwrap();
    let goal = json!({ "threadId": thread, "objective": "All of it." });
    server.call("thread/goal/set", goal).await.unwrap();
    let params = json!({ "threadId": thread, "turnId": turn["id"] });
    server.begin("turn/interrupt", params).await.unwrap();
    server.completed_turn().await;
    let pause = json!({ "threadId": thread, "status": "paused" });
    server.begin("thread/goal/set", pause).await.unwrap();
    let mut told = Vec::new();
    while told.last() != Some(&json!("paused")) {
        let updated = server.wait_for("thread/goal/updated").await.unwrap();
        told.push(updated["params"]["goal"]["status"].clone());
    }
    assert_eq!(told, [json!("paused")]);
    server.finish().await.unwrap();
}
