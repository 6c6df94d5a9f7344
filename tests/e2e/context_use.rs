//! `thread/context/read`, `codex exec --context`: what fills the context of a thread.

use std::fs;

use codex_test_support::{AppServer, HttpReply, Latch, ModelServer, sse};
use serde_json::{Value, json};

use crate::exec::ExecFolders;
use crate::newer_requests::ScriptedThread;
use crate::setup::{experimental_server, numbered, scripted_home};
use crate::soak::message;

/// The events of a response for whose input the server counts these tokens.
fn counted(mut events: Vec<Value>, input: u64, cached: u64) -> String {
    for event in &mut events {
        if event["response"]["usage"].is_object() {
            event["response"]["usage"] = json!({
                "input_tokens": input, "input_tokens_details": { "cached_tokens": cached },
                "output_tokens": 5, "output_tokens_details": null, "total_tokens": input + 5,
            });
        }
    }
    sse::frames(&events)
}

async fn context(server: &mut AppServer, thread: &Value) -> Value {
    let params = json!({ "threadId": thread });
    server.result("thread/context/read", params).await
}

fn part<'a>(read: &'a Value, kind: &str) -> &'a Value {
    let parts = read["parts"].as_array().unwrap();
    let found = parts.iter().find(|part| part["kind"] == kind);
    found.unwrap_or(&Value::Null)
}

fn tokens(read: &Value, kind: &str) -> u64 {
    part(read, kind)["tokens"].as_u64().unwrap_or(0)
}

#[tokio::test]
async fn context_parts_survive_restart() {
    let model = ModelServer::start([]).await.unwrap();
    let home = scripted_home(&model, "");
    fs::write(home.path().join("AGENTS.md"), "Be brief. ".repeat(100)).unwrap();
    let mut server = experimental_server(&home).await;
    let started = server.result("thread/start", json!({})).await;
    let thread = started["thread"]["id"].clone();
    let before = context(&mut server, &thread).await;
    assert!(tokens(&before, "instructions") > 100, "{before}");
    assert!(tokens(&before, "tools") > 100, "{before}");
    assert_eq!(before["lastInputTokens"], Value::Null);
    let command = json!({ "command": "echo '<memories>'; seq 1 500" });
    let called = sse::items(&[sse::function_call("c", "shell_command", &command)]);
    model.push(HttpReply::stream(&numbered(called)));
    model.push(message(1, "done"));
    let pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let input =
        json!([{ "type": "text", "text": "go ".repeat(200) }, { "type": "image", "url": pixel }]);
    let params = json!({ "threadId": thread, "input": input });
    server.result("turn/start", params).await;
    server.completed_turn().await;
    let live = context(&mut server, &thread).await;
    for kind in [
        "projectInstructions",
        "userMessages",
        "agentMessages",
        "toolCalls",
        "toolOutputs",
        "settings",
    ] {
        assert!(tokens(&live, kind) > 0, "{kind}: {live}");
    }
    assert_eq!(part(&live, "memories"), &Value::Null);
    assert!(live["lastInputTokens"].is_u64(), "{live}");
    let sum: u64 = live["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(live["tokens"], sum);
    let tools = live["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == "exec_command"),
        "{live}"
    );
    server.finish().await.unwrap();
    let mut server = experimental_server(&home).await;
    let refused = server
        .call("thread/context/read", json!({ "threadId": thread }))
        .await
        .unwrap();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    server
        .result("thread/resume", json!({ "threadId": thread }))
        .await;
    assert_eq!(context(&mut server, &thread).await, live);
    let forked = server
        .result("thread/fork", json!({ "threadId": thread }))
        .await;
    let fork = forked["thread"]["id"].clone();
    assert_eq!(context(&mut server, &fork).await["parts"], live["parts"]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn context_use_is_reported_during_turns() {
    let latch = Latch::new();
    let stream = HttpReply::status(200).header("content-type", "text/event-stream");
    let answer = counted(sse::text("one"), 4000, 1000);
    let replies = [stream.wait(&latch).body(answer)];
    let mut scripted = ScriptedThread::start(replies, json!({ "ephemeral": true })).await;
    let input = json!({ "input": [{ "type": "text", "text": "hello ".repeat(100) }] });
    scripted.call("turn/start", input).await;
    latch.reached().await;
    let read = scripted.call("thread/context/read", json!({})).await;
    let running = &read["result"];
    assert!(tokens(running, "userMessages") > 100, "{read}");
    assert_eq!(part(running, "agentMessages"), &Value::Null);
    latch.open();
    scripted.server.wait_for("turn/completed").await.unwrap();
    let read = scripted.call("thread/context/read", json!({})).await;
    let read = &read["result"];
    assert!(tokens(read, "agentMessages") > 0, "{read}");
    assert_eq!(read["lastInputTokens"], 4000);
    assert_eq!(read["lastCachedTokens"], 1000);
    let parts = read["parts"].as_array().unwrap();
    let cached = parts
        .iter()
        .map(|part| part["cachedTokens"].as_u64().unwrap());
    assert_eq!(cached.sum::<u64>(), 1000, "{read}");
    assert_eq!(part(read, "agentMessages")["cachedTokens"], 0);
    let total = read["tokens"].as_u64().unwrap();
    assert!((4000..4200).contains(&total), "{read}");
    scripted.server.finish().await.unwrap();
}

#[test]
fn exec_reports_context_use_as_an_event() {
    let folders = ExecFolders::new();
    let hello = crate::exec::scenario("hello.toml");
    let plain = folders.exec(&["--json", "--scenario", &hello, "hi"]);
    let shown = folders.exec(&["--json", "--context", "--scenario", &hello, "hi"]);
    let events = |output: &[u8]| -> Vec<Value> {
        let text = std::str::from_utf8(output).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let is_context = |event: &Value| event["type"] == "thread.context";
    assert!(!events(&plain.stdout).iter().any(is_context));
    let all = events(&shown.stdout);
    let event = all.iter().find(|event| is_context(event)).unwrap();
    assert!(tokens(&event["context"], "tools") > 100, "{event}");
    let told = folders.exec(&["--context", "--scenario", &hello, "hi"]);
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("Tools: "), "{told}");
}
