//! MCP servers that want to know how commands are confined.

use std::fs;

use codex_test_support::ModelServer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_process::configured;
use crate::mcp_servers::text_reply;
use crate::setup::{server, untrusted_home};

/// The sandboxes that the server was sent so far.
fn sandbox_updates(home: &TempDir) -> Vec<Value> {
    let log = fs::read_to_string(home.path().join("log")).unwrap();
    let messages = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let updates = messages.filter(|message| message["method"] == "codex/sandbox-state/update");
    updates.map(|message| message["params"].clone()).collect()
}

#[tokio::test]
async fn mcp_server_gets_sandbox_state_before_turns() {
    let model = ModelServer::start([text_reply("one"), text_reply("two"), text_reply("three")]);
    let model = model.await.unwrap();
    let home = untrusted_home(&model);
    let behaviour = json!({ "log": home.path().join("log"),
        "offers": { "codex/sandbox-state": { "version": "1.0.0" } } });
    let file = home.path().join("config.toml");
    let table = configured("scripted", &behaviour, "");
    fs::write(&file, fs::read_to_string(&file).unwrap() + &table).unwrap();
    let mut server = server(&home).await;
    let params = json!({ "sandbox": "workspace-write", "cwd": home.path() });
    let reply = server.call("thread/start", params).await.unwrap();
    let thread = reply["result"]["thread"]["id"].as_str().unwrap().to_owned();
    let status = loop {
        let notification = server.wait_for("mcpServer/startupStatus/updated").await;
        let params = notification.unwrap()["params"].clone();
        if params["status"] != "starting" {
            break params;
        }
    };
    assert_eq!(status["status"], "ready", "{status}");
    let first = sandbox_updates(&home);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0]["sandboxPolicy"]["type"], "workspace-write");
    assert_eq!(first[0]["sandboxPolicy"]["network_access"], false);
    assert_eq!(first[0]["sandboxCwd"], json!(home.path()));
    server.run_turn(&thread, "go").await;
    assert_eq!(sandbox_updates(&home).len(), 1);
    let params = json!({ "threadId": thread, "sandboxPolicy": { "type": "readOnly" },
        "input": [{ "type": "text", "text": "go" }] });
    for _ in 0..2 {
        server.call("turn/start", params.clone()).await.unwrap();
        server.wait_for("turn/completed").await.unwrap();
    }
    let all = sandbox_updates(&home);
    assert_eq!(all.len(), 2);
    assert_eq!(all[1]["sandboxPolicy"]["type"], "read-only");
    server.finish().await.unwrap();
}
