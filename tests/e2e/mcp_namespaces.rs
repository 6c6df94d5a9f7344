//! Tools of MCP servers in the namespaces of their servers, as newer releases offer and call them.

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_process::configured;
use crate::mcp_servers::text_reply;
use crate::newer_threads::newer_server;
use crate::setup::{PROGRAM, server, untrusted_home};

fn calls_in_namespace(tool: &str) -> HttpReply {
    let mut call = sse::function_call("call", tool, &json!({ "text": "hi" }));
    call["namespace"] = "mcp__my_server".into();
    HttpReply::stream(&sse::items(&[call]))
}

async fn model_and_home(call: HttpReply) -> (ModelServer, TempDir) {
    let model = ModelServer::start([call, text_reply("done")])
        .await
        .unwrap();
    let home = untrusted_home(&model);
    let file = home.path().join("config.toml");
    let log = home.path().join("log");
    let settings = std::fs::read_to_string(&file).unwrap()
        + &configured("my-server", &json!({ "log": log }), "");
    std::fs::write(file, settings).unwrap();
    (model, home)
}

/// Runs a turn, and returns the item of its call.
async fn called(mut server: AppServer) -> Value {
    let params = json!({ "approvalPolicy": "never", "sandbox": "danger-full-access" });
    let thread = server.start_thread_with(params).await;
    let turn = server.run_turn(&thread, "go").await;
    server.finish().await.unwrap();
    let items = turn["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["type"] == "mcpToolCall");
    item.unwrap_or_else(|| panic!("{turn}")).clone()
}

async fn offered(model: &ModelServer) -> Vec<Value> {
    let tools = model.request(0).await.json()["tools"].take();
    let all = tools.as_array().unwrap().iter();
    let is_of_server = |tool: &&Value| {
        tool["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("mcp__"))
    };
    all.filter(is_of_server).cloned().collect()
}

#[tokio::test]
async fn newer_clients_have_tools_offered_and_called_in_namespaces() {
    let (model, home) = model_and_home(calls_in_namespace("echo")).await;
    let item = called(newer_server(&home).await).await;
    assert_eq!(
        (&item["server"], &item["tool"]),
        (&json!("my-server"), &json!("echo"))
    );
    assert_eq!(item["status"], "completed");
    let offered = offered(&model).await;
    let [namespace] = &offered[..] else {
        panic!("{offered:?}")
    };
    assert_eq!(
        (&namespace["type"], &namespace["name"]),
        (&json!("namespace"), &json!("mcp__my_server"))
    );
    let tools = namespace["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(
        (&echo["type"], &echo["description"]),
        (&json!("function"), &json!("A tool."))
    );
    // The call goes back to the model as it came.
    let input = model.request(1).await.json()["input"].take();
    let call = input
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["type"] == "function_call");
    let call = call.unwrap();
    assert_eq!(
        (&call["namespace"], &call["name"]),
        (&json!("mcp__my_server"), &json!("echo"))
    );
}

#[tokio::test]
async fn namespaced_call_finds_a_plain_tool() {
    let (model, home) = model_and_home(calls_in_namespace("echo")).await;
    let item = called(server(&home).await).await;
    assert_eq!(
        (&item["tool"], &item["status"]),
        (&json!("echo"), &json!("completed"))
    );
    let offered = offered(&model).await;
    assert!(
        offered
            .iter()
            .any(|tool| tool["name"] == "mcp__my_server__echo")
    );
}

#[tokio::test]
async fn full_name_finds_a_namespaced_tool() {
    let call = sse::function_call("call", "mcp__my_server__echo", &json!({ "text": "hi" }));
    let call = HttpReply::stream(&sse::items(&[call]));
    let (_model, home) = model_and_home(call).await;
    let item = called(newer_server(&home).await).await;
    assert_eq!(
        (&item["tool"], &item["status"]),
        (&json!("echo"), &json!("completed"))
    );
}

/// Other servers than the hosted service may refuse namespaces, also those that stand in its place.
#[tokio::test(flavor = "multi_thread")]
async fn exec_sends_no_namespaces_to_other_servers() {
    for settings in ["", "model_provider = \"openai\"\nmodel = \"gpt-5.4\""] {
        let (model, home) = model_and_home(text_reply("done")).await;
        let file = home.path().join("config.toml");
        let kept = std::fs::read_to_string(&file).unwrap();
        let kept: Vec<_> = (kept.lines())
            .filter(|line| settings.is_empty() || !line.starts_with("model"))
            .collect();
        let url = format!("openai_base_url = \"{}\"", model.base_url());
        let text = format!("{settings}\n{url}\n{}", kept.join("\n"));
        std::fs::write(&file, text).unwrap();
        let key = json!({ "OPENAI_API_KEY": "sk-test" });
        std::fs::write(home.path().join("auth.json"), key.to_string()).unwrap();
        let mut command = tokio::process::Command::new(PROGRAM);
        command
            .args(["exec", "--skip-git-repo-check", "go"])
            .current_dir(home.path())
            .env("HOME", home.path())
            .env("CODEX_HOME", home.path())
            .stdin(std::process::Stdio::null());
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        let offered = offered(&model).await;
        assert!(!offered.is_empty());
        assert!(
            offered.iter().all(|tool| tool["type"] == "function"),
            "{offered:?}"
        );
    }
}
