//! Methods that only clients newer than 0.117 call.

use codex_test_support::{HttpReply, sse};
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::serving::Serving;
use crate::soak::message;

#[tokio::test]
async fn thread_items_can_be_paged_from_both_ends() {
    let replies = ["one", "two"].into_iter().enumerate();
    let replies = replies.map(|(number, text)| message(number, text));
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let early = scripted.call("thread/items/list", json!({})).await;
    assert_eq!(early["error"]["code"], -32601, "{early}");
    scripted.turn(json!({})).await;
    scripted.turn(json!({})).await;
    let texts = |page: &Value| -> Vec<String> {
        let entries = page["data"].as_array().unwrap();
        let text = |entry: &Value| {
            let item = &entry["item"];
            let said = item["text"]
                .as_str()
                .or(item["content"][0]["text"].as_str());
            said.unwrap().to_owned()
        };
        entries.iter().map(text).collect()
    };
    let all = ["hi", "one", "hi", "two"];
    for direction in ["asc", "desc"] {
        let mut found = Vec::new();
        let mut params = json!({ "limit": 3, "sortDirection": direction });
        loop {
            let page = scripted.call("thread/items/list", params.clone()).await["result"].take();
            found.extend(texts(&page));
            params["cursor"] = page["nextCursor"].clone();
            if page["nextCursor"].is_null() {
                break;
            }
            let back = json!({ "cursor": page["backwardsCursor"], "limit": 1 });
            let back = scripted.call("thread/items/list", back).await;
            assert_eq!(texts(&back["result"])[0], found[0]);
        }
        if direction == "desc" {
            found.reverse();
        }
        assert_eq!(found, all);
    }
    let page = scripted.call(
        "thread/items/list",
        json!({ "limit": 1, "sortDirection": "desc" }),
    );
    let turn = page.await["result"]["data"][0]["turnId"].clone();
    let last = scripted
        .call("thread/items/list", json!({ "turnId": turn }))
        .await;
    assert_eq!(texts(&last["result"]), ["hi", "two"]);
    let of_turn = json!({ "turnId": turn, "limit": 1, "sortDirection": "desc" });
    let of_turn = scripted.call("thread/turns/items/list", of_turn).await;
    assert_eq!(of_turn["result"]["data"][0]["text"], "two");
    let cursor = of_turn["result"]["nextCursor"].clone();
    let rest = json!({ "turnId": turn, "cursor": cursor, "sortDirection": "desc" });
    let rest = scripted.call("thread/turns/items/list", rest).await;
    assert_eq!(rest["result"]["data"][0]["content"][0]["text"], "hi");
    let none = scripted
        .call("thread/items/list", json!({ "turnId": "none" }))
        .await;
    assert_eq!(none["result"]["data"], json!([]));
    let refused = scripted
        .call("thread/items/list", json!({ "cursor": "x" }))
        .await;
    assert_eq!(refused["error"]["message"], "invalid cursor: x");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn background_terminals_are_listed_and_stopped() {
    let runs = |id: &str, script: &str| {
        let arguments = json!({ "cmd": script, "yield_time_ms": 250 });
        sse::function_call(id, "exec_command", &arguments)
    };
    let calls = [
        runs("first", "sleep 600"),
        runs("second", "sleep 601"),
        runs("third", "true"),
    ];
    let replies = [
        HttpReply::stream(&sse::items(&calls)),
        message(1, "they run"),
    ];
    let settings = json!({ "features.unified_exec": true });
    let params = json!({ "approvalPolicy": "never", "config": settings });
    let mut scripted = ScriptedThread::start(replies, params).await;
    scripted.turn(json!({})).await;
    let list = "thread/backgroundTerminals/list";
    let page = scripted.call(list, json!({})).await["result"].take();
    let mut terminals = page["data"].as_array().unwrap().clone();
    terminals.sort_by_key(|one| one["itemId"].to_string());
    let told: Vec<(&Value, &Value)> = terminals
        .iter()
        .map(|one| (&one["itemId"], &one["command"]))
        .collect();
    let expected = [
        (json!("first"), json!("sleep 600")),
        (json!("second"), json!("sleep 601")),
    ];
    assert_eq!(told, expected.each_ref().map(|(id, script)| (id, script)));
    assert_eq!(terminals[0]["cwd"], scripted.thread["cwd"]);
    assert_eq!(page["nextCursor"], Value::Null);
    let terminate = "thread/backgroundTerminals/terminate";
    let first = json!({ "processId": terminals[0]["processId"] });
    let stopped = scripted.call(terminate, first.clone()).await;
    assert_eq!(stopped["result"], json!({ "terminated": true }));
    let left = scripted.call(list, json!({})).await["result"].take();
    assert_eq!(left["data"], json!([terminals[1]]));
    let stopped = scripted.call(terminate, first).await;
    assert_eq!(stopped["result"], json!({ "terminated": false }));
    let refused = scripted
        .call(terminate, json!({ "processId": "none" }))
        .await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn without_hooks_and_plugins_the_lists_are_empty() {
    let mut serving = Serving::start().await;
    let cwd = serving.path("project");
    let params = json!({ "cwds": [cwd] });
    let none = serving.result("hooks/list", params.clone()).await;
    let entry = json!([{ "cwd": cwd, "hooks": [], "warnings": [], "errors": [] }]);
    assert_eq!(none["data"], entry);
    let plugins = serving.result("plugin/installed", json!({})).await;
    assert_eq!(plugins["marketplaces"], json!([]));
    serving.finish().await;
}

#[tokio::test]
async fn settings_change_without_a_turn() {
    let mut scripted = ScriptedThread::start([message(0, "done")], json!({})).await;
    let method = "thread/settings/update";
    let both =
        json!({ "permissions": ":workspace", "sandboxPolicy": { "type": "dangerFullAccess" } });
    let refused = scripted.call(method, both).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let settings =
        json!({ "model": "another", "reasoning_effort": "low", "developer_instructions": null });
    let mode = json!({ "mode": "plan", "settings": settings });
    let change = json!({ "permissions": ":read-only", "approvalPolicy": "never", "collaborationMode": mode });
    let changed = scripted.call(method, change).await;
    assert_eq!(changed["result"], json!({}));
    let told = scripted
        .server
        .wait_for("thread/settings/updated")
        .await
        .unwrap();
    let told = &told["params"];
    assert_eq!(told["threadId"], scripted.thread["thread"]["id"]);
    let settings = &told["threadSettings"];
    assert_eq!(settings["sandboxPolicy"]["type"], "readOnly");
    assert_eq!(settings["activePermissionProfile"]["id"], ":read-only");
    assert_eq!(settings["approvalPolicy"], "never");
    assert_eq!(
        (&settings["model"], &settings["effort"]),
        (&json!("another"), &json!("low"))
    );
    let shown = &settings["collaborationMode"];
    assert_eq!(shown["mode"], mode["mode"]);
    // The instructions that the mode has without any of the client.
    assert!(
        shown["settings"]["developer_instructions"].is_string(),
        "{shown}"
    );
    scripted.turn(json!({})).await;
    let request = scripted.model.request(0).await.json();
    assert_eq!(request["model"], "another");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn fork_notification_for_newer_clients_has_no_turns() {
    for is_newer in [false, true] {
        let mut scripted = ScriptedThread::start([message(0, "one")], json!({})).await;
        scripted.turn(json!({})).await;
        if is_newer {
            scripted.call("thread/goal/get", json!({})).await;
        }
        let forked = scripted.call("thread/fork", json!({})).await;
        let id = &forked["result"]["thread"]["id"];
        assert_eq!(
            forked["result"]["thread"]["turns"][0]["status"],
            "completed"
        );
        let mut started = scripted.server.wait_for("thread/started").await.unwrap();
        while started["params"]["thread"]["id"] != *id {
            started = scripted.server.wait_for("thread/started").await.unwrap();
        }
        let turns = started["params"]["thread"]["turns"].as_array().unwrap();
        assert_eq!(turns.is_empty(), is_newer);
    }
}
