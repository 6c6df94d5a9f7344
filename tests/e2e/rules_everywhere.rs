//! A rule that forbids a command binds every model: that of the thread, of its agents, of the workers of jobs, of the
//! reviewer of approvals, of the agents that make memories, and of a session that runs again. A rule that allows a command lifts the sandbox of the thread and its agents alone.

use std::fs;
use std::path::Path;

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent_jobs::item_of;
use crate::codex;
use crate::memories::{home_with_idle_thread, note, until_consolidated};
use crate::setup::{experimental_server, home_with, numbered, scripted_config, server_in};
use crate::trace_record::bundles;

const RULES: &str = "prefix_rule([\"head\"], \"forbidden\")\nprefix_rule([\"touch\"], \"allow\")\n";
const REFUSAL: &str = "policy forbids commands starting with";

fn write_rules(home: &Path) {
    let folder = home.join("rules");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("default.rules"), RULES).unwrap();
}

/// A call that is forbidden, and one that would write a file if a rule lifted the sandbox.
fn calls(home: &TempDir) -> HttpReply {
    let command = |id: &str, script: String| {
        sse::function_call(id, "exec_command", &json!({ "cmd": script }))
    };
    let reads = command("reads", "head -c 3 /etc/passwd".to_owned());
    let writes = command(
        "writes",
        format!("touch {}", home.path().join("touched").display()),
    );
    HttpReply::stream(&sse::items(&[reads, writes]))
}

fn text_reply(text: &str) -> HttpReply {
    HttpReply::stream(&numbered(sse::text(text)))
}

/// The output of the forbidden call, for whoever made it.
fn refused_output(model: &ModelServer) -> String {
    let mut outputs = model.requests().into_iter().filter_map(|request| {
        let body = request.json();
        let output = body["input"]
            .as_array()?
            .iter()
            .find(|item| item["type"] == "function_call_output" && item["call_id"] == "reads")?;
        Some(output["output"].to_string())
    });
    outputs.next_back().unwrap()
}

#[tokio::test]
async fn rules_bind_reviewer_within_its_sandbox() {
    let model = ModelServer::start([]).await.unwrap();
    let settings = "approval_policy = \"on-request\"\nsandbox_mode = \"read-only\"\n\
                    approvals_reviewer = \"guardian_subagent\"";
    let home = home_with(&scripted_config(&model, settings));
    write_rules(home.path());
    let asks = json!({ "cmd": "true > x", "sandbox_permissions": "require_escalated", "justification": "j" });
    let asks = sse::function_call("asks", "exec_command", &asks);
    model.push(HttpReply::stream(&sse::items(&[asks])));
    model.push(calls(&home));
    let verdict =
        json!({ "risk_level": "high", "risk_score": 99, "rationale": "because", "evidence": [] });
    model.push(text_reply(&verdict.to_string()));
    model.push(text_reply("done"));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.run_turn(&thread, "go").await;
    let refused = refused_output(&model);
    assert!(refused.contains(REFUSAL), "{refused}");
    assert!(!home.path().join("touched").exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn rules_that_forbid_bind_the_agent_that_consolidates_memories() {
    let model = ModelServer::start([text_reply("It is 8080.")])
        .await
        .unwrap();
    let (home, _) = home_with_idle_thread(&model, "which port?").await;
    write_rules(home.path());
    model.push_for_agent(note("The port is 8080."));
    model.push_for_agent(calls(&home));
    model.push_for_agent(text_reply("The files are up to date."));
    let mut server = experimental_server(&home).await;
    server.start_thread().await;
    until_consolidated(&mut server).await;
    let refused = refused_output(&model);
    assert!(refused.contains(REFUSAL), "{refused}");
    assert!(!home.path().join("touched").exists());
    server.finish().await.unwrap();
}

#[tokio::test]
async fn rules_that_forbid_bind_agents() {
    let model = ModelServer::start([]).await.unwrap();
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"read-only\"\n[features]\nmulti_agent = true\n";
    let home = home_with(&scripted_config(&model, settings));
    write_rules(home.path());
    let spawn = sse::function_call("spawn", "spawn_agent", &json!({ "message": "read" }));
    model.push(HttpReply::stream(&sse::items(&[spawn])));
    model.answer(move |request| {
        let body: Value = request.json();
        let spawned = body["input"]
            .as_array()?
            .iter()
            .find(|item| item["type"] == "function_call_output" && item["call_id"] == "spawn")?;
        if body["input"].to_string().contains("\"wait\"") {
            return None;
        }
        let output: Value = serde_json::from_str(spawned["output"].as_str()?).ok()?;
        let arguments = json!({ "targets": [output["agent_id"]], "timeout_ms": 30000 });
        let waits = sse::function_call("wait", "wait_agent", &arguments);
        Some(HttpReply::stream(&sse::items(&[waits])))
    });
    model.push_for_agent(calls(&home));
    model.push_for_agent(text_reply("read"));
    model.push(text_reply("done"));
    let mut server = experimental_server(&home).await;
    let thread = server.start_thread().await;
    server.start_turn(&thread, "go").await;
    let is_of_thread = |message: &Value| message["params"]["threadId"] == thread.as_str();
    while !is_of_thread(&server.wait_for("turn/completed").await.unwrap()) {}
    let refused = refused_output(&model);
    assert!(refused.contains(REFUSAL), "{refused}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn rules_that_forbid_bind_workers_of_jobs() {
    let model = ModelServer::start([]).await.unwrap();
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n\
                    [features]\nenable_fanout = true\n";
    let home = home_with(&scripted_config(&model, settings));
    write_rules(home.path());
    fs::write(home.path().join("in.csv"), "a\none\n").unwrap();
    model.answer(|request| {
        let label = request.header("x-openai-subagent")?.to_owned();
        let job = label.strip_prefix("agent_job:")?;
        let sent = request.json()["input"].to_string();
        if sent.contains("\"report\"") {
            return Some(HttpReply::stream(&sse::text("reported")));
        }
        if sent.contains("\"reads\"") {
            let (item, _) = item_of(request);
            let arguments = json!({ "job_id": job, "item_id": item, "result": {} });
            let report = sse::function_call("report", "report_agent_job_result", &arguments);
            return Some(HttpReply::stream(&sse::items(&[report])));
        }
        let reads = json!({ "cmd": "head -c 3 /etc/passwd" });
        let reads = sse::function_call("reads", "exec_command", &reads);
        Some(HttpReply::stream(&sse::items(&[reads])))
    });
    let job = json!({ "csv_path": "in.csv", "instruction": "look at {a}" });
    let job = sse::function_call("job", "spawn_agents_on_csv", &job);
    model.push(HttpReply::stream(&sse::items(&[job])));
    model.push(text_reply("done"));
    let mut server = experimental_server(&home).await;
    let thread = server
        .start_thread_with(json!({ "cwd": home.path() }))
        .await;
    server.start_turn(&thread, "go").await;
    let is_of_thread = |message: &Value| message["params"]["threadId"] == thread.as_str();
    while !is_of_thread(&server.wait_for("turn/completed").await.unwrap()) {}
    let refused = refused_output(&model);
    assert!(refused.contains(REFUSAL), "{refused}");
    server.finish().await.unwrap();
}

/// The rules of the recorded session, not those of the home where it runs again.
#[tokio::test]
async fn rules_that_forbid_bind_a_session_that_runs_again() {
    let model = ModelServer::start([]).await.unwrap();
    let settings = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"";
    let home = home_with(&scripted_config(&model, settings));
    write_rules(home.path());
    let reads = json!({ "cmd": "head -c 3 /etc/passwd" });
    let reads = sse::function_call("reads", "exec_command", &reads);
    model.push(HttpReply::stream(&sse::items(&[reads])));
    model.push(text_reply("done"));
    let (traces, folder) = (
        home.path().join("deep/traces"),
        tempfile::tempdir().unwrap(),
    );
    let variables = [("CODEX_ROLLOUT_TRACE_ROOT", traces.to_str().unwrap())];
    let mut server = server_in(&home, &variables).await;
    let params = json!({ "cwd": folder.path() });
    let thread = server.start_thread_with(params).await;
    server.run_turn(&thread, "go").await;
    server.finish().await.unwrap();
    assert!(refused_output(&model).contains(REFUSAL));
    let bundle = bundles(home.path()).remove(&thread).unwrap();
    bundle.replay();
    let bundle = bundle.0.to_str().unwrap();
    let again = codex(&["debug", "trace-replay", bundle, "--tools", "live"]);
    let printed = String::from_utf8_lossy(&again.stdout);
    assert_eq!(again.status.code(), Some(0), "{printed}");
}
