//! Reverts: what the model and the clients no longer see.

use codex_test_support::{HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::setup::experimental_server;
use crate::soak::message;

fn input(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// A thread whose first turn was "first", answered by "one". `later` are the other replies.
async fn thread_with_a_turn(later: impl IntoIterator<Item = HttpReply>) -> ScriptedThread {
    let replies = [message(0, "one")].into_iter().chain(later);
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    run_turn(&mut scripted, "first").await;
    scripted
}

/// A message that comes once the latch is open.
fn held(latch: &Latch, text: &str) -> HttpReply {
    HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(latch)
        .body(sse::frames(&sse::text(text)))
}

/// Runs a turn. Returns its id.
async fn run_turn(scripted: &mut ScriptedThread, text: &str) -> Value {
    let params = json!({ "input": input(text) });
    let started = scripted.call("turn/start", params).await;
    scripted.server.wait_for("turn/completed").await.unwrap();
    started["result"]["turn"]["id"].clone()
}

/// What the last request to the model held of these texts.
async fn last_seen<'a>(model: &ModelServer, texts: &[&'a str]) -> Vec<&'a str> {
    let last = model.requests().pop().unwrap().json()["input"].to_string();
    let is_said = |text: &&&str| last.contains(&format!("\"text\":\"{text}"));
    texts.iter().filter(is_said).copied().collect()
}

/// Whether the model sees the first turn alone, in this process and in the next one.
async fn only_the_first_turn_is_left(mut scripted: ScriptedThread, reverted: &[&str]) {
    let texts: Vec<&str> = ["first", "one", "anew", "anew again"]
        .into_iter()
        .chain(reverted.iter().copied())
        .collect();
    scripted.model.push(message(20, "there"));
    run_turn(&mut scripted, "anew").await;
    let seen = last_seen(&scripted.model, &texts).await;
    assert_eq!(seen, ["first", "one", "anew"]);
    let thread = json!({ "threadId": scripted.thread["thread"]["id"] });
    let turns = scripted.call("thread/turns/list", json!({})).await;
    assert_eq!(turns["result"]["data"].as_array().unwrap().len(), 2);
    scripted.model.push(message(21, "there"));
    let (model, home) = scripted.into_parts().await;
    let mut server = experimental_server(&home).await;
    server.result("thread/resume", thread.clone()).await;
    let mut params = thread;
    params["input"] = input("anew again");
    server.result("turn/start", params).await;
    server.completed_turn().await;
    let seen = last_seen(&model, &texts).await;
    assert_eq!(seen, ["first", "one", "anew", "anew again"]);
    server.finish().await.unwrap();
}

async fn revert(scripted: &mut ScriptedThread, before: &Value) {
    let params = json!({ "beforeTurnId": before });
    let reverted = scripted.call("thread/revert", params).await;
    assert!(reverted["result"].is_object(), "{reverted}");
    scripted.server.wait_for("thread/reverted").await.unwrap();
}

#[tokio::test]
async fn a_steered_turn_is_reverted_as_a_whole() {
    let latch = Latch::new();
    let held = held(&latch, "two");
    let mut scripted = thread_with_a_turn([held, message(2, "three"), message(3, "four")]).await;
    let params = json!({ "input": input("second") });
    let started = scripted.call("turn/start", params).await;
    latch.reached().await;
    let turn = &started["result"]["turn"]["id"];
    let params = json!({ "input": input("steered"), "expectedTurnId": turn });
    let steered = scripted.call("turn/steer", params).await;
    assert!(steered["result"].is_object(), "{steered}");
    latch.open();
    scripted.server.wait_for("turn/completed").await.unwrap();
    run_turn(&mut scripted, "third").await;
    revert(&mut scripted, turn).await;
    only_the_first_turn_is_left(scripted, &["second", "steered", "third", "two"]).await;
}

#[tokio::test]
async fn revert_can_precede_a_compaction() {
    let replies = [message(1, "two"), message(2, "SHORT"), message(3, "three")];
    let mut scripted = thread_with_a_turn(replies).await;
    let second = run_turn(&mut scripted, "second").await;
    scripted.call("thread/compact/start", json!({})).await;
    scripted.server.wait_for("turn/completed").await.unwrap();
    run_turn(&mut scripted, "third").await;
    revert(&mut scripted, &second).await;
    only_the_first_turn_is_left(scripted, &["second", "two", "SHORT", "third"]).await;
}

#[tokio::test]
async fn a_typed_command_is_a_turn_without_a_message() {
    let mut scripted = thread_with_a_turn([message(1, "two")]).await;
    let command = json!({ "command": "echo typed" });
    scripted.call("thread/shellCommand", command).await;
    let ended = scripted.server.wait_for("turn/completed").await.unwrap();
    run_turn(&mut scripted, "second").await;
    revert(&mut scripted, &ended["params"]["turn"]["id"]).await;
    only_the_first_turn_is_left(scripted, &["<user_shell_command>", "second", "two"]).await;
}

#[tokio::test]
async fn the_terminals_of_reverted_turns_are_stopped() {
    let runs = |id: &str, script: &str| {
        let arguments = json!({ "cmd": script, "yield_time_ms": 250 });
        HttpReply::stream(&sse::items(&[sse::function_call(
            id,
            "exec_command",
            &arguments,
        )]))
    };
    let replies = [
        runs("kept", "sleep 600"),
        message(0, "one"),
        runs("reverted", "sleep 601"),
        message(1, "two"),
    ];
    let settings = json!({ "features.unified_exec": true });
    let params = json!({ "approvalPolicy": "never", "config": settings });
    let mut scripted = ScriptedThread::start(replies, params).await;
    run_turn(&mut scripted, "first").await;
    let second = run_turn(&mut scripted, "second").await;
    let params = json!({ "beforeTurnId": second });
    scripted.call("thread/revert", params).await;
    let ended = scripted.server.wait_for("item/completed").await.unwrap();
    assert_eq!(ended["params"]["item"]["id"], "reverted", "{ended}");
    let list = "thread/backgroundTerminals/list";
    let left = scripted.call(list, json!({})).await["result"]["data"].take();
    let ids: Vec<&Value> = left
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["itemId"])
        .collect();
    assert_eq!(ids, ["kept"]);
    let clean = "thread/backgroundTerminals/clean";
    scripted.call(clean, json!({})).await;
    scripted.server.wait_for("item/completed").await.unwrap();
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn rollback_counts_visible_turns() {
    let mut scripted = thread_with_a_turn([message(1, "two")]).await;
    let command = json!({ "command": "echo typed" });
    scripted.call("thread/shellCommand", command).await;
    scripted.server.wait_for("turn/completed").await.unwrap();
    run_turn(&mut scripted, "second").await;
    let rolled_back = scripted
        .call("thread/rollback", json!({ "numTurns": 2 }))
        .await;
    let left = &rolled_back["result"]["thread"]["turns"];
    assert_eq!(left.as_array().unwrap().len(), 1, "{rolled_back}");
    only_the_first_turn_is_left(scripted, &["<user_shell_command>", "second", "two"]).await;
}

/// The observer of the protocol counts the replies.
#[tokio::test]
async fn rollback_has_one_reply() {
    let latch = Latch::new();
    let mut scripted = thread_with_a_turn([held(&latch, "two")]).await;
    let params = json!({ "input": input("second") });
    scripted.call("turn/start", params).await;
    latch.reached().await;
    let mut back = json!({ "numTurns": 1 });
    let refused = scripted.call("thread/rollback", back.clone()).await;
    let why = "Cannot rollback while a turn is in progress.";
    assert_eq!(refused["error"]["message"], why);
    latch.open();
    scripted.server.wait_for("turn/completed").await.unwrap();
    back["threadId"] = scripted.thread["thread"]["id"].clone();
    let begun = scripted.server.begin("thread/rollback", back).await;
    begun.unwrap();
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn waiting_compaction_is_reverted_with_turn() {
    let latch = Latch::new();
    let held = held(&latch, "two");
    let mut scripted = thread_with_a_turn([held, message(2, "SHORT")]).await;
    let params = json!({ "input": input("second") });
    let started = scripted.call("turn/start", params).await;
    latch.reached().await;
    scripted.call("thread/compact/start", json!({})).await;
    revert(&mut scripted, &started["result"]["turn"]["id"]).await;
    latch.open();
    // The compaction may be interrupted before it asks the model, whose reply then answers the next turn.
    only_the_first_turn_is_left(scripted, &["second", "two"]).await;
}

#[tokio::test]
async fn reverted_turns_leave_the_history() {
    let replies = ["one", "two", "three"].into_iter().enumerate();
    let mut scripted = ScriptedThread::start(
        replies.map(|(number, text)| message(number, text)),
        json!({}),
    )
    .await;
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let page = scripted
        .call("thread/turns/list", json!({ "limit": 1 }))
        .await;
    let newest = page["result"]["data"][0]["id"].clone();
    let refused = scripted
        .call("thread/revert", json!({ "beforeTurnId": "zz" }))
        .await;
    assert_eq!(refused["error"]["message"], "turn not found: zz");
    let reverted = scripted
        .call("thread/revert", json!({ "beforeTurnId": newest }))
        .await;
    assert!(
        reverted["result"]["turnsBackwardsCursor"].is_string(),
        "{reverted}"
    );
    scripted.server.wait_for("thread/reverted").await.unwrap();
    let resumed = scripted
        .call("thread/resume", json!({ "excludeTurns": true }))
        .await;
    assert_eq!(resumed["result"]["serviceTier"], "default");
    scripted.turn(json!({})).await;
    let request = scripted.model.request(2).await.json()["input"].to_string();
    assert!(
        request.contains(r#""text":"one""#) && !request.contains(r#""text":"two""#),
        "{request}"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_revert_interrupts_the_running_turn() {
    let latch = Latch::new();
    let held = HttpReply::status(200).wait(&latch);
    let mut scripted = ScriptedThread::start([message(0, "one"), held], json!({})).await;
    scripted.turn(json!({})).await;
    let input = json!([{ "type": "text", "text": "more" }]);
    let started = scripted.call("turn/start", json!({ "input": input })).await;
    latch.reached().await;
    let running = started["result"]["turn"]["id"].clone();
    let reverted = scripted
        .call("thread/revert", json!({ "beforeTurnId": running }))
        .await;
    assert!(reverted["result"].is_object(), "{reverted}");
    let ended = scripted.server.wait_for("turn/completed").await.unwrap();
    assert_eq!(ended["params"]["turn"]["status"], "interrupted");
    let turns = scripted.call("thread/turns/list", json!({})).await;
    assert_eq!(turns["result"]["data"].as_array().unwrap().len(), 1);
    latch.open();
    scripted.server.finish().await.unwrap();
}
