//! Hooks that are tools of MCP servers.

use std::fs;

use codex_test_support::ModelServer;
use serde_json::{Value, json};

use crate::hooks::{Hooked, answer_with, home_with, runs_command};
use crate::mcp_process::configured;

/// A thread with a scripted MCP server, and a hook of an event that calls its tool `echo`.
async fn hooked(event: &str, tool: &Value) -> Hooked {
    let replies = [runs_command("echo hi"), answer_with("done")];
    let model = ModelServer::start(replies).await.unwrap();
    let mut handler = json!({ "type": "mcp_tool", "server": "scripted", "tool": "echo" });
    for (key, value) in tool.as_object().unwrap() {
        handler[key] = value.clone();
    }
    let home = home_with(&model, &json!({ event: [{ "hooks": [handler] }] }));
    let file = home.path().join("config.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(file, config + &configured("scripted", &json!({}), "")).unwrap();
    Hooked::start(model, home).await
}

#[tokio::test]
async fn a_tool_can_object_to_a_call() {
    let verdict = json!({ "decision": "block", "reason": "not ${tool_input.command}" });
    let input = json!({ "text": verdict.to_string() });
    let mut hooked = hooked("PreToolUse", &json!({ "input": input })).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(turn.runs(), ["preToolUse blocked feedback:not echo hi"]);
    let run = &turn.params("hook/started").next().unwrap()["run"];
    assert_eq!(run["handlerType"], "mcpTool");
    let sent = hooked.sent(1);
    assert!(
        sent.contains("Command blocked by PreToolUse hook: not echo hi."),
        "{sent}"
    );
    hooked.finish().await;
}

#[tokio::test]
async fn the_text_of_a_tool_is_context() {
    let input = json!({ "text": "about ${prompt}" });
    let mut hooked = hooked("UserPromptSubmit", &json!({ "input": input })).await;
    let turn = hooked.turn("hello").await;
    assert_eq!(
        turn.runs(),
        ["userPromptSubmit completed context:about hello"]
    );
    assert!(hooked.sent(0).contains("about hello"));
    hooked.finish().await;
}

#[tokio::test]
async fn uncallable_tool_fails_the_run() {
    for (tool, problem) in [
        (json!({ "server": "none" }), "unknown MCP server 'none'"),
        (
            json!({ "input": { "text": "${none}" } }),
            "hook input placeholder `${none}` was not found",
        ),
    ] {
        let mut failing = hooked("PreToolUse", &tool).await;
        let turn = failing.turn("hello").await;
        assert_eq!(turn.runs(), [format!("preToolUse failed error:{problem}")]);
        assert!(turn.items().contains(&"commandExecution"));
        failing.finish().await;
        let mut required = tool.clone();
        required["onError"] = "block".into();
        let mut blocking = hooked("PreToolUse", &required).await;
        let turn = blocking.turn("hello").await;
        assert_eq!(turn.runs(), [format!("preToolUse blocked error:{problem}")]);
        assert!(!turn.items().contains(&"commandExecution"));
        blocking.finish().await;
    }
}

#[tokio::test]
async fn a_tool_is_listed_without_a_command() {
    let mut hooked = hooked("PreToolUse", &json!({})).await;
    let params = json!({ "cwds": [hooked.home.path()] });
    let listed = hooked.server.result("hooks/list", params).await;
    let hook = &listed["data"][0]["hooks"][0];
    assert_eq!(hook["handlerType"], "mcpTool");
    assert_eq!(
        (&hook["server"], &hook["tool"]),
        (&json!("scripted"), &json!("echo"))
    );
    assert_eq!(hook.get("command"), None);
    hooked.turn("hello").await;
    hooked.finish().await;
}
