//! Details in which newer releases differ from 0.117, and which their clients rely on.

use std::fs;

use serde_json::{Value, json};

use crate::mcp_servers::text_reply;
use crate::newer_requests::ScriptedThread;
use crate::setup::experimental_server;

/// A picture of one dot.
const DOT: [u8; 70] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0,
    0, 0, 31, 21, 196, 137, 0, 0, 0, 13, 73, 68, 65, 84, 120, 218, 99, 100, 248, 207, 80, 15, 0, 3,
    134, 1, 128, 90, 52, 125, 107, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

/// A thread with one turn.
async fn thread_with_a_turn(params: Value) -> ScriptedThread {
    let mut scripted = ScriptedThread::start([text_reply("done")], params).await;
    scripted.turn(json!({})).await;
    scripted
}

#[tokio::test]
async fn file_image_has_high_detail_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dot.png");
    fs::write(&path, DOT).unwrap();
    let mut scripted = ScriptedThread::start([text_reply("done")], json!({})).await;
    let input = json!([
        { "type": "localImage", "path": path },
        { "type": "localImage", "path": path, "detail": "low" },
    ]);
    scripted.call("turn/start", json!({ "input": input })).await;
    scripted.server.wait_for("turn/completed").await.unwrap();
    let request = scripted.model.request(0).await.json();
    let items = request["input"].as_array().unwrap().iter();
    let parts = items.flat_map(|item| item["content"].as_array().into_iter().flatten());
    let images = parts.filter(|part| part["type"] == "input_image");
    let details: Vec<_> = images.map(|image| image["detail"].clone()).collect();
    assert_eq!(details, ["high", "low"]);
}

#[tokio::test]
async fn roots_that_are_the_same_come_back_once() {
    let params = json!({
        "runtimeWorkspaceRoots": ["/opt", "/srv", "/opt/", "/srv/../opt"], "sandbox": "workspace-write",
        "config": { "sandbox_workspace_write.writable_roots": ["/opt", "/srv", "/opt"] },
    });
    let scripted = ScriptedThread::start([], params).await;
    assert_eq!(
        scripted.thread["runtimeWorkspaceRoots"],
        json!(["/opt", "/srv"])
    );
    let roots = scripted.thread["sandbox"]["writableRoots"]
        .as_array()
        .unwrap();
    let opt = roots.iter().filter(|root| **root == "/opt");
    assert_eq!(opt.count(), 1, "{roots:?}");
}

#[tokio::test]
async fn writable_folders_of_a_turn_come_back_once() {
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let policy = json!({ "type": "workspaceWrite", "writableRoots": ["/opt", "/srv", "/opt/"] });
    let changed = scripted
        .call("thread/settings/update", json!({ "sandboxPolicy": policy }))
        .await;
    assert!(changed["result"].is_object(), "{changed}");
    let told = scripted.server.wait_for("thread/settings/updated").await;
    assert_eq!(
        told.unwrap()["params"]["threadSettings"]["sandboxPolicy"]["writableRoots"],
        json!(["/opt", "/srv"])
    );
}

#[tokio::test]
async fn a_summary_has_milliseconds() {
    let mut scripted = thread_with_a_turn(json!({})).await;
    let id = scripted.thread["thread"]["id"].clone();
    let params = json!({ "conversationId": id });
    let found = scripted
        .server
        .result("getConversationSummary", params)
        .await;
    for member in ["timestamp", "updatedAt"] {
        let time = found["summary"][member].as_str().unwrap();
        let (_, fraction) = time.split_once('.').unwrap_or_else(|| panic!("{time}"));
        assert_eq!(fraction.len(), 4, "{time}");
        assert!(fraction.ends_with('Z'), "{time}");
    }
}

#[tokio::test]
async fn archived_thread_is_marked_as_archived() {
    let mut scripted = thread_with_a_turn(json!({})).await;
    scripted.call("thread/archive", json!({})).await;
    for method in ["thread/resume", "thread/fork"] {
        let refused = scripted.call(method, json!({})).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("is archived"), "{method}: {message}");
    }
}

#[tokio::test]
async fn the_memory_mode_of_a_stored_thread_is_set() {
    let scripted = thread_with_a_turn(json!({})).await;
    let id = scripted.thread["thread"]["id"].clone();
    let home = scripted.into_home().await;
    let mut server = experimental_server(&home).await;
    let mode = json!({ "threadId": id, "mode": "disabled" });
    let set = server.result("thread/memoryMode/set", mode.clone()).await;
    assert_eq!(set, json!({}));
    server
        .result("thread/archive", json!({ "threadId": id }))
        .await;
    let unknown = json!({ "threadId": "01a21c37-5037-7b51-9e60-8cbd57868004", "mode": "enabled" });
    for params in [mode, unknown] {
        let refused = server.call("thread/memoryMode/set", params).await.unwrap();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("no rollout found"), "{message}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn features_of_a_thread_are_those_of_its_project() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    fs::create_dir_all(folder.path().join(".codex")).unwrap();
    let settings = "[features]\npersonality = false\n";
    fs::write(folder.path().join(".codex/config.toml"), settings).unwrap();
    let params = json!({ "cwd": folder.path() });
    let scripted = ScriptedThread::start([], json!({})).await;
    let home = scripted.into_home().await;
    let file = home.path().join("config.toml");
    let trusted = format!(
        "{}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        // Where commands may write to a project, it switches no features.
        fs::read_to_string(&file)
            .unwrap()
            .replace("danger-full-access", "workspace-write"),
        folder.path().canonicalize().unwrap().display()
    );
    fs::write(&file, trusted).unwrap();
    let mut server = experimental_server(&home).await;
    let thread = server.result("thread/start", params).await["thread"]["id"].take();
    let mut enabled = Vec::new();
    for params in [
        json!({ "limit": 500 }),
        json!({ "limit": 500, "threadId": thread }),
    ] {
        let list = server.result("experimentalFeature/list", params).await;
        let all = list["data"].as_array().unwrap().iter();
        let found = all.clone().find(|one| one["name"] == "personality");
        enabled.push(found.unwrap()["enabled"].clone());
    }
    assert_eq!(enabled, [json!(true), json!(false)]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_search_for_capital_letters_finds_small_ones() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("alpha.txt"), "x").unwrap();
    let mut scripted = ScriptedThread::start([], json!({})).await;
    let params = json!({ "query": "ALP", "roots": [folder.path()], "cancellationToken": null });
    let found = scripted.server.result("fuzzyFileSearch", params).await;
    assert_eq!(found["files"][0]["path"], "alpha.txt", "{found}");
}
