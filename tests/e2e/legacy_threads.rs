//! Threads with `historyMode: legacy`: their items have numbers for ids and no times, and no pages.

use codex_test_support::AppServer;
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::setup::PROGRAM;
use crate::soak::message;

/// A thread with two turns, and the id of the second one.
async fn legacy_thread() -> (ScriptedThread, String, Value) {
    let replies = (0..6).map(|number| message(number, "done"));
    let params = json!({ "historyMode": "legacy" });
    let mut scripted = ScriptedThread::start(replies, params).await;
    let thread = &scripted.thread["thread"];
    assert_eq!(thread["historyMode"], "legacy");
    let id = thread["id"].as_str().unwrap().to_owned();
    // What only newer clients ask makes the client one of them.
    scripted.call("thread/goal/get", json!({})).await;
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let read = scripted
        .call("thread/read", json!({ "includeTurns": true }))
        .await;
    let turn = read["result"]["thread"]["turns"][1]["id"].clone();
    (scripted, id, turn)
}

/// What is shown of the thread with these turns.
fn check_turns(turns: &Value) {
    let items = turns.as_array().unwrap().iter();
    let items = items.flat_map(|turn| turn["items"].as_array().unwrap());
    for (number, item) in items.enumerate() {
        assert_eq!(item["id"], format!("item-{}", number + 1));
        assert_eq!(item["startedAtMs"], Value::Null, "{item}");
        assert_eq!(item["completedAtMs"], Value::Null, "{item}");
    }
}

async fn refused(server: &mut AppServer, method: &str, params: Value, code: i64, text: &str) {
    let answer = server.call(method, params.clone()).await.unwrap();
    let error = &answer["error"];
    let expected = (&json!(code), &json!(text));
    assert_eq!(
        (&error["code"], &error["message"]),
        expected,
        "{method} {params}"
    );
}

/// Everything that needs items with ids and times of their own.
async fn check_refusals(server: &mut AppServer, id: &str, turn: &Value) {
    for (method, params) in [
        ("thread/items/list", json!({})),
        (
            "thread/items/read",
            json!({ "turnId": turn, "itemIds": ["item-1"] }),
        ),
        ("thread/timeline/list", json!({})),
        ("thread/searchOccurrences", json!({ "searchTerm": "done" })),
    ] {
        let mut params = params;
        params["threadId"] = json!(id);
        let text = format!("{method} is not supported yet");
        refused(server, method, params, -32601, &text).await;
    }
    let side = json!({ "threadId": id, "attachToSource": true });
    let text = "attachToSource requires a paginated parent";
    refused(server, "thread/fork", side, -32600, text).await;
}

#[tokio::test]
async fn a_legacy_thread_is_one_wherever_it_is_shown() {
    let (mut scripted, id, turn) = legacy_thread().await;
    let read = scripted
        .call("thread/read", json!({ "includeTurns": true }))
        .await;
    assert_eq!(read["result"]["thread"]["historyMode"], "legacy");
    check_turns(&read["result"]["thread"]["turns"]);
    let page = json!({ "itemsView": "full", "sortDirection": "asc" });
    let page = scripted.call("thread/turns/list", page).await;
    check_turns(&page["result"]["data"]);
    let server = &mut scripted.server;
    check_refusals(server, &id, &turn).await;
    let revert = json!({ "threadId": id, "beforeTurnId": turn });
    let text = "thread/revert only supports paginated threads";
    refused(server, "thread/revert", revert, -32600, text).await;
    let found = server
        .result("thread/search", json!({ "searchTerm": "done" }))
        .await;
    assert_eq!(found["data"][0]["thread"]["historyMode"], "legacy");
    let home = scripted.into_home().await;

    let arguments = ["--newer-clients"];
    let mut server = AppServer::start_with(PROGRAM, home.path(), &arguments).unwrap();
    server.initialize_experimental().await;
    let listed = server.result("thread/list", json!({})).await;
    assert_eq!(listed["data"][0]["historyMode"], "legacy");
    check_refusals(&mut server, &id, &turn).await;
    let resumed = server
        .result("thread/resume", json!({ "threadId": id }))
        .await;
    assert_eq!(resumed["thread"]["historyMode"], "legacy");
    assert_eq!(resumed["turnsBackwardsCursor"], Value::Null);
    assert_eq!(resumed["itemsBackwardsCursor"], Value::Null);
    check_turns(&resumed["thread"]["turns"]);
    server.run_turn(&id, "more").await;
    let read = json!({ "threadId": id, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    check_turns(&read["thread"]["turns"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_fork_of_a_legacy_thread_is_one_too() {
    let (mut scripted, id, _) = legacy_thread().await;
    let fork = json!({ "threadId": id, "ephemeral": true });
    let forked = scripted.server.result("thread/fork", fork).await;
    assert_eq!(forked["thread"]["historyMode"], "legacy");
    check_turns(&forked["thread"]["turns"]);
    let forked = scripted
        .server
        .result("thread/fork", json!({ "threadId": id }))
        .await;
    let fork = forked["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(forked["thread"]["historyMode"], "legacy");
    let turn = forked["thread"]["turns"][1]["id"].clone();
    check_refusals(&mut scripted.server, &fork, &turn).await;

    let other = scripted
        .server
        .start_thread_with(json!({ "historyMode": null }))
        .await;
    let read = json!({ "threadId": other });
    let read = scripted.server.result("thread/read", read).await;
    assert_eq!(read["thread"]["historyMode"], "paginated");
    scripted.into_home().await;
}

#[tokio::test]
async fn pages_of_an_unknown_thread_are_not_there() {
    let scripted = ScriptedThread::start([], json!({})).await;
    let mut server = scripted.server;
    let unknown = "01a0f5cf-7ed4-7003-9f30-08c4ff4b9b5d";
    for (method, params) in [
        ("thread/items/list", json!({})),
        (
            "thread/items/read",
            json!({ "turnId": "x", "itemIds": ["y"] }),
        ),
        ("thread/timeline/list", json!({})),
        ("thread/searchOccurrences", json!({ "searchTerm": "x" })),
    ] {
        let mut params = params;
        params["threadId"] = json!(unknown);
        let text = format!("{method} is not supported yet");
        refused(&mut server, method, params, -32601, &text).await;
    }
    let text = format!("thread not loaded: {unknown}");
    let params = json!({ "threadId": unknown });
    refused(&mut server, "thread/turns/list", params, -32600, &text).await;
    let bad =
        json!({ "threadId": "bad", "operation": { "type": "read" }, "expectedRevision": "x" });
    let answer = server.call("thread/readState/update", bad).await.unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    server.finish().await.unwrap();
}
