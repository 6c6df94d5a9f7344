//! `codex debug trace-replay` of sessions with agents, scripts and stored threads: what only happened in another order, or is
//! described otherwise, is no difference.

use std::fs;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use serde_json::{Value, json};

use crate::hooks::answer_with;
use crate::mcp_process::configured;
use crate::setup::{home_with, scripted_config, server_in};
use crate::trace_record::{TraceBundle, Traced, bundles, message_item, response};
use crate::trace_replay::{check, replay};

/// The bundle of a session with these settings and replies of the model to the root and to its agent.
async fn session_with_agent(
    settings: &str,
    root: Vec<HttpReply>,
    agent: Vec<HttpReply>,
    rest: impl AsyncFnOnce(&mut AppServer, &Value),
) -> (TraceBundle, tempfile::TempDir) {
    let model = ModelServer::start(root).await.unwrap();
    for reply in agent {
        model.push_for_agent(reply);
    }
    let home = home_with(&scripted_config(&model, settings));
    let root = home.path().join("deep/traces");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    let thread = server.start_thread_with(asking()).await;
    server.start_turn(&thread, "go").await;
    let request = asked_and_ended(&mut server).await;
    rest(&mut server, &request).await;
    server.finish().await.unwrap();
    let bundle = bundles(home.path()).remove(&thread).unwrap();
    (bundle, home)
}

/// Waits for the question of the agent and for the end of its parent's turn, which come in any order.
async fn asked_and_ended(server: &mut AppServer) -> Value {
    let (mut request, mut has_ended) = (Value::Null, false);
    while request.is_null() || !has_ended {
        let message = server.receive().await.unwrap();
        has_ended |= message["method"] == "turn/completed";
        if message["method"] == "item/commandExecution/requestApproval" {
            request = message;
        }
    }
    request
}

fn calls(call: &str, tool: &str, arguments: &Value) -> HttpReply {
    HttpReply::stream(&sse::items(&[sse::function_call(call, tool, arguments)]))
}

const AGENTS: &str = "[features]\nmulti_agent = true\n";

/// The parameters of a thread whose commands are asked about.
fn asking() -> Value {
    json!({ "approvalPolicy": "untrusted", "sandbox": "read-only" })
}

/// The person interrupts the agent, not a tool of its parent.
#[tokio::test]
async fn agent_that_a_person_interrupts_is_interrupted_again() {
    let (bundle, _home) = session_with_agent(
        AGENTS,
        vec![
            calls("c1", "spawn_agent", &json!({ "message": "touch it" })),
            answer_with("started"),
        ],
        vec![calls(
            "a1",
            "shell_command",
            &json!({ "command": "touch x" }),
        )],
        async |server, request| {
            let agent = &request["params"]["threadId"];
            let turn = &request["params"]["turnId"];
            let params = json!({ "threadId": agent, "turnId": turn });
            server.result("turn/interrupt", params).await;
            server.wait_for("turn/completed").await.unwrap();
        },
    )
    .await;
    bundle.replay();
}

/// The agent is closed when its response has come and its command waits for a person.
#[tokio::test]
async fn replay_reaches_the_open_approval_of_a_closed_agent() {
    let model = ModelServer::start(Vec::<HttpReply>::new()).await.unwrap();
    let home = home_with(&scripted_config(&model, AGENTS));
    model.push(calls(
        "c1",
        "spawn_agent",
        &json!({ "message": "touch it" }),
    ));
    model.push_for_agent(calls(
        "a1",
        "shell_command",
        &json!({ "command": "touch x" }),
    ));
    let root = home.path().join("deep/traces");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    let thread = server.start_thread_with(asking()).await;
    model.push(answer_with("started"));
    server.start_turn(&thread, "go").await;
    let request = asked_and_ended(&mut server).await;
    let agent = &request["params"]["threadId"];
    model.push(calls("c2", "close_agent", &json!({ "id": agent })));
    model.push(answer_with("closed"));
    server.run_turn(&thread, "close it").await;
    server.finish().await.unwrap();
    bundles(home.path()).remove(&thread).unwrap().replay();
}

/// The parent's request for the notice of an agent may be recorded before the end of the agent's turn.
#[tokio::test]
async fn events_of_one_millisecond_may_come_in_either_order() {
    let model = ModelServer::start([
        calls("c1", "spawn_agent", &json!({ "message": "say it" })),
        answer_with("started"),
        answer_with("again"),
    ])
    .await
    .unwrap();
    model.push_for_agent(answer_with("said"));
    let home = home_with(&scripted_config(&model, "[features]\nmulti_agent = true\n"));
    let root = home.path().join("deep/traces");
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    for _ in 0..2 {
        server.wait_for("turn/completed").await.unwrap();
    }
    server.run_turn(&thread, "again").await;
    server.finish().await.unwrap();
    let bundle = bundles(home.path()).remove(&thread).unwrap();
    bundle.replay();
    exchange_notice_and_turn_end(&bundle);
    let began = std::time::Instant::now();
    // Four requests, or five if the agent ends after the turn that started it.
    check(&replay(&bundle.0, &[]), 0, &[": same, "]);
    assert!(began.elapsed().as_secs() < 8, "{:?}", began.elapsed());
}

/// Puts what the parent does with the notice of its agent before the end of the agent's turn, at the same time.
fn exchange_notice_and_turn_end(bundle: &TraceBundle) {
    let mut events = bundle.events();
    let root = bundle.manifest()["root_thread_id"].clone();
    let is_end = |event: &Value| {
        event["payload"]["type"] == "codex_turn_ended" && event["thread_id"] != root
    };
    let end = events.iter().position(is_end).unwrap();
    let is_taking = |event: &Value| event["payload"]["event_type"] == "session_inputs_taken";
    let taking = events.iter().skip(end).position(is_taking).unwrap() + end;
    let ended = events.remove(end);
    events.insert(taking, ended);
    let time = events[taking]["wall_time_unix_ms"].clone();
    let mut log = String::new();
    for (number, event) in events.iter_mut().enumerate() {
        if (end..=taking).contains(&number) {
            event["wall_time_unix_ms"] = time.clone();
        }
        event["seq"] = json!(number + 1);
        event.as_object_mut().unwrap().remove("xxh3");
        log.push_str(&format!("{event}\n"));
    }
    fs::write(bundle.0.join("trace.jsonl"), log).unwrap();
}

/// Scripts and MCP servers together, with the tools beside `exec` and in its description.
#[tokio::test]
async fn tools_of_servers_are_described_to_scripts_once() {
    for features in [
        "code_mode = true",
        "code_mode = true\ncode_mode_only = true",
    ] {
        let model = ModelServer::start([
            HttpReply::stream(&sse::items(&[sse::custom_call("c1", "exec", "text(1)")])),
            answer_with("done"),
        ])
        .await
        .unwrap();
        let settings = format!(
            "{}[features]\n{features}\n",
            configured("words", &json!({}), "")
        );
        let home = home_with(&scripted_config(&model, &settings));
        let root = home.path().join("deep/traces");
        let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
        let mut server = server_in(&home, &variables).await;
        let thread = server.start_thread().await;
        server.run_turn(&thread, "go").await;
        server.finish().await.unwrap();
        let tools = model.requests()[0].json()["tools"].to_string();
        assert!(tools.contains("mcp__words__"), "{tools}");
        bundles(home.path()).remove(&thread).unwrap().replay();
    }
}

#[tokio::test]
async fn replay_fails_if_a_stored_thread_ignores_changed_settings() {
    let mut traced = Traced::start(&[response(&[message_item("one")])]).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let Traced {
        server,
        model,
        home,
    } = traced;
    server.finish().await.unwrap();
    let root = home.path().join("deep/traces");
    fs::remove_dir_all(&root).unwrap();
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    server
        .result("thread/resume", json!({ "threadId": thread }))
        .await;
    server.run_turn(&thread, "go on").await;
    server.finish().await.unwrap();
    assert_eq!(model.requests().len(), 2);
    let bundle = bundles(home.path()).remove(&thread).unwrap();
    bundle.replay();
    let change = ["-c", "developer_instructions=\"Be brief.\""];
    check(
        &replay(&bundle.0, &change),
        4,
        &["keeps the context that it began with"],
    );
}

#[tokio::test]
async fn replay_answers_two_calls_of_one_id_as_recorded() {
    let call =
        |command: &str| sse::function_call("same", "exec_command", &json!({ "cmd": command }));
    let plan = sse::function_call("same", "update_plan", &json!({ "plan": [] }));
    let calls = [call("sleep 0.2; echo one"), plan, call("echo two")];
    let replies = [response(&calls), response(&[call("echo three")])];
    let mut traced = Traced::start(&replies).await;
    let thread = traced.thread().await;
    traced.turn(&thread).await;
    let (bundles, _home) = traced.finish().await;
    bundles[&thread].replay();
}
