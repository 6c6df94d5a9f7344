//! What newer clients see of loaded threads: who may load them, what their pages hold, when they are unread, what they
//! have used.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::newer_requests::ScriptedThread;
use crate::setup::{PROGRAM, experimental_server, home_with, scripted_config, scripted_home};
use crate::soak::message;

/// A server all of whose clients are newer.
pub(crate) async fn newer_server(home: &TempDir) -> AppServer {
    let mut server = AppServer::start_with(PROGRAM, home.path(), &["--newer-clients"]).unwrap();
    server.initialize_experimental().await;
    server
}

#[tokio::test]
async fn newer_thread_belongs_to_its_process_until_unloaded() {
    let model = ModelServer::start([message(0, "one"), message(1, "two")])
        .await
        .unwrap();
    let home = scripted_home(&model, "thread_unload_delay_secs = 0");
    let (mut first, mut second) = (newer_server(&home).await, newer_server(&home).await);
    let id = first.start_thread().await;
    first.run_turn(&id, "hello").await;
    let asked = json!({ "threadId": id });
    for method in ["thread/resume", "thread/archive", "thread/delete"] {
        let (code, message) = second.refusal(method, asked.clone()).await;
        let expected = format!("thread {id} already has an active writer");
        assert_eq!(code, -32600);
        assert!(message.starts_with(&expected), "{message}");
    }
    let read = second.result("thread/read", asked.clone()).await;
    assert_eq!(read["thread"]["status"]["type"], "notLoaded", "{read}");
    second.result("thread/fork", asked.clone()).await;
    let named = json!({ "threadId": id, "name": "ours" });
    second.result("thread/name/set", named).await;
    first.result("thread/unsubscribe", asked.clone()).await;
    first.wait_for("thread/closed").await.unwrap();
    let resumed = second.result("thread/resume", asked).await;
    assert_eq!(resumed["thread"]["name"], "ours", "{resumed}");
    second.run_turn(&id, "again").await;
    first.finish().await.unwrap();
    second.finish().await.unwrap();
}

/// What is said of a new thread is kept with it, so it gets its file; clients resume it before they start a turn.
#[tokio::test]
async fn thread_changed_before_its_first_turn_can_be_resumed() {
    let message = json!({
        "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "x" }],
    });
    let changes = [
        (
            "thread/metadata/update",
            json!({ "gitInfo": { "branch": "b" } }),
        ),
        ("thread/name/set", json!({ "name": "Named" })),
        (
            "thread/goal/set",
            json!({ "objective": "x", "status": "paused" }),
        ),
        ("thread/memoryMode/set", json!({ "mode": "disabled" })),
        ("thread/section/move", json!({ "sectionId": null })),
        ("thread/inject_items", json!({ "items": [message] })),
    ];
    let home = tempfile::tempdir().unwrap();
    for (method, mut params) in changes {
        let mut server = AppServer::start_with(PROGRAM, home.path(), &["--newer-clients"]).unwrap();
        server.initialize_experimental().await;
        let thread = server.start_thread().await;
        let resume = json!({ "threadId": thread });
        let (_, refused) = server.refusal("thread/resume", resume.clone()).await;
        assert!(refused.starts_with("no rollout found"), "{refused}");
        params["threadId"] = json!(thread);
        server.result(method, params).await;
        let resumed = server.result("thread/resume", resume.clone()).await;
        assert_eq!(resumed["thread"]["id"], thread, "{method}");
        let turns = server.result("thread/turns/list", resume.clone()).await;
        assert_eq!(turns["data"], json!([]), "{method}");
        server.finish().await.unwrap();

        let mut server = AppServer::start_with(PROGRAM, home.path(), &["--newer-clients"]).unwrap();
        server.initialize_experimental().await;
        server.result("thread/resume", resume).await;
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_thread_without_a_turn_can_be_archived() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = newer_server(&home).await;
    let id = server.start_thread().await;
    let asked = json!({ "threadId": id });
    server.result("thread/archive", asked.clone()).await;
    let archived = server.wait_for("thread/archived").await.unwrap();
    assert_eq!(archived["params"]["threadId"], *id);
    let message = server.refusal("thread/archive", asked.clone()).await.1;
    assert_eq!(message, format!("no rollout found for thread id {id}"));
    server.result("thread/unarchive", asked).await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn pages_have_only_complete_turns() {
    let call = sse::function_call("call-1", "shell_command", &json!({ "command": "touch x" }));
    let replies = [HttpReply::stream(&sse::items(&[call])), message(1, "done")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"untrusted\"");
    let mut server = newer_server(&home).await;
    let id = server.start_thread().await;
    server.start_turn(&id, "go").await;
    let asked = server
        .wait_for("item/commandExecution/requestApproval")
        .await
        .unwrap();
    let whole = json!({ "threadId": id, "itemsView": "full" });
    let turns = server.result("thread/turns/list", whole).await;
    let items = server
        .result("thread/items/list", json!({ "threadId": id }))
        .await;
    for shown in [&turns["data"][0]["items"], &items["data"]] {
        assert_eq!(shown.as_array().unwrap().len(), 1, "{shown}");
    }
    let resumed = server
        .result("thread/resume", json!({ "threadId": id }))
        .await;
    let command = &resumed["thread"]["turns"][0]["items"][1];
    assert_eq!(command["status"], "inProgress", "{resumed}");
    let answer = json!({ "id": asked["id"], "result": { "decision": "decline" } });
    server.send(&answer).await.unwrap();
    server.completed_turn().await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn an_ephemeral_thread_has_no_pages_and_no_preview() {
    let params = json!({ "ephemeral": true });
    let mut scripted = ScriptedThread::start([message(0, "one")], params).await;
    scripted.turn(json!({})).await;
    let read = scripted.call("thread/read", json!({})).await;
    assert_eq!(read["result"]["thread"]["preview"], "");
    for method in ["thread/items/list", "thread/timeline/list"] {
        let refused = scripted.call(method, json!({})).await;
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_only_plans_is_not_unread() {
    let plan = "<proposed_plan>\n- one\n</proposed_plan>";
    let mut scripted =
        ScriptedThread::start([message(0, plan), message(1, "done")], json!({})).await;
    let settings =
        json!({ "model": "scripted", "reasoning_effort": null, "developer_instructions": null });
    let mode = |mode: &str| json!({ "collaborationMode": { "mode": mode, "settings": settings } });
    let unread = async |scripted: &mut ScriptedThread| {
        let read = scripted.call("thread/read", json!({})).await;
        read["result"]["readState"]["firstUnread"].clone()
    };
    scripted.call("thread/settings/update", mode("plan")).await;
    scripted.turn(json!({})).await;
    assert_eq!(unread(&mut scripted).await, Value::Null);
    scripted.turn(mode("default")).await;
    assert_eq!(unread(&mut scripted).await["type"], "turn");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn permissions_are_asked_for_and_granted_path_by_path() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("made").display().to_string();
    let arguments =
        json!({ "permissions": { "file_system": { "write": [path] } }, "reason": "why" });
    let call = sse::function_call("call-1", "request_permissions", &arguments);
    let replies = [HttpReply::stream(&sse::items(&[call])), message(1, "done")];
    let model = ModelServer::start(replies).await.unwrap();
    let settings = "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n\
                    features = { request_permissions_tool = true }";
    let home = home_with(&scripted_config(&model, settings));
    let mut server = experimental_server(&home).await;
    let id = server.start_thread().await;
    server.start_turn(&id, "go").await;
    let asked = server
        .wait_for("item/permissions/requestApproval")
        .await
        .unwrap();
    let entries = &asked["params"]["permissions"]["fileSystem"]["entries"];
    let expected = json!([{ "access": "write", "path": { "type": "path", "path": path } }]);
    assert_eq!(*entries, expected, "{asked}");
    let granted = json!({ "permissions": { "fileSystem": { "entries": entries } } });
    let answer = json!({ "id": asked["id"], "result": granted });
    server.send(&answer).await.unwrap();
    server.completed_turn().await;
    let output = model.request(1).await.json()["input"].to_string();
    assert!(
        output.contains(&format!("\\\"write\\\":[\\\"{path}\\\"]")),
        "{output}"
    );
    server.finish().await.unwrap();
}

#[tokio::test]
async fn thread_waiting_for_unload_accepts_new_settings() {
    let replies = [message(0, "one"), message(1, "two")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    scripted.call("thread/goal/get", json!({})).await;
    scripted.turn(json!({})).await;
    // In use, it keeps its settings.
    let other = json!({ "model": "other", "cwd": "/", "excludeTurns": true });
    let resumed = scripted.call("thread/resume", other.clone()).await;
    assert_eq!(resumed["result"]["model"], "scripted", "{resumed}");
    scripted.call("thread/unsubscribe", json!({})).await;
    let resumed = scripted.call("thread/resume", other).await;
    assert_eq!(resumed["result"]["model"], "other", "{resumed}");
    assert_eq!(resumed["result"]["thread"]["cwd"], "/", "{resumed}");
    // So it is stored, and shown to whom joins.
    let listed = scripted.server.result("thread/list", json!({})).await;
    assert_eq!(listed["data"][0]["model"], "other", "{listed}");
    let joined = scripted.call("thread/resume", json!({})).await;
    assert_eq!(joined["result"]["thread"]["cwd"], "/", "{joined}");
    scripted.turn(json!({})).await;
    assert_eq!(scripted.model.request(1).await.json()["model"], "other");
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn an_image_may_be_a_file_of_the_provider() {
    let mut scripted = ScriptedThread::start([message(0, "seen")], json!({})).await;
    scripted.call("thread/goal/get", json!({})).await;
    let image = json!({ "type": "image", "fileId": "file_1", "detail": "low" });
    for nowhere in [
        json!({ "type": "image" }),
        json!({ "type": "image", "fileId": "" }),
    ] {
        let refused = scripted
            .call("turn/start", json!({ "input": [nowhere] }))
            .await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }
    scripted
        .call("turn/start", json!({ "input": [image] }))
        .await;
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(0).await.json();
    let input = request["input"].as_array().unwrap().last().unwrap();
    let sent = json!({ "type": "input_image", "file_id": "file_1", "detail": "low" });
    assert!(
        input["content"].as_array().unwrap().contains(&sent),
        "{input}"
    );
    let items = scripted.call("thread/items/list", json!({})).await;
    let said = &items["result"]["data"][0]["item"];
    assert_eq!(said["content"], json!([image]), "{items}");
    let listed = scripted.server.result("thread/list", json!({})).await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn thread_environment_can_be_restored() {
    let replies = [message(0, "one"), message(1, "two"), message(2, "three")];
    let mut scripted = ScriptedThread::start(replies, json!({})).await;
    let cwd = scripted.thread["cwd"].clone();
    let local = json!([{ "environmentId": "local", "cwd": cwd }]);
    for (number, environments, count) in [(0, json!([]), 0), (1, local, 1)] {
        let params = json!({ "environments": environments });
        scripted.call("thread/settings/update", params).await;
        let updated = scripted
            .server
            .wait_for("thread/settings/updated")
            .await
            .unwrap();
        let shown = &updated["params"]["threadSettings"]["environments"];
        assert_eq!(shown.as_array().unwrap().len(), count, "{updated}");
        scripted.turn(json!({})).await;
        let request = scripted.model.request(number).await.json();
        let offers = request["tools"].to_string().contains("view_image");
        assert_eq!(offers, count == 1);
    }
    scripted.turn(json!({ "environments": [] })).await;
    let request = scripted.model.request(2).await.json();
    assert!(!request["tools"].to_string().contains("view_image"));
    let read = scripted.call("thread/read", json!({})).await;
    assert_eq!(read["result"]["thread"]["environments"], json!([]));
    let home = scripted.into_home().await;

    let mut server = newer_server(&home).await;
    let listed = server.result("thread/list", json!({})).await;
    let params = json!({ "threadId": listed["data"][0]["id"] });
    let resumed = server.result("thread/resume", params).await;
    assert_eq!(resumed["thread"]["environments"], json!([]));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn named_thread_has_a_read_state_unless_ephemeral() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    scripted
        .call("thread/name/set", json!({ "name": "early" }))
        .await;
    let read = scripted.call("thread/read", json!({})).await;
    assert_eq!(read["result"]["readState"]["firstUnread"], Value::Null);
    assert!(
        read["result"]["readState"]["revision"].is_string(),
        "{read}"
    );
    let other = scripted
        .server
        .start_thread_with(json!({ "ephemeral": true }))
        .await;
    let params = json!({ "threadId": other, "mode": "disabled" });
    let refused = scripted
        .server
        .call("thread/memoryMode/set", params)
        .await
        .unwrap();
    let message = format!("ephemeral thread does not support metadata updates: {other}");
    assert_eq!(refused["error"]["message"], message);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn a_declined_patch_ends_once() {
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch";
    let script = format!("apply_patch <<'EOF'\n{patch}\nEOF");
    let call = sse::function_call("call-1", "shell_command", &json!({ "command": script }));
    let replies = [HttpReply::stream(&sse::items(&[call])), message(1, "done")];
    let model = ModelServer::start(replies).await.unwrap();
    let settings = "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"";
    let home = home_with(&scripted_config(&model, settings));
    let mut server = newer_server(&home).await;
    let id = server.start_thread().await;
    server.start_turn(&id, "go").await;
    let mut ends = 0;
    loop {
        let message = server.receive().await.unwrap();
        let is_patch = message["params"]["item"]["type"] == "fileChange";
        if message["method"] == "item/fileChange/requestApproval" {
            let answer = json!({ "id": message["id"], "result": { "decision": "decline" } });
            server.send(&answer).await.unwrap();
        } else if message["method"] == "item/completed" && is_patch {
            ends += 1;
            assert_eq!(message["params"]["item"]["status"], "declined");
        } else if message["method"] == "turn/completed" {
            break;
        }
    }
    assert_eq!(ends, 1);
    server.finish().await.unwrap();
}

/// The totals of used tokens that are told before a message with this member and value.
async fn totals_until(server: &mut AppServer, member: &str, value: &Value) -> Vec<i64> {
    let mut totals = Vec::new();
    loop {
        let told = server.receive().await.unwrap();
        if told["method"] == "thread/tokenUsage/updated" {
            let total = &told["params"]["tokenUsage"]["total"]["totalTokens"];
            totals.push(total.as_i64().unwrap());
        }
        if told[member] == *value {
            return totals;
        }
    }
}

#[tokio::test]
async fn token_usage_is_reported_per_response_and_fork() {
    let replies = (0..3).map(|number| message(number, "done"));
    let newer = json!({ "threadSource": "user" });
    let mut scripted = ScriptedThread::start(replies, newer).await;
    let first = scripted.thread["thread"]["id"].as_str().unwrap().to_owned();
    let server = &mut scripted.server;
    let end = json!("turn/completed");
    for total in [15, 30] {
        server.start_turn(&first, "go").await;
        assert_eq!(totals_until(server, "method", &end).await, [total]);
    }
    let params = json!({ "threadId": first });
    let forked = server.result("thread/fork", params).await;
    let fork = forked["thread"]["id"].as_str().unwrap().to_owned();
    let started = json!("thread/started");
    assert_eq!(totals_until(server, "method", &started).await, [30]);
    server.start_turn(&fork, "go").await;
    assert_eq!(totals_until(server, "method", &end).await, [45]);
    for (is_excluded, totals) in [(true, vec![]), (false, vec![45])] {
        let params = json!({ "threadId": fork, "excludeTurns": is_excluded });
        server.result("thread/resume", params).await;
        let next = server.begin("thread/loaded/list", json!({})).await.unwrap();
        let told = totals_until(server, "id", &json!(next)).await;
        assert_eq!(told, totals, "{is_excluded}");
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn truncated_thread_has_the_usage_of_its_last_turn() {
    let stalls = HttpReply::stream(&[sse::created("r")]).stall();
    let model = ModelServer::start([message(0, "one"), stalls])
        .await
        .unwrap();
    let home = scripted_home(&model, "");
    let mut server = newer_server(&home).await;
    let id = server.start_thread().await;
    let first = server.run_turn(&id, "hello").await;
    server.start_turn(&id, "again").await;
    model.request(1).await;
    // A read waits for the file.
    let read = json!({ "threadId": id, "includeTurns": true });
    server.result("thread/read", read).await;
    server.kill().await.unwrap();

    let mut server = newer_server(&home).await;
    let asked = json!({ "threadId": id });
    let resumed = server.result("thread/resume", asked).await;
    assert_eq!(resumed["thread"]["turns"][1]["status"], "interrupted");
    let told = server.wait_for("thread/tokenUsage/updated").await.unwrap();
    assert_eq!(told["params"]["turnId"], first["id"], "{told}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn failed_turn_is_shown_on_resume() {
    let refusal = json!({ "error": { "message": "no" } }).to_string();
    let replies = [HttpReply::status(400).body(refusal), message(0, "one")];
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = newer_server(&home).await;
    let id = server.start_thread().await;
    let turn = server.run_turn(&id, "hello").await;
    assert_eq!(turn["status"], "failed");
    let asked = json!({ "threadId": id });
    let failed = json!({ "type": "systemError" });
    server.result("thread/unsubscribe", asked.clone()).await;
    for method in ["thread/read", "thread/resume"] {
        let thread = server.result(method, asked.clone()).await;
        assert_eq!(thread["thread"]["status"], failed, "{method}");
    }
    server.run_turn(&id, "again").await;
    let thread = server.result("thread/read", asked).await;
    assert_eq!(thread["thread"]["status"], json!({ "type": "idle" }));
    server.finish().await.unwrap();
}
