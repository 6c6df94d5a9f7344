//! `codex acp`: how sessions are opened, what they list, and names that clients of adapters send.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::acp_client::{Editor, write};

/// A server with one tool, `hi`.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "own", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "hi", "inputSchema": {"type": "object"}}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

async fn open(editor: &mut Editor) -> Value {
    let params = json!({ "cwd": editor.work(), "mcpServers": [] });
    editor.request("session/new", params).await["result"].take()
}

/// The current value of an option.
fn current(options: &Value, id: &str) -> Value {
    let mut options = options.as_array().unwrap().iter();
    let option = options.find(|option| option["id"] == id);
    option.unwrap_or_else(|| panic!("{id}"))["currentValue"].clone()
}

/// A machine that is busy may deliver both at once, so one of several sessions has to show it.
#[tokio::test]
async fn commands_update_follows_the_session_reply() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let mut longest = Duration::ZERO;
    for _ in 0..5 {
        open(&mut editor).await;
        assert!(editor.of_kind("available_commands_update").is_empty());
        let replied = Instant::now();
        editor.update("available_commands_update").await;
        longest = longest.max(replied.elapsed());
        editor.updates.clear();
    }
    assert!(longest >= Duration::from_millis(40), "{longest:?}");
}

#[tokio::test]
async fn new_session_updates_follow_the_reply() {
    let offers = json!({ "session": { "notices": {} } });
    let mut editor = Editor::start("hello.toml", offers).await;
    let missing = json!({ "name": "gone", "command": "/no/such/program", "args": [], "env": [] });
    let params = json!({ "cwd": editor.work(), "mcpServers": [missing] });
    editor.request("session/new", params).await;
    assert!(editor.updates.is_empty(), "{:?}", editor.updates);
    let notice = editor.update("notice").await;
    assert!(
        notice["title"].as_str().unwrap().contains("gone"),
        "{notice}"
    );
}

#[tokio::test]
async fn models_are_listed_for_clients_without_options() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let opened = open(&mut editor).await;
    let models = &opened["models"];
    let all: Vec<_> = models["availableModels"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert!(
        all.iter()
            .any(|model| model["modelId"] == models["currentModelId"]),
        "{models}"
    );
    let other = all
        .iter()
        .find(|model| model["modelId"] != models["currentModelId"]);
    let other = other.unwrap()["modelId"].as_str().unwrap();
    let change = json!({ "sessionId": opened["sessionId"], "modelId": other });
    let reply = editor.request("session/set_model", change).await;
    assert_eq!(reply["result"], json!({}), "{reply}");
    let load = json!({ "sessionId": opened["sessionId"], "cwd": editor.work(), "mcpServers": [] });
    let resumed = editor.request("session/resume", load).await;
    assert!(
        resumed["result"]["models"]["availableModels"].is_array(),
        "{resumed}"
    );
}

#[tokio::test]
async fn names_of_modes_that_adapters_have_are_taken() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let opened = open(&mut editor).await;
    let session = &opened["sessionId"];
    for (alias, mode) in [
        ("agent", "workspace-write"),
        ("full-access", "agent-full-access"),
        ("auto", "workspace-write"),
        ("agent-full-access", "agent-full-access"),
    ] {
        let by_method = json!({ "sessionId": session, "modeId": alias });
        let reply = editor.request("session/set_mode", by_method).await;
        assert_eq!(reply["result"], json!({}), "{alias}: {reply}");
        let by_option = json!({ "sessionId": session, "configId": "mode", "value": alias });
        let reply = editor.request("session/set_config_option", by_option).await;
        let options = &reply["result"]["configOptions"];
        assert_eq!(current(options, "mode"), mode, "{alias}");
        assert_eq!(current(options, "fast-mode"), "off");
    }
    let fast = json!({ "sessionId": session, "modeId": "fast-mode" });
    assert_eq!(
        editor.request("session/set_mode", fast).await["result"],
        json!({})
    );
    let plan = json!({ "sessionId": session, "configId": "collaboration_mode", "value": "plan" });
    let reply = editor.request("session/set_config_option", plan).await;
    let options = &reply["result"]["configOptions"];
    assert_eq!(current(options, "fast-mode"), "on");
    assert_eq!(current(options, "mode"), "agent-full-access");
    let slow = json!({ "sessionId": session, "configId": "fast-mode", "value": "off" });
    let reply = editor.request("session/set_config_option", slow).await;
    assert_eq!(
        current(&reply["result"]["configOptions"], "fast-mode"),
        "off"
    );
}

#[tokio::test]
async fn servers_of_the_editor_are_listed_with_their_tools() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let program = editor.home.path().join("server.py");
    write(&program, SERVER);
    let server = json!({ "name": "own", "command": "/usr/bin/env", "args": ["python3", program], "env": [] });
    let params = json!({ "cwd": editor.work(), "mcpServers": [server] });
    let reply = editor.request("session/new", params).await;
    let session = reply["result"]["sessionId"].as_str().unwrap();
    editor.prompt(session, "/mcp").await;
    assert_eq!(editor.agent_text(), "- own: hi\n");
}

#[tokio::test]
async fn unlisted_configured_model_can_be_chosen() {
    let home = tempfile::tempdir().unwrap();
    write(
        &home.path().join("config.toml"),
        "model = \"own-model\"\nmodel_reasoning_effort = \"high\"\n",
    );
    let mut editor = Editor::start_in(home, "hello.toml");
    editor.initialize(json!({})).await;
    let opened = open(&mut editor).await;
    let model = opened["configOptions"].as_array().unwrap().iter();
    let model = model
        .clone()
        .find(|option| option["id"] == "model")
        .unwrap();
    assert_eq!(model["currentValue"], "own-model");
    assert_eq!(opened["models"]["currentModelId"], "own-model[high]");
    let other = model["options"].as_array().unwrap().iter();
    let other = other
        .clone()
        .find(|option| option["value"] != "own-model")
        .unwrap();
    let mut choose =
        json!({ "sessionId": opened["sessionId"], "configId": "model", "value": other["value"] });
    let reply = editor
        .request("session/set_config_option", choose.clone())
        .await;
    assert_eq!(
        current(&reply["result"]["configOptions"], "model"),
        other["value"]
    );
    choose["value"] = json!("own-model");
    let reply = editor
        .request("session/set_config_option", choose.clone())
        .await;
    assert_eq!(
        current(&reply["result"]["configOptions"], "model"),
        "own-model",
        "{reply}"
    );
    let older =
        json!({ "sessionId": opened["sessionId"], "modelId": opened["models"]["currentModelId"] });
    let reply = editor.request("session/set_model", older).await;
    assert_eq!(reply["result"], json!({}), "{reply}");
    // A session that is loaded with another model offers it too.
    let id = opened["sessionId"].as_str().unwrap();
    choose["value"] = other["value"].clone();
    editor
        .request("session/set_config_option", choose.clone())
        .await;
    editor.prompt(id, "hi").await;
    let close = json!({ "sessionId": id });
    editor.request("session/close", close).await;
    let load = json!({ "sessionId": id, "cwd": editor.work(), "mcpServers": [] });
    let loaded = editor.request("session/load", load).await["result"].take();
    assert_eq!(current(&loaded["configOptions"], "model"), other["value"]);
    choose["value"] = json!("own-model");
    let reply = editor.request("session/set_config_option", choose).await;
    let options = &reply["result"]["configOptions"];
    assert_eq!(current(options, "model"), "own-model", "{reply}");
}

#[tokio::test]
async fn a_session_without_a_turn_can_be_opened_again() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let mut stored = Vec::new();
    for method in ["session/load", "session/resume", "session/fork"] {
        let opened = open(&mut editor).await;
        let again =
            json!({ "sessionId": opened["sessionId"], "cwd": editor.work(), "mcpServers": [] });
        let reply = editor.request(method, again.clone()).await;
        assert!(reply["result"]["modes"].is_object(), "{method}: {reply}");
        let closed = open(&mut editor).await;
        let close = json!({ "sessionId": closed["sessionId"] });
        let reply = editor.request("session/close", close).await;
        assert_eq!(reply["result"], json!({}), "{method}");
        let mut closed_again = again;
        closed_again["sessionId"] = closed["sessionId"].clone();
        let reply = editor.request(method, closed_again.clone()).await;
        assert!(
            reply["result"]["modes"].is_object(),
            "closed, {method}: {reply}"
        );
        stored.push((method, closed_again));
    }
    let (_, home) = editor.close().await;
    let mut editor = Editor::start_in(home, "hello.toml");
    editor.initialize(json!({})).await;
    for (method, again) in stored {
        let reply = editor.request(method, again.clone()).await;
        assert!(
            reply["result"]["modes"].is_object(),
            "later, {method}: {reply}"
        );
        let session = again["sessionId"].as_str().unwrap();
        if method != "session/fork" {
            let reply = editor.prompt(session, "hi").await;
            assert_eq!(
                reply["result"]["stopReason"], "end_turn",
                "{method}: {reply}"
            );
        }
    }
}

#[tokio::test]
async fn first_message_is_title_without_name() {
    let mut editor = Editor::start("hello.toml", json!({})).await;
    let opened = open(&mut editor).await;
    let session = opened["sessionId"].as_str().unwrap();
    editor.prompt(session, "say hello\nto all").await;
    let titles = editor.of_kind("session_info_update");
    assert_eq!(titles.len(), 1, "{titles:?}");
    assert_eq!(titles[0]["title"], "say hello");
    assert!(titles[0]["updatedAt"].is_string());
    editor.prompt(session, "again").await;
    assert_eq!(editor.of_kind("session_info_update").len(), 1);
    let fork = json!({ "sessionId": session, "cwd": editor.work(), "mcpServers": [] });
    editor.request("session/fork", fork).await;
    assert_eq!(
        editor.update("session_info_update").await["title"],
        "say hello"
    );
    let named = open(&mut editor).await;
    let name = json!({ "sessionId": named["sessionId"], "title": "mine" });
    editor.request("session/set_title", name).await;
    editor.updates.clear();
    editor
        .prompt(named["sessionId"].as_str().unwrap(), "hi")
        .await;
    let titles = editor.of_kind("session_info_update");
    assert!(
        titles.iter().all(|update| update["title"] == "mine"),
        "{titles:?}"
    );
}
