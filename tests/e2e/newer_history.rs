//! What newer clients read back of threads: the parts of messages, side threads, positions, and what forks and later
//! processes take over.

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::newer_threads::newer_server;
use crate::setup::{experimental_server, scripted_home};
use crate::soak::message;

/// The content of the messages of the user, as pages of items have it.
async fn contents(scripted: &mut ScriptedThread) -> Vec<Value> {
    let page = scripted.call("thread/items/list", json!({})).await;
    let items = page["result"]["data"].as_array().unwrap().clone();
    let said = items.into_iter().map(|entry| entry["item"].clone());
    let said = said.filter(|item| item["type"] == "userMessage");
    said.map(|item| item["content"].clone()).collect()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text, "text_elements": [] })
}

#[tokio::test]
async fn the_parts_of_a_message_keep_their_order() {
    let replies = [message(0, "one"), message(1, "two")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let url = format!("data:image/png;base64,{}", "A".repeat(400));
    let image = json!({ "type": "image", "url": url, "detail": "low" });
    let mention = json!({ "type": "mention", "name": "file", "path": "/f" });
    let inputs = [
        json!([text("a"), image, text("b")]),
        json!([mention, text("c")]),
    ];
    for input in &inputs {
        let params = json!({ "input": input });
        scripted.call("turn/start", params).await;
        scripted.server.completed_turn().await;
    }
    assert_eq!(contents(&mut scripted).await, inputs);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_message_that_was_interrupted_is_not_read_back() {
    let begins = [
        sse::created("r"),
        sse::added(&sse::message("")),
        sse::delta("half"),
    ];
    let reply = HttpReply::stream(&begins).stall();
    let mut scripted = ScriptedThread::start([reply], json!({})).await;
    let input = json!([text("hi")]);
    scripted.call("turn/start", json!({ "input": input })).await;
    let delta = "item/agentMessage/delta";
    scripted.server.wait_for(delta).await.unwrap();
    scripted
        .call("turn/interrupt", json!({ "turnId": "" }))
        .await;
    scripted.server.completed_turn().await;
    let whole = json!({ "itemsView": "full" });
    let page = scripted.call("thread/turns/list", whole).await;
    let items = page["result"]["data"][0]["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{page}");
    let timeline = scripted.call("thread/timeline/list", json!({})).await;
    let entries = timeline["result"]["data"].as_array().unwrap();
    assert_eq!(entries.len(), 3, "{timeline}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn positions_are_the_ordinals_of_0_169() {
    let replies = [message(0, "one"), message(1, "two")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let positions = |page: &Value| -> Vec<u64> {
        let entries = page["result"]["data"].as_array().unwrap();
        let position = |entry: &Value| entry["position"].as_u64().unwrap();
        entries.iter().map(position).collect()
    };
    let page = scripted.call("thread/timeline/list", json!({})).await;
    assert_eq!(positions(&page), [1, 8, 9, 13, 14, 17, 18, 22], "{page}");
    let last = json!({ "limit": 2 });
    let page = scripted.call("thread/timeline/list", last).await;
    assert_eq!(positions(&page), [18, 22]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_side_thread_shows_its_own_turns() {
    let replies = [
        message(0, "one"),
        message(1, "aside"),
        message(2, "further"),
    ];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.turn(json!({})).await;
    let source = scripted.thread["thread"]["id"].clone();
    let server = &mut scripted.server;
    let params = json!({ "threadId": source, "attachToSource": true, "excludeTurns": true });
    let side = server.result("thread/fork", params).await["thread"]["id"].clone();
    let side = side.as_str().unwrap();
    let page = server
        .result("thread/turns/list", json!({ "threadId": side }))
        .await;
    assert_eq!(page["data"], json!([]));
    server.run_turn(side, "question").await;
    // The model has the whole history.
    let sent = scripted.model.request(1).await.json()["input"].to_string();
    assert!(sent.contains("one") && sent.contains("question"), "{sent}");
    let fork = server
        .result("thread/fork", json!({ "threadId": side }))
        .await;
    let fork = fork["thread"]["id"].as_str().unwrap().to_owned();
    for thread in [side, &fork] {
        let params = json!({ "threadId": thread, "includeTurns": true });
        let read = server.result("thread/read", params).await;
        let turns = read["thread"]["turns"].as_array().unwrap();
        assert_eq!(turns.len(), 1, "{read}");
        assert_eq!(turns[0]["items"][0]["content"][0]["text"], "question");
        assert_eq!(read["thread"]["preview"], "hi");
    }
    let params = json!({ "threadId": side, "searchTerm": "one" });
    let found = server.result("thread/searchOccurrences", params).await;
    assert_eq!(found["data"], json!([]));
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_goal_before_the_first_message_is_the_preview() {
    let replies = [message(0, "one"), message(1, "two")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let goal = json!({ "objective": " Ship it ", "status": "paused" });
    scripted.call("thread/goal/set", goal).await;
    let listed = scripted.server.result("thread/list", json!({})).await;
    assert_eq!(listed["data"][0]["preview"], "Ship it", "{listed}");
    scripted.turn(json!({})).await;
    let read = scripted.call("thread/read", json!({})).await;
    assert_eq!(read["result"]["thread"]["preview"], "Ship it");
    let fork = scripted.call("thread/fork", json!({})).await;
    assert_eq!(fork["result"]["thread"]["preview"], "Ship it");
    let home = scripted.into_home().await;
    let mut server = newer_server(&home).await;
    let listed = server.result("thread/list", json!({})).await;
    let threads = listed["data"].as_array().unwrap();
    assert_eq!(threads.len(), 2);
    assert!(threads.iter().all(|one| one["preview"] == "Ship it"));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn forks_and_later_processes_keep_thread_permissions() {
    let model = ModelServer::start([message(0, "one")]).await.unwrap();
    let home = scripted_home(&model, "");
    let work = home.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut server = newer_server(&home).await;
    let params = json!({ "sandbox": "read-only", "approvalPolicy": "on-request" });
    let started = server.result("thread/start", params).await;
    let id = started["thread"]["id"].as_str().unwrap().to_owned();
    let input = json!([text("hi")]);
    let params = json!({ "threadId": id, "input": input, "cwd": work, "effort": "high" });
    server.result("turn/start", params).await;
    server.completed_turn().await;
    let asked = json!({ "threadId": id, "excludeTurns": true });
    let fork = server.result("thread/fork", asked.clone()).await;
    let given = json!({ "threadId": id, "sandbox": "workspace-write" });
    let other = server.result("thread/fork", given).await;
    assert_eq!(other["sandbox"]["type"], "workspaceWrite");
    assert_eq!(other["approvalPolicy"], "on-request");
    server.finish().await.unwrap();
    let mut server = newer_server(&home).await;
    let cold = server.result("thread/fork", asked.clone()).await;
    let resumed = server.result("thread/resume", asked).await;
    for opened in [fork, cold, resumed] {
        assert_eq!(opened["sandbox"]["type"], "readOnly", "{opened}");
        assert_eq!(opened["approvalPolicy"], "on-request");
        assert_eq!(opened["cwd"], work.display().to_string());
    }
    server.finish().await.unwrap();
    // Whoever reads the thread sees where it works now; lists have where it began.
    let mut server = newer_server(&home).await;
    let read = server
        .result("thread/read", json!({ "threadId": id }))
        .await;
    assert_eq!(read["thread"]["cwd"], work.display().to_string());
    let listed = server.result("thread/list", json!({})).await;
    let threads = listed["data"].as_array().unwrap();
    let own = threads.iter().find(|thread| thread["id"] == *id).unwrap();
    assert_ne!(own["cwd"], read["thread"]["cwd"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn occurrences_are_in_questions_and_answers() {
    let mut comment = sse::message("on the way");
    comment["phase"] = "commentary".into();
    let mut answer = sse::message("the\nway");
    answer["id"] = "answer".into();
    let reply = HttpReply::stream(&sse::items(&[comment, answer]));
    let mut scripted = ScriptedThread::start([reply], json!({})).await;
    let input = json!([text("which\nway")]);
    scripted.call("turn/start", json!({ "input": input })).await;
    scripted.server.completed_turn().await;
    let term = json!({ "searchTerm": "way" });
    let found = scripted.call("thread/searchOccurrences", term).await;
    let found = found["result"]["data"].as_array().unwrap().clone();
    let snippets: Vec<_> = found.iter().map(|one| &one["snippet"]).collect();
    assert_eq!(snippets, ["which\nway", "the way"]);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn newer_clients_get_absolute_paths() {
    let call = sse::function_call("c1", "shell_command", &json!({ "command": "cat d/f" }));
    for is_newer in [true, false] {
        let replies = [
            HttpReply::stream(&sse::items(std::slice::from_ref(&call))),
            message(1, "done"),
        ];
        let model = ModelServer::start(replies).await.unwrap();
        let home = scripted_home(&model, "");
        let mut server = if is_newer {
            newer_server(&home).await
        } else {
            experimental_server(&home).await
        };
        let id = server.start_thread().await;
        server.start_turn(&id, "go").await;
        let item = loop {
            let ended = server.wait_for("item/completed").await.unwrap();
            if ended["params"]["item"]["type"] == "commandExecution" {
                break ended["params"]["item"].clone();
            }
        };
        server.completed_turn().await;
        let params = json!({ "threadId": id, "includeTurns": true });
        let read = server.result("thread/read", params).await;
        let stored = &read["thread"]["turns"][0]["items"][1];
        let cwd = item["cwd"].as_str().unwrap();
        let expected = if is_newer {
            format!("{cwd}/d/f")
        } else {
            "d/f".to_owned()
        };
        for shown in [&item, stored] {
            assert_eq!(shown["commandActions"][0]["path"], *expected, "{shown}");
        }
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn thread_page_has_a_backward_cursor() {
    let replies = [message(0, "one"), message(1, "two")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = newer_server(&home).await;
    for _ in 0..2 {
        let id = server.start_thread().await;
        server.run_turn(&id, "hello").await;
    }
    let first = server.result("thread/list", json!({ "limit": 1 })).await;
    let params = json!({ "limit": 1, "cursor": first["nextCursor"] });
    let second = server.result("thread/list", params).await;
    let params = json!({ "cursor": second["backwardsCursor"], "sortDirection": "asc" });
    let back = server.result("thread/list", params).await;
    let ids = |page: &Value| -> Vec<Value> {
        let threads = page["data"].as_array().unwrap();
        threads.iter().map(|thread| thread["id"].clone()).collect()
    };
    assert_eq!(ids(&back), ids(&first));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn unsupported_history_methods_answer_like_0_169() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let note = json!({ "attachmentType": "note", "identityKey": "k", "payload": 1 });
    let refused = scripted.call("thread/attachment/add", note).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let server = &mut scripted.server;
    let params = json!({ "enablement": { "memories": true, "undo": true } });
    let switched = server
        .result("experimentalFeature/enablement/set", params)
        .await;
    assert_eq!(switched["enablement"], json!({ "memories": true }));
    let ready = server.result("memory/status", json!({})).await;
    assert_eq!(ready["v2Ready"], true);
    let none = server.refusal("userVerification/delete", json!({})).await;
    assert_eq!(none.0, -32603);
    let detected = server.result("externalAgentConfig/detect", json!({})).await;
    assert_eq!(detected["connectors"], json!([]));
    let facts = server.result("server/diagnostics", json!({})).await;
    let gauge = json!({ "name": "app.requests.in_flight", "value": 1 });
    assert_eq!(facts["gauges"][0], gauge);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn resume_within_turn_has_last_usage() {
    let stalls = HttpReply::stream(&[sse::created("r")]).stall();
    let mut scripted = ScriptedThread::start([message(0, "one"), stalls], json!({})).await;
    scripted.call("thread/goal/get", json!({})).await;
    let input = json!({ "input": [text("hi")] });
    let first = scripted.call("turn/start", input.clone()).await;
    let tokens = "thread/tokenUsage/updated";
    scripted.server.wait_for(tokens).await.unwrap();
    scripted.server.completed_turn().await;
    scripted.call("turn/start", input).await;
    scripted.server.wait_for("turn/started").await.unwrap();
    scripted.call("thread/resume", json!({})).await;
    let told = scripted.server.wait_for(tokens).await.unwrap();
    let ended = &first["result"]["turn"]["id"];
    assert_eq!(&told["params"]["turnId"], ended, "{told}");
    scripted
        .call("turn/interrupt", json!({ "turnId": "" }))
        .await;
    // The interrupted one tells it too.
    let told = scripted.server.wait_for(tokens).await.unwrap();
    assert_ne!(&told["params"]["turnId"], ended, "{told}");
    scripted.server.completed_turn().await;
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn left_mode_restores_default_instructions() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let settings =
        json!({ "model": "scripted", "reasoning_effort": null, "developer_instructions": null });
    for mode in ["plan", "default"] {
        let mode = json!({ "collaborationMode": { "mode": mode, "settings": settings } });
        scripted.call("thread/settings/update", mode).await;
        let updated = "thread/settings/updated";
        let updated = scripted.server.wait_for(updated).await.unwrap();
        let shown = &updated["params"]["threadSettings"]["collaborationMode"]["settings"];
        assert!(shown["developer_instructions"].is_string(), "{updated}");
    }
    scripted.server.finish().await.unwrap();
}
