//! What only clients newer than 0.117 ask for.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::newer_requests::ScriptedThread;
use crate::serving::Serving;
use crate::setup::{PROGRAM, experimental_server, scripted_home, server};
use crate::soak::message;

/// A thread of three turns.
struct ThreeTurnThread {
    server: AppServer,
    model: ModelServer,
    _home: TempDir,
    thread: String,
    turns: Vec<Value>,
}

impl ThreeTurnThread {
    async fn of_three_turns() -> Self {
        let replies = ["one", "two", "three", "after"].into_iter().enumerate();
        let replies = replies.map(|(number, text)| message(number, text));
        let model = ModelServer::start(replies).await.unwrap();
        let home = scripted_home(&model, "thread_unload_delay_secs = 0");
        let mut server = experimental_server(&home).await;
        let thread = server.start_thread().await;
        let mut conversation = Self {
            server,
            model,
            _home: home,
            thread,
            turns: Vec::new(),
        };
        for text in ["1", "2", "3"] {
            let thread = conversation.thread.clone();
            let turn = conversation.turn(&thread, text).await;
            conversation.turns.push(turn);
        }
        conversation
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.server.call(method, params).await.unwrap()
    }

    async fn turn(&mut self, thread: &str, text: &str) -> Value {
        self.server.run_turn(thread, text).await["id"].take()
    }

    async fn fork(&mut self, cut: Value) -> Value {
        let mut params = cut;
        params["threadId"] = json!(self.thread);
        self.call("thread/fork", params).await
    }

    /// Checks which turns a fork has.
    async fn check_fork(&mut self, cut: Value, turns: usize) -> Value {
        let reply = self.fork(cut).await;
        let thread = &reply["result"]["thread"];
        let forked = thread["turns"].as_array().unwrap();
        let ids: Vec<&Value> = forked.iter().map(|turn| &turn["id"]).collect();
        assert_eq!(ids, self.turns[..turns].iter().collect::<Vec<_>>());
        assert_eq!(thread["preview"], if turns == 0 { "" } else { "1" });
        thread["id"].clone()
    }

    async fn check_refused(&mut self, cut: Value, reason: &str) {
        let reply = self.fork(cut).await;
        let refused = json!({ "code": -32600, "message": reason });
        assert_eq!(reply["error"], refused);
    }
}

#[tokio::test]
async fn fork_ends_at_the_requested_turn() {
    let mut conversation = ThreeTurnThread::of_three_turns().await;
    let turn = conversation.turns.clone();
    conversation
        .check_fork(json!({ "lastTurnId": turn[2] }), 3)
        .await;
    conversation
        .check_fork(json!({ "beforeTurnId": turn[1] }), 1)
        .await;
    conversation
        .check_fork(json!({ "beforeTurnId": turn[0] }), 0)
        .await;
    let both = json!({ "lastTurnId": turn[0], "beforeTurnId": turn[1] });
    let reason = "`beforeTurnId` cannot be combined with `lastTurnId`";
    conversation.check_refused(both, reason).await;
    let unknown = json!({ "lastTurnId": "nothing" });
    conversation
        .check_refused(unknown, "turn not found: nothing")
        .await;

    // The model is told of nothing else either, and what is stored is the same.
    let fork = conversation
        .check_fork(json!({ "lastTurnId": turn[0] }), 1)
        .await;
    let after = conversation.turn(fork.as_str().unwrap(), "4").await;
    let request = conversation.model.request(3).await.json().to_string();
    assert!(
        request.contains("\"one\"") && request.contains("\"4\""),
        "{request}"
    );
    assert!(
        !request.contains("\"two\"") && !request.contains("\"3\""),
        "{request}"
    );
    let params = json!({ "threadId": fork, "includeTurns": true });
    let read = conversation.call("thread/read", params).await;
    let turns = read["result"]["thread"]["turns"].as_array().unwrap();
    let ids: Vec<&Value> = turns.iter().map(|turn| &turn["id"]).collect();
    assert_eq!(ids, [&turn[0], &after]);
    conversation.server.finish().await.unwrap();
}

#[tokio::test]
async fn thread_list_follows_its_sort_order_and_filters() {
    let mut conversation = ThreeTurnThread::of_three_turns().await;
    let first = json!(conversation.thread);
    let second = conversation.check_fork(json!({}), 3).await;
    conversation.turn(second.as_str().unwrap(), "4").await;
    let mut list = async |mut params: Value| {
        let mut ids = Vec::new();
        loop {
            let page = conversation.call("thread/list", params.clone()).await["result"].take();
            let threads = page["data"].as_array().unwrap();
            ids.extend(threads.iter().map(|thread| thread["id"].clone()));
            if page["nextCursor"].is_null() {
                return ids;
            }
            params["cursor"] = page["nextCursor"].clone();
        }
    };
    let newest_first = vec![second.clone(), first.clone()];
    assert_eq!(list(json!({ "limit": 1 })).await, newest_first);
    assert_eq!(
        list(json!({ "limit": 1, "sortDirection": "desc" })).await,
        newest_first
    );
    let oldest_first = vec![first.clone(), second.clone()];
    assert_eq!(
        list(json!({ "limit": 1, "sortDirection": "asc" })).await,
        oldest_first
    );
    let others = json!({ "excludedThreadIds": [second] });
    assert_eq!(list(others).await, [first]);
    conversation.server.finish().await.unwrap();
}

#[tokio::test]
async fn user_command_ends_at_its_time_limit() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    let command =
        |timeout: i64| json!({ "threadId": thread, "command": "sleep 600", "timeoutMs": timeout });
    server
        .call("thread/shellCommand", command(50))
        .await
        .unwrap();
    let ended = server.wait_for("item/completed").await.unwrap();
    let item = &ended["params"]["item"];
    assert_eq!(
        (&item["status"], &item["exitCode"]),
        (&json!("failed"), &json!(-1))
    );
    let output = item["aggregatedOutput"].as_str().unwrap();
    assert!(output.contains("timed out"), "{output}");
    let refused = server
        .call("thread/shellCommand", command(-1))
        .await
        .unwrap();
    let message = "thread/shellCommand timeoutMs must be non-negative, got -1";
    assert_eq!(
        refused["error"],
        json!({ "code": -32602, "message": message })
    );
    server.wait_for("turn/completed").await.unwrap();
    server.finish().await.unwrap();
}

#[tokio::test]
async fn client_names_its_watch() {
    let mut serving = Serving::start().await;
    let params = json!({ "path": serving.home.path(), "watchId": "mine" });
    let watch = serving.result("fs/watch", params.clone()).await;
    assert_eq!(watch["watchId"], "mine");
    serving
        .refused(
            "fs/watch",
            params.clone(),
            -32600,
            "watchId already exists: mine",
        )
        .await;
    std::fs::write(serving.home.path().join("new"), "").unwrap();
    let changed = serving.server.wait_for("fs/changed").await.unwrap();
    assert_eq!(changed["params"]["watchId"], "mine");
    serving
        .result("fs/unwatch", json!({ "watchId": "mine" }))
        .await;
    serving.result("fs/watch", params).await;
    serving.finish().await;
}

#[tokio::test]
async fn message_keeps_client_id() {
    let mut conversation = ThreeTurnThread::of_three_turns().await;
    let thread = conversation.thread.clone();
    let input = json!([{ "type": "text", "text": "mine" }]);
    let params = json!({ "threadId": thread, "input": input, "clientUserMessageId": "client-1" });
    conversation.call("turn/start", params).await;
    let told = conversation
        .server
        .wait_for("item/completed")
        .await
        .unwrap();
    assert_eq!(told["params"]["item"]["clientId"], "client-1");
    conversation
        .server
        .wait_for("turn/completed")
        .await
        .unwrap();
    let params = json!({ "threadId": thread, "includeTurns": true });
    let read = conversation.call("thread/read", params).await;
    let turns = &read["result"]["thread"]["turns"];
    assert_eq!(turns[3]["items"][0]["clientId"], "client-1");
    assert_eq!(turns[2]["items"][0].get("clientId"), None);
}

#[tokio::test]
async fn a_page_of_turns_comes_with_a_resumed_thread() {
    let mut conversation = ThreeTurnThread::of_three_turns().await;
    let (thread, turns) = (conversation.thread.clone(), conversation.turns.clone());
    let ids = |page: &Value| -> Vec<Value> {
        let turns = page["data"].as_array().unwrap();
        turns.iter().map(|turn| turn["id"].clone()).collect()
    };
    let page = json!({ "limit": 2, "itemsView": "full" });
    let params = json!({ "threadId": thread, "excludeTurns": true, "initialTurnsPage": page });
    // Once while it is loaded, once from its file.
    for _ in 0..2 {
        let resumed = conversation.call("thread/resume", params.clone()).await;
        let resumed = &resumed["result"];
        assert_eq!(resumed["thread"]["turns"], json!([]));
        let page = &resumed["initialTurnsPage"];
        assert_eq!(ids(page), [turns[2].clone(), turns[1].clone()]);
        assert_eq!(page["data"][0]["items"][1]["text"], "three");
        let next = json!({ "threadId": thread, "cursor": page["nextCursor"] });
        let next = conversation.call("thread/turns/list", next).await;
        assert_eq!(ids(&next["result"]), [turns[0].clone()]);
        let unsubscribe = json!({ "threadId": thread });
        conversation.call("thread/unsubscribe", unsubscribe).await;
        conversation.server.wait_for("thread/closed").await.unwrap();
    }
    let params = json!({ "threadId": thread });
    let resumed = conversation.call("thread/resume", params).await;
    assert_eq!(resumed["result"].get("initialTurnsPage"), None);
}

#[tokio::test]
async fn a_list_of_threads_can_be_turned_round() {
    let mut conversation = ThreeTurnThread::of_three_turns().await;
    let other = conversation.call("thread/start", json!({})).await;
    let other = other["result"]["thread"]["id"].clone();
    conversation.turn(other.as_str().unwrap(), "other").await;
    let ids = |page: &Value| -> Vec<Value> {
        let threads = page["result"]["data"].as_array().unwrap();
        threads.iter().map(|thread| thread["id"].clone()).collect()
    };
    for (first, second) in [("desc", "asc"), ("asc", "desc")] {
        let params = json!({ "limit": 1, "sortDirection": first });
        let page = conversation.call("thread/list", params).await;
        let back = page["result"]["backwardsCursor"].as_str().unwrap();
        let params = json!({ "cursor": back, "sortDirection": second });
        let turned = conversation.call("thread/list", params).await;
        // As in 0.169 only an order from new to old shows again what was shown.
        let is_again = ids(&turned).contains(&ids(&page)[0]);
        assert_eq!(is_again, second == "desc", "{turned}");
    }
    let nothing = json!({ "searchTerm": "no such word" });
    let page = conversation.call("thread/list", nothing).await;
    assert_eq!(page["result"].get("backwardsCursor"), None);
}

#[tokio::test]
async fn thread_stays_loaded_after_a_newer_client_left() {
    let replies = ["one", "two"].into_iter().enumerate();
    let replies = replies.map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({ "threadSource": "user" })).await;
    scripted.turn(json!({})).await;
    for status in ["unsubscribed", "notSubscribed"] {
        let left = scripted.call("thread/unsubscribe", json!({})).await;
        assert_eq!(left["result"]["status"], status);
    }
    let loaded = scripted
        .server
        .result("thread/loaded/list", json!({}))
        .await;
    assert_eq!(loaded["data"], json!([scripted.thread["thread"]["id"]]));
    let resume = json!({ "excludeTurns": true });
    let resumed = scripted.call("thread/resume", resume).await;
    assert!(resumed["result"].is_object(), "{resumed}");
    scripted.turn(json!({})).await;
    scripted.server.finish().await.unwrap();
}

/// What of the handshake tells the release of a client. Newer ones hear of remote control right after it.
#[tokio::test]
async fn initialize_distinguishes_newer_clients() {
    let cases = [
        (
            json!({ "name": "tests", "version": "9" }),
            json!({ "experimentalApi": true }),
            false,
        ),
        // Named, although the client does not have it.
        (
            json!({ "name": "zed", "version": "1" }),
            json!({ "requestAttestation": false }),
            true,
        ),
        (
            json!({ "name": "zed", "version": "1" }),
            json!({ "extensions": null }),
            false,
        ),
        (
            json!({ "name": "codex-tui", "version": "0.169.0" }),
            Value::Null,
            true,
        ),
        (
            json!({ "name": "ai-sdk-provider-codex-cli", "version": "0.0.0" }),
            Value::Null,
            true,
        ),
    ];
    for (client, capabilities, is_newer) in cases {
        let home = tempfile::tempdir().unwrap();
        let mut server = AppServer::start(PROGRAM, home.path()).unwrap();
        let params = json!({ "clientInfo": client, "capabilities": capabilities });
        server.call("initialize", params).await.unwrap();
        let id = server.begin("thread/loaded/list", json!({})).await.unwrap();
        let mut is_told = false;
        loop {
            let message = server.receive().await.unwrap();
            is_told |= message["method"] == "remoteControl/status/changed";
            if message["id"] == id {
                break;
            }
        }
        assert_eq!(is_told, is_newer, "{client} {capabilities}");
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn lists_are_restricted_to_the_threads_that_are_named() {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let home = scripted_home(&model, "");
    let mut server = server(&home).await;
    let mut threads = Vec::new();
    for _ in 0..3 {
        let thread = server.start_thread().await;
        server.run_turn(&thread, "hi").await;
        threads.push(thread);
    }
    let absent = "0195f0a0-7b1c-7000-8000-0000000000ab";
    let named = json!([threads[0], threads[2], absent]);
    for (params, expected) in [
        (json!({ "includedThreadIds": named }), 2),
        (
            json!({ "includedThreadIds": named, "excludedThreadIds": [threads[0]] }),
            1,
        ),
        (json!({ "includedThreadIds": [] }), 0),
        (json!({ "includedThreadIds": null, "notKnown": null }), 3),
    ] {
        let listed = server.result("thread/list", params.clone()).await;
        let count = listed["data"].as_array().unwrap().len();
        assert_eq!(count, expected, "{params}");
    }
    let many = vec![absent; 101];
    for (params, expected) in [
        (
            json!({ "includedThreadIds": many }),
            "includedThreadIds accepts at most 100 entries",
        ),
        (
            json!({ "includedThreadIds": ["x"] }),
            "invalid included thread id: ",
        ),
        (
            json!({ "onlyMine": true }),
            "thread/list does not know `onlyMine`",
        ),
    ] {
        let (code, message) = server.refusal("thread/list", params).await;
        assert_eq!(code, -32602, "{message}");
        assert!(message.starts_with(expected), "{message}");
    }
    for method in [
        "app/list",
        "experimentalFeature/list",
        "hooks/list",
        "model/list",
        "permissionProfile/list",
        "plugin/list",
        "skills/list",
        "threadSection/list",
    ] {
        server.result(method, json!({})).await;
        let params = json!({ "onlyMine": true });
        let (code, message) = server.refusal(method, params).await;
        assert_eq!(code, -32602, "{message}");
        assert!(message.contains("does not know `onlyMine`"), "{message}");
    }
    server.finish().await.unwrap();
}
