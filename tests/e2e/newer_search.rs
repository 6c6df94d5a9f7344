//! Searches over messages, the timeline of a thread, and side threads, which lists leave out.

use codex_test_support::AppServer;
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::setup::experimental_server;
use crate::soak::message;

async fn result(server: &mut AppServer, method: &str, params: Value) -> Value {
    let reply = server.call(method, params.clone()).await.unwrap();
    assert!(reply["result"].is_object(), "{method} {params}: {reply}");
    reply["result"].clone()
}

/// Says something in a new thread, and returns the thread.
async fn thread_about(server: &mut AppServer, text: &str) -> Value {
    let started = result(server, "thread/start", json!({})).await;
    let id = started["thread"]["id"].clone();
    run_turn(server, &id, text).await;
    id
}

async fn run_turn(server: &mut AppServer, thread: &Value, text: &str) {
    let input = json!([{ "type": "text", "text": text }]);
    let params = json!({ "threadId": thread, "input": input });
    result(server, "turn/start", params).await;
    server.wait_for("turn/completed").await.unwrap();
}

/// The snippets and threads that a search finds.
async fn found(server: &mut AppServer, params: Value) -> Vec<(String, Value)> {
    let page = result(server, "thread/search", params).await;
    let entries = page["data"].as_array().unwrap().iter();
    let entry = |one: &Value| {
        let snippet = one["snippet"].as_str().unwrap().to_owned();
        (snippet, one["thread"]["id"].clone())
    };
    entries.map(entry).collect()
}

#[tokio::test]
async fn messages_of_all_threads_are_searched() {
    let texts = ["Alpha and BETA", "nothing", "more\nbeta"];
    let replies = texts
        .into_iter()
        .enumerate()
        .map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let server = &mut scripted.server;
    let first = thread_about(server, "a question about gamma").await;
    let second = thread_about(server, "Beta?").await;
    let term = |term: &str| json!({ "searchTerm": term });
    let both = vec![
        ("Beta?".to_owned(), second.clone()),
        ("Alpha and BETA".to_owned(), first.clone()),
    ];
    assert_eq!(found(server, term("beta")).await, both);
    let oldest = json!({ "searchTerm": " beta", "sortDirection": "asc" });
    let reversed: Vec<_> = both.into_iter().rev().collect();
    assert_eq!(found(server, oldest).await, reversed);
    assert_eq!(found(server, term("delta")).await, []);
    // Two letters are fewer than the index knows texts by.
    assert_eq!(found(server, term("GA")).await.len(), 1);
    // What was added since the last search is found too.
    run_turn(server, &second, "one word more").await;
    let added = ("more beta".to_owned(), second.clone());
    assert_eq!(found(server, term("more beta")).await, [added]);
    let page = result(
        server,
        "thread/search",
        json!({ "searchTerm": "beta", "limit": 1 }),
    )
    .await;
    assert_eq!(page["data"][0]["thread"]["id"], second);
    let rest = json!({ "searchTerm": "beta", "limit": 1, "cursor": page["nextCursor"] });
    let page = result(server, "thread/search", rest).await;
    assert_eq!(page["data"][0]["thread"]["id"], first, "{page}");
    assert_eq!(page["nextCursor"], Value::Null);
    let archive = json!({ "threadId": second });
    result(server, "thread/archive", archive.clone()).await;
    assert_eq!(found(server, term("beta")).await.len(), 1);
    let archived = json!({ "searchTerm": "beta", "archived": true });
    assert_eq!(found(server, archived).await.len(), 1);
    result(server, "thread/delete", archive).await;
    let archived = json!({ "searchTerm": "beta", "archived": true });
    assert_eq!(found(server, archived).await, []);
    for (params, problem) in [
        (term(" "), "thread/search requires a non-empty searchTerm"),
        (
            json!({ "searchTerm": "x", "cursor": "zz" }),
            "invalid cursor: zz",
        ),
    ] {
        let refused = server.call("thread/search", params).await.unwrap();
        assert_eq!(refused["error"]["message"], problem);
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn search_excludes_reverted_turns_and_survives_lost_tables() {
    let replies = ["kept", "the secret word"].into_iter().enumerate();
    let replies = replies.map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let term = |term: &str| json!({ "searchTerm": term });
    assert_eq!(found(&mut scripted.server, term("secret")).await.len(), 1);
    let one = json!({ "numTurns": 1 });
    let rolled = scripted.call("thread/rollback", one).await;
    assert!(rolled["result"].is_object(), "{rolled}");
    assert_eq!(found(&mut scripted.server, term("secret")).await, []);
    assert_eq!(found(&mut scripted.server, term("kept")).await.len(), 1);
    let home = scripted.into_home().await;
    let tables = home.path().join("thread-search-1.sqlite");
    assert!(tables.exists());
    std::fs::write(&tables, "no database at all").unwrap();
    let mut server = experimental_server(&home).await;
    assert_eq!(found(&mut server, term("kept")).await.len(), 1);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn every_match_in_a_thread_has_its_place() {
    let replies = ["gamma, GAMMA and 😀 gamma", "late gamma"]
        .into_iter()
        .enumerate();
    let replies = replies.map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let asked = json!({ "searchTerm": "gamma" });
    let all = scripted.call("thread/searchOccurrences", asked).await["result"].clone();
    let all = all["data"].as_array().unwrap().clone();
    let ranges: Vec<Value> = all
        .iter()
        .map(|one| one["snippetMatchRange"].clone())
        .collect();
    let range = |start: u32| json!({ "start": start, "end": start + 5 });
    assert_eq!(ranges, [range(0), range(7), range(20), range(5)]);
    let asked = json!({ "searchTerm": "gamma", "limit": 3 });
    let page = scripted.call("thread/searchOccurrences", asked).await["result"].clone();
    assert_eq!(page["data"].as_array().unwrap()[..], all[..3]);
    let asked = json!({ "searchTerm": "gamma", "cursor": page["nextCursor"] });
    let page = scripted.call("thread/searchOccurrences", asked).await["result"].clone();
    assert_eq!(page["data"].as_array().unwrap()[..], all[3..]);
    let turn = json!({ "cursor": all[3]["turnCursor"], "limit": 1 });
    let turns = scripted.call("thread/turns/list", turn).await;
    assert_eq!(turns["result"]["data"][0]["id"], all[3]["turnId"]);
    let items = turns["result"]["data"][0]["items"].to_string();
    assert!(
        items.contains(all[3]["itemId"].as_str().unwrap()),
        "{items}"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_timeline_has_turns_and_items_in_their_order() {
    let replies = ["one", "two"].into_iter().enumerate();
    let replies = replies.map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let early = scripted.call("thread/timeline/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32601, "{early}");
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let whole = scripted.call("thread/timeline/list", json!({})).await["result"].clone();
    let whole = whole["data"].as_array().unwrap().clone();
    let kinds: Vec<&str> = whole
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    let turn = ["turnStarted", "item", "item", "turnCompleted"];
    assert_eq!(kinds, [turn, turn].concat());
    let positions: Vec<u64> = whole
        .iter()
        .map(|one| one["position"].as_u64().unwrap())
        .collect();
    assert!(
        positions.is_sorted_by(|one, next| one < next),
        "{positions:?}"
    );
    assert_eq!(whole[2]["item"]["text"], "one");
    assert_eq!(whole[7]["status"], "completed");
    // Pages go back in time, and are in the order of the thread.
    let mut parts = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let asked = json!({ "limit": 3, "cursor": cursor });
        let page = scripted.call("thread/timeline/list", asked).await["result"].clone();
        parts.insert(0, page["data"].as_array().unwrap().clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(parts.concat(), whole);
    let refused = scripted
        .call("thread/timeline/list", json!({ "cursor": "zz" }))
        .await;
    assert_eq!(
        refused["error"]["message"],
        "invalid thread timeline cursor"
    );
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn side_thread_is_not_listed() {
    let replies = ["one", "aside"].into_iter().enumerate();
    let replies = replies.map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    let asked = json!({ "attachToSource": true, "excludeTurns": true });
    let forked = scripted.call("thread/fork", asked).await["result"].clone();
    let (main, side) = (
        scripted.thread["thread"]["id"].clone(),
        forked["thread"]["id"].clone(),
    );
    assert_eq!(forked["thread"]["attachedToThreadId"], main);
    let server = &mut scripted.server;
    run_turn(server, &side, "between us").await;
    let listed = result(server, "thread/list", json!({})).await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["data"][0]["id"], main);
    let listed = result(server, "thread/list", json!({ "attachedToThreadId": main })).await;
    assert_eq!(listed["data"][0]["id"], side, "{listed}");
    assert_eq!(listed["data"][0]["attachedToThreadId"], main);
    let term = json!({ "searchTerm": "between us" });
    assert_eq!(found(server, term.clone()).await, []);
    let mut everywhere = term;
    everywhere["includeAttachedThreads"] = true.into();
    assert_eq!(found(server, everywhere).await.len(), 1);
    let main_thread = json!({ "threadId": main });
    let refused = server
        .call("thread/delete", main_thread.clone())
        .await
        .unwrap();
    let problem = refused["error"]["message"].as_str().unwrap();
    assert!(problem.contains("attached thread"), "{refused}");
    result(server, "thread/delete", json!({ "threadId": side })).await;
    result(server, "thread/delete", main_thread).await;
    scripted.server.finish().await.unwrap();
}
