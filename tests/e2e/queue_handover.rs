//! A queued message that was acknowledged is in the queue or in a turn, whatever happens to its process.

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks;
use crate::setup::{PROGRAM, experimental_server, numbered, scripted_home};

const MESSAGE: &str = "the queued message";

fn queued(thread: &str) -> Value {
    let input = json!([{ "type": "text", "text": MESSAGE }]);
    json!({ "threadId": thread, "input": input, "clientUserMessageId": "mine" })
}

async fn in_queue(server: &mut AppServer, thread: &str) -> usize {
    let listed = server
        .result("thread/queue/list", json!({ "threadId": thread }))
        .await;
    listed["data"].as_array().unwrap().len()
}

async fn in_turns(server: &mut AppServer, thread: &str) -> usize {
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", params).await;
    let turns = read["thread"]["turns"].as_array().unwrap().iter();
    let items = turns.flat_map(|turn| turn["items"].as_array().unwrap());
    items
        .filter(|item| item["type"] == "userMessage" && item.to_string().contains(MESSAGE))
        .count()
}

/// Waits for so many changes of the queue.
async fn changes(server: &mut AppServer, count: usize) {
    for _ in 0..count {
        server.wait_for("thread/queue/changed").await.unwrap();
    }
}

#[tokio::test]
async fn message_survives_a_kill_at_the_handover() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    // The message is added, then handed over, then its turn begins.
    for round in 0..9 {
        let mut server = experimental_server(&home).await;
        let thread = server.start_thread().await;
        server.run_turn(&thread, "first").await;
        server.result("thread/queue/add", queued(&thread)).await;
        changes(&mut server, round % 3).await;
        server.kill().await.unwrap();

        let mut server = experimental_server(&home).await;
        let found = in_queue(&mut server, &thread).await + in_turns(&mut server, &thread).await;
        assert_eq!(found, 1, "round {round}");
        // A client that takes the thread up gets its turn.
        let is_left = in_queue(&mut server, &thread).await == 1;
        server
            .result("thread/resume", json!({ "threadId": thread }))
            .await;
        if is_left {
            server.completed_turn().await;
        }
        assert_eq!(in_queue(&mut server, &thread).await, 0);
        assert_eq!(in_turns(&mut server, &thread).await, 1, "round {round}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn message_of_a_thread_without_turns_survives_a_kill() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    for round in 0..5 {
        let mut server = experimental_server(&home).await;
        let thread = server.start_thread().await;
        server.result("thread/queue/add", queued(&thread)).await;
        server.kill().await.unwrap();

        let mut server = experimental_server(&home).await;
        let found = in_queue(&mut server, &thread).await + in_turns(&mut server, &thread).await;
        assert_eq!(found, 1, "round {round}");
        server.finish().await.unwrap();
    }
}

/// A home whose turns wait for a hook before they take their input.
fn home_with_slow_hook(model: &ModelServer) -> TempDir {
    let slow = hooks::hook("cat > /dev/null; sleep 600");
    hooks::home_with(model, &json!({ "UserPromptSubmit": slow }))
}

#[tokio::test]
async fn interrupted_turn_returns_untaken_message() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with_slow_hook(&model);
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.result("thread/queue/add", queued(&thread)).await;
    let started = server.wait_for("turn/started").await.unwrap();
    let turn = &started["params"]["turn"]["id"];
    server
        .result(
            "turn/interrupt",
            json!({ "threadId": thread, "turnId": turn }),
        )
        .await;
    assert_eq!(server.completed_turn().await["status"], "interrupted");
    let found = in_queue(&mut server, &thread).await + in_turns(&mut server, &thread).await;
    assert_eq!(found, 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn untaken_message_survives_the_end_of_the_server() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with_slow_hook(&model);
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.result("thread/queue/add", queued(&thread)).await;
    server.wait_for("turn/started").await.unwrap();
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let found = in_queue(&mut server, &thread).await + in_turns(&mut server, &thread).await;
    assert_eq!(found, 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn failed_turn_returns_untaken_message() {
    let model = ModelServer::start([]).await.unwrap();
    let home = home_with_slow_hook(&model);
    hooks::add(&home, "[limits.turn]\nmax_seconds = 1\n");
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    for id in ["one", "two"] {
        let mut message = queued(&thread);
        message["clientUserMessageId"] = id.into();
        server.result("thread/queue/add", message).await;
    }
    server.completed_turn().await;
    // The first one is back, and the next one is not tried.
    assert_eq!(in_queue(&mut server, &thread).await, 2);
    server.finish().await.unwrap();
}

async fn newer_server(home: &TempDir) -> AppServer {
    let arguments = ["--newer-clients"];
    let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
    server.initialize_experimental().await;
    server
}

#[tokio::test]
async fn thread_without_turns_keeps_its_permissions_after_a_kill() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::status(200).wait(&Latch::new()));
    let home = scripted_home(&model, "");
    let mut server = newer_server(&home).await;
    let strict = json!({ "sandbox": "read-only", "approvalPolicy": "untrusted" });
    let thread = server.start_thread_with(strict).await;
    server.result("thread/queue/add", queued(&thread)).await;
    server.kill().await.unwrap();

    let mut server = newer_server(&home).await;
    let params = json!({ "threadId": thread });
    let resumed = server.result("thread/resume", params).await;
    assert_eq!(resumed["sandbox"]["type"], "readOnly");
    assert_eq!(resumed["approvalPolicy"], "untrusted");
    server.kill().await.unwrap();
}

#[tokio::test]
async fn message_waits_while_another_process_writes_the_thread() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut first = experimental_server(&home).await;
    model.push(HttpReply::stream(&numbered(sse::text("one"))));
    let thread = first.start_thread().await;
    first.run_turn(&thread, "first").await;
    let mut second = experimental_server(&home).await;
    second
        .result("thread/resume", json!({ "threadId": thread }))
        .await;

    let latch = Latch::new();
    let held = HttpReply::status(200)
        .header("content-type", "text/event-stream")
        .wait(&latch)
        .body(sse::frames(&numbered(sse::text("two"))));
    model.push(held);
    first.start_turn(&thread, "second").await;
    first.wait_for("turn/started").await.unwrap();
    second.result("thread/queue/add", queued(&thread)).await;
    // Added, on its way into a turn, and back.
    changes(&mut second, 3).await;
    assert_eq!(in_queue(&mut second, &thread).await, 1);
    let refused = second
        .refusal("thread/queue/start", json!({ "threadId": thread }))
        .await;
    assert!(refused.1.contains("another process"), "{refused:?}");
    assert_eq!(in_queue(&mut second, &thread).await, 1);

    // The process that writes the thread goes on with it.
    model.push(HttpReply::stream(&numbered(sse::text("three"))));
    latch.open();
    first.completed_turn().await;
    first.completed_turn().await;
    assert_eq!(in_queue(&mut first, &thread).await, 0);
    assert_eq!(in_turns(&mut first, &thread).await, 1);
    second.finish().await.unwrap();
    first.finish().await.unwrap();
}
