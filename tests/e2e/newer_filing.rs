//! Where newer clients file threads: sections, projects and attachments, and what they are refused.

use codex_test_support::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::newer_requests::ScriptedThread;
use crate::setup::{experimental_server, scripted_home};
use crate::soak::message;

async fn replied(scripted: &mut ScriptedThread, method: &str, params: Value) -> Value {
    scripted.server.call(method, params).await.unwrap()
}

async fn refused(scripted: &mut ScriptedThread, method: &str, params: Value) -> (i64, String) {
    scripted.server.refusal(method, params).await
}

#[tokio::test]
async fn a_loaded_thread_that_is_joined_has_its_section() {
    let mut scripted = ScriptedThread::start([message(0, "one")], json!({})).await;
    scripted.turn(json!({})).await;
    let named = json!({ "name": "Work" });
    let made = replied(&mut scripted, "threadSection/create", named).await;
    let section = made["result"]["section"].clone();
    let params = json!({ "sectionId": section["id"] });
    scripted.call("thread/section/move", params).await;
    let joined = scripted.call("thread/resume", json!({})).await;
    assert_eq!(joined["result"]["thread"]["section"], section);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn sections_have_an_order_that_can_be_turned_round() {
    let mut scripted =
        ScriptedThread::start([message(0, "one"), message(1, "two")], json!({})).await;
    scripted.turn(json!({})).await;
    let first = scripted.thread["thread"]["id"].clone();
    let second = scripted.server.start_thread().await;
    scripted.server.run_turn(&second, "hi").await;
    let made = replied(
        &mut scripted,
        "threadSection/create",
        json!({ "name": "Work" }),
    )
    .await;
    let section = made["result"]["section"]["id"].clone();
    for thread in [first.clone(), json!(second)] {
        let params = json!({ "threadId": thread, "sectionId": section });
        replied(&mut scripted, "thread/section/move", params).await;
    }
    for (direction, leads) in [
        (None, &first),
        (Some("asc"), &first),
        (Some("desc"), &json!(second)),
    ] {
        let mut params = json!({ "sectionId": section, "sortKey": "section_position" });
        if let Some(direction) = direction {
            params["sortDirection"] = direction.into();
        }
        let listed = replied(&mut scripted, "thread/list", params).await;
        assert_eq!(listed["result"]["data"][0]["id"], *leads, "{direction:?}");
    }
    let itself = json!({ "threadId": first, "sectionId": section, "beforeThreadId": first });
    let (code, message) = refused(&mut scripted, "thread/section/move", itself).await;
    assert_eq!(code, -32600);
    assert!(
        message.ends_with("cannot be moved before itself"),
        "{message}"
    );
    let params = json!({ "ephemeral": true });
    let ephemeral = scripted.server.start_thread_with(params).await;
    let params = json!({ "threadId": ephemeral, "sectionId": section });
    let (_, message) = refused(&mut scripted, "thread/section/move", params).await;
    assert!(message.starts_with("ephemeral thread"), "{message}");
    let params =
        json!({ "threadId": ephemeral, "attachmentType": "a", "identityKey": "b", "payload": {} });
    let (code, _) = refused(&mut scripted, "thread/attachment/add", params).await;
    assert_eq!(code, -32602);
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn fork_keeps_the_project_of_its_source_until_deletion() {
    let mut scripted = ScriptedThread::start([message(0, "one")], json!({})).await;
    let params = json!({ "name": "P", "roots": [{ "path": "/w" }], "idempotencyKey": "k" });
    let made = replied(&mut scripted, "project/create", params).await;
    let project = made["result"]["project"]["id"].clone();
    scripted.turn(json!({})).await;
    scripted
        .call("thread/metadata/update", json!({ "projectId": project }))
        .await;
    scripted
        .server
        .wait_for("thread/project/updated")
        .await
        .unwrap();
    let forked = scripted.call("thread/fork", json!({})).await;
    assert_eq!(forked["result"]["thread"]["projectId"], project, "{forked}");
    let before = json!({ "projectId": project, "beforeProjectId": project });
    let absent = json!({ "name": "I", "roots": [], "threads": ["zz"], "idempotencyKey": "i" });
    let relative = json!({ "name": "R", "roots": [{ "path": "w" }], "idempotencyKey": "r" });
    for (method, params, code) in [
        ("project/move", before, -32602),
        ("project/import", absent, -32602),
        ("project/create", relative, -32600),
        ("project/list", json!({ "cursor": "zz" }), -32602),
    ] {
        let (refused, message) = refused(&mut scripted, method, params).await;
        assert_eq!(refused, code, "{method}: {message}");
    }
    let listed = replied(&mut scripted, "project/list", json!({})).await;
    assert_eq!(listed["result"]["data"].as_array().unwrap().len(), 1);
    replied(
        &mut scripted,
        "project/delete",
        json!({ "projectId": project }),
    )
    .await;
    for _ in 0..2 {
        let told = scripted
            .server
            .wait_for("thread/project/updated")
            .await
            .unwrap();
        assert_eq!(told["params"]["projectId"], Value::Null);
    }
    scripted.server.finish().await.unwrap();
}

#[tokio::test]
async fn goal_usage_excludes_tokens_before_a_restart() {
    let model = ModelServer::start([message(0, "one"), HttpReply::status(400)])
        .await
        .unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let id = server.start_thread().await;
    server.run_turn(&id, "hi").await;
    let goal = json!({ "threadId": id, "objective": "Ship", "status": "paused" });
    server.result("thread/goal/set", goal).await;
    server.finish().await.unwrap();
    // The turn for the goal fails, so it uses nothing.
    let mut server = experimental_server(&home).await;
    let goal = json!({ "threadId": id, "status": "active" });
    server.result("thread/goal/set", goal).await;
    let resumed = json!({ "threadId": id, "excludeTurns": true });
    server.result("thread/resume", resumed).await;
    server.completed_turn().await;
    let goal = server
        .result("thread/goal/get", json!({ "threadId": id }))
        .await;
    assert_eq!(goal["goal"]["tokensUsed"], 0, "{goal}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn tools_of_newer_clients_have_names_that_models_take() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    scripted.call("thread/goal/get", json!({})).await;
    let function = json!({ "name": "a b", "description": "d", "inputSchema": {} });
    let empty = json!({ "type": "namespace", "name": "n", "description": "d", "tools": [] });
    for (tool, expected) in [
        (function, "dynamic tool name must match"),
        (
            empty,
            "dynamic tool namespace must contain at least one tool: n",
        ),
    ] {
        let params = json!({ "dynamicTools": [tool] });
        let (_, message) = refused(&mut scripted, "thread/start", params).await;
        assert!(message.starts_with(expected), "{message}");
    }
    scripted.server.finish().await.unwrap();
}
