//! What newer clients attach to threads: goals, queued messages, read state, sections, projects.

use codex_test_support::{HttpReply, sse};
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::setup::numbered;
use crate::soak::message;

const PINNED_SECTION: &str = "01984de2-8f74-7c91-a3b2-5c5e937cf318";

async fn call(scripted: &mut ScriptedThread, method: &str, params: Value) -> Value {
    scripted.server.call(method, params).await.unwrap()
}

#[tokio::test]
async fn a_goal_is_set_changed_and_cleared() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let none = scripted.call("thread/goal/get", json!({})).await;
    assert_eq!(none["result"], json!({ "goal": null }));
    let refused = scripted
        .call("thread/goal/set", json!({ "objective": " " }))
        .await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let params = json!({ "objective": " Ship it ", "status": "paused", "tokenBudget": 50 });
    let set = scripted.call("thread/goal/set", params).await;
    let goal = &set["result"]["goal"];
    assert_eq!(
        (&goal["objective"], &goal["status"]),
        (&json!("Ship it"), &json!("paused"))
    );
    let told = scripted
        .server
        .wait_for("thread/goal/updated")
        .await
        .unwrap();
    assert_eq!(told["params"]["goal"], *goal);
    let cleared = scripted.call("thread/goal/clear", json!({})).await;
    assert_eq!(cleared["result"], json!({ "cleared": true }));
    scripted
        .server
        .wait_for("thread/goal/cleared")
        .await
        .unwrap();
    let unknown = json!({ "threadId": "0195f0a0-7b1c-7000-8000-000000000000" });
    let refused = call(&mut scripted, "thread/goal/get", unknown).await;
    assert_eq!(refused["error"]["code"], -32600);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn an_active_goal_starts_turns_until_it_pauses() {
    let replies = (0..5).map(|number| message(number, "thinking"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted
        .call("thread/goal/set", json!({ "objective": "Ship it" }))
        .await;
    loop {
        let told = scripted
            .server
            .wait_for("thread/goal/updated")
            .await
            .unwrap();
        if told["params"]["goal"]["status"] == "paused" {
            break;
        }
    }
    let request = scripted.model.request(0).await.json().to_string();
    assert!(request.contains("Ship it") && request.contains("goal_continuation"));
    let goal = scripted.call("thread/goal/get", json!({})).await;
    assert!(
        goal["result"]["goal"]["tokensUsed"].as_i64() >= Some(0),
        "{goal}"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_fork_may_take_the_goal_along() {
    let replies = (0..2).map(|number| message(number, "done"));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    let goal = json!({ "objective": "Ship it", "status": "paused" });
    scripted.call("thread/goal/set", goal).await;
    let main = scripted.thread["thread"]["id"].clone();
    let server = &mut scripted.server;
    for (is_deferred, objective) in [(false, Value::Null), (true, json!("Ship it"))] {
        let params = json!({ "threadId": main, "deferGoalContinuation": is_deferred });
        let forked = server.result("thread/fork", params).await;
        let fork = json!({ "threadId": forked["thread"]["id"] });
        let goal = server.result("thread/goal/get", fork).await;
        assert_eq!(goal["goal"]["objective"], objective);
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_queued_message_starts_when_the_thread_is_idle() {
    let mut scripted =
        ScriptedThread::start([message(0, "one"), message(1, "two")], json!({})).await;
    for text in ["first", "second"] {
        let input = json!([{ "type": "text", "text": text }]);
        let params = json!({ "input": input, "clientUserMessageId": text });
        let added = scripted.call("thread/queue/add", params).await;
        assert!(
            added["result"]["queuedSubmission"]["id"].is_string(),
            "{added}"
        );
    }
    for _ in 0..2 {
        scripted.server.wait_for("turn/completed").await.unwrap();
    }
    let left = scripted.call("thread/queue/list", json!({})).await;
    assert_eq!(left["result"], json!({ "data": [], "nextCursor": null }));
    let refused = scripted.call("thread/queue/start", json!({})).await;
    assert_eq!(refused["error"]["message"], "queue is empty");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_turn_makes_a_thread_unread_for_newer_clients() {
    let mut scripted = ScriptedThread::start([message(0, "one")], json!({})).await;
    scripted
        .turn(json!({ "clientUserMessageId": "mine" }))
        .await;
    let read = scripted.call("thread/read", json!({})).await;
    let state = read["result"]["readState"].clone();
    assert_eq!(state["firstUnread"]["type"], "turn", "{read}");
    let stale = json!({ "operation": { "type": "read" }, "expectedRevision": "x" });
    let refused = scripted.call("thread/readState/update", stale).await;
    assert_eq!(refused["error"]["data"]["readState"], state, "{refused}");
    let params = json!({ "operation": { "type": "read" }, "expectedRevision": state["revision"] });
    let updated = scripted.call("thread/readState/update", params).await;
    assert_eq!(updated["result"]["readState"]["firstUnread"], Value::Null);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn threads_are_filed_in_sections_and_projects() {
    let mut scripted = ScriptedThread::start([message(0, "one")], json!({})).await;
    scripted.turn(json!({})).await;
    let id = scripted.thread["thread"]["id"].clone();
    let moved = scripted
        .call(
            "thread/section/move",
            json!({ "sectionId": PINNED_SECTION }),
        )
        .await;
    assert_eq!(moved["result"], json!({}));
    scripted
        .server
        .wait_for("thread/section/changed")
        .await
        .unwrap();
    let pinned = json!({ "sectionId": PINNED_SECTION, "sortKey": "section_position" });
    let page = call(&mut scripted, "thread/list", pinned).await;
    assert_eq!(
        page["result"]["data"][0]["section"]["name"], "Pinned",
        "{page}"
    );
    let unfiled = call(&mut scripted, "thread/list", json!({ "sectionId": null })).await;
    assert_eq!(unfiled["result"]["data"], json!([]));
    let params = json!({ "name": "P", "roots": [{ "path": "/w" }], "idempotencyKey": "k" });
    let made = call(&mut scripted, "project/create", params).await;
    let project = made["result"]["project"]["id"].clone();
    scripted.server.wait_for("project/changed").await.unwrap();
    let filed = scripted
        .call("thread/metadata/update", json!({ "projectId": project }))
        .await;
    assert_eq!(filed["result"]["thread"]["projectId"], project, "{filed}");
    let page = call(
        &mut scripted,
        "thread/list",
        json!({ "projectId": project }),
    )
    .await;
    assert_eq!(page["result"]["data"][0]["id"], id);
    let params = json!({ "name": "I", "roots": [], "threads": [id], "idempotencyKey": "i" });
    let imported = call(&mut scripted, "project/import", params).await;
    let project = &imported["result"]["project"];
    assert!(project["recencyAt"].is_i64(), "{imported}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn process_runs_and_reports_its_end() {
    let mut scripted = ScriptedThread::start(Vec::<HttpReply>::new(), json!({})).await;
    let params =
        json!({ "command": ["sh", "-c", "echo out; exit 3"], "processHandle": "p", "cwd": "/" });
    let spawned = call(&mut scripted, "process/spawn", params).await;
    assert_eq!(spawned["result"], json!({}), "{spawned}");
    let ended = scripted.server.wait_for("process/exited").await.unwrap();
    assert_eq!(ended["params"]["exitCode"], 3);
    assert_eq!(ended["params"]["stdout"], "out\n");
    let gone = call(
        &mut scripted,
        "process/kill",
        json!({ "processHandle": "p" }),
    )
    .await;
    assert_eq!(gone["error"]["code"], -32600);
    scripted.server.finish().await.unwrap();
}

/// The goal in each notification up to the end of a turn, and what else was sent.
async fn goals_of_turn(scripted: &mut ScriptedThread) -> Vec<(String, Value)> {
    let mut seen = Vec::new();
    loop {
        let told = scripted.server.receive().await.unwrap();
        let method = told["method"].as_str().unwrap_or_default().to_owned();
        let goal = told["params"]["goal"].clone();
        let is_end = method == "turn/completed";
        if is_end || method == "thread/goal/updated" || method == "error" {
            seen.push((method, goal));
        }
        if is_end {
            return seen;
        }
    }
}

#[tokio::test]
async fn failed_turn_blocks_its_goal_before_the_error() {
    let failure = HttpReply::json(400, &json!({ "error": { "message": "bad" } }));
    let mut scripted = ScriptedThread::start([failure], json!({})).await;
    scripted
        .call("thread/goal/set", json!({ "objective": "Ship it" }))
        .await;
    let seen = goals_of_turn(&mut scripted).await;
    let methods: Vec<&str> = seen.iter().map(|(method, _)| method.as_str()).collect();
    let expected = [
        "thread/goal/updated",
        "thread/goal/updated",
        "error",
        "turn/completed",
    ];
    assert_eq!(methods, expected);
    assert_eq!(seen[1].1["status"], "blocked");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn goal_of_the_model_counts_later_usage() {
    let call = |number: usize, tool: &str, arguments: Value| {
        let call = sse::function_call(&format!("call_{number}"), tool, &arguments);
        HttpReply::stream(&numbered(sse::items(&[call])))
    };
    let replies = [
        call(1, "create_goal", json!({ "objective": "Mine" })),
        call(2, "update_goal", json!({ "status": "complete" })),
        message(3, "done"),
    ];
    let mut scripted = ScriptedThread::start(replies, json!({ "threadSource": "user" })).await;
    let input = json!([{ "type": "text", "text": "go" }]);
    scripted.call("turn/start", json!({ "input": input })).await;
    let seen = goals_of_turn(&mut scripted).await;
    let goals: Vec<&Value> = seen.iter().map(|(_, goal)| goal).collect();
    assert_eq!(goals[0]["tokensUsed"], 0, "{seen:?}");
    let last = goals[goals.len() - 2];
    assert_eq!(last["status"], "complete");
    // The response that created it counts, the one that ends the turn does not.
    let request = scripted.model.request(2).await.json()["input"].to_string();
    assert!(request.contains("Mine"), "{request}");
    let goal = scripted.call("thread/goal/get", json!({})).await;
    assert_eq!(goal["result"]["goal"]["tokensUsed"], last["tokensUsed"]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn program_threads_are_never_unread() {
    let mut scripted =
        ScriptedThread::start([message(0, "one")], json!({ "threadSource": "title" })).await;
    scripted.turn(json!({})).await;
    let read = scripted.call("thread/read", json!({})).await;
    assert_eq!(read["result"]["readState"]["firstUnread"], Value::Null);
    scripted
        .call("thread/name/set", json!({ "name": "Zed" }))
        .await;
    for (term, found) in [("Zed", 1), ("hi", 1), ("nothing", 0)] {
        let page = json!({ "searchTerm": term });
        let page = call(&mut scripted, "thread/list", page).await;
        let threads = page["result"]["data"].as_array().unwrap();
        assert_eq!(threads.len(), found, "{term}: {page}");
    }
    scripted.server.finish().await.unwrap();
}
