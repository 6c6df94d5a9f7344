//! Requests begin with the bytes of earlier ones, so that providers need not read them again.

use codex_test_support::{AppServer, HttpReply, ModelServer, ReceivedRequest, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{call, until_both_ended};
use crate::setup::{experimental_server, home_with, numbered, scripted_config};

async fn started(settings: &str) -> (ModelServer, TempDir, AppServer) {
    let model = ModelServer::start([]).await.unwrap();
    model.always(HttpReply::stream(&sse::text("done")));
    let settings = format!("approval_policy = \"never\"\n{settings}");
    let home = home_with(&scripted_config(&model, &settings));
    let server = experimental_server(&home).await;
    (model, home, server)
}

fn body(request: &ReceivedRequest) -> String {
    String::from_utf8(request.body.clone()).unwrap()
}

/// The bytes of the body between two members.
fn between(body: &str, from: &str, to: &str) -> String {
    let start = body.find(from).unwrap();
    let end = start + body[start..].find(to).unwrap();
    body[start..end].to_owned()
}

fn tools(request: &ReceivedRequest) -> String {
    between(&body(request), "\"tools\":", ",\"tool_choice\"")
}

fn instructions(request: &ReceivedRequest) -> String {
    between(&body(request), "\"instructions\":", ",\"input\"")
}

/// The input without its closing bracket.
fn input(request: &ReceivedRequest) -> String {
    between(&body(request), ",\"input\":[", "],\"tools\":")
}

async fn turn(server: &mut AppServer, thread: &str, more: &Value) {
    let mut params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    let members = more.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(members);
    server.result("turn/start", params).await;
    server.completed_turn().await;
}

#[tokio::test]
async fn more_access_changes_no_tool() {
    let (model, _home, mut server) = started("sandbox_mode = \"read-only\"").await;
    let thread = server.start_thread().await;
    let policies = [
        "readOnly",
        "dangerFullAccess",
        "workspaceWrite",
        "dangerFullAccess",
    ];
    for policy in policies {
        let policy = json!({ "sandboxPolicy": { "type": policy } });
        turn(&mut server, &thread, &policy).await;
    }
    let requests = model.requests();
    assert_eq!(requests.len(), policies.len());
    let first = tools(&requests[0]);
    assert!(first.contains("\"external_web_access\":false"), "{first}");
    for pair in requests.windows(2) {
        assert_eq!(tools(&pair[1]), first);
        assert_eq!(instructions(&pair[1]), instructions(&pair[0]));
        assert!(input(&pair[1]).starts_with(&input(&pair[0])));
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn reduced_access_disables_live_searches_permanently() {
    let (model, home, mut server) = started("sandbox_mode = \"danger-full-access\"").await;
    let thread = server.start_thread().await;
    let under = |policy: &str| json!({ "sandboxPolicy": { "type": policy } });
    turn(&mut server, &thread, &under("dangerFullAccess")).await;
    turn(&mut server, &thread, &under("readOnly")).await;
    turn(&mut server, &thread, &under("dangerFullAccess")).await;
    server.finish().await.unwrap();
    let mut server = experimental_server(&home).await;
    let resumed = json!({ "threadId": thread });
    server.result("thread/resume", resumed).await;
    turn(&mut server, &thread, &under("dangerFullAccess")).await;
    let live = model
        .requests()
        .into_iter()
        .map(|request| tools(&request).contains("\"external_web_access\":true"));
    assert_eq!(live.collect::<Vec<_>>(), [true, false, false, false]);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn compaction_begins_like_the_turn_before_it() {
    let (model, _home, mut server) = started("sandbox_mode = \"read-only\"").await;
    let thread = server.start_thread().await;
    turn(&mut server, &thread, &json!({})).await;
    let compact = json!({ "threadId": thread });
    server.result("thread/compact/start", compact).await;
    server.completed_turn().await;
    let requests = model.requests();
    let [turn, compaction] = &requests[..] else {
        panic!("{requests:?}");
    };
    assert_eq!(tools(compaction), tools(turn));
    assert_eq!(instructions(compaction), instructions(turn));
    assert!(input(compaction).starts_with(&input(turn)));
    assert_eq!(compaction.json()["tool_choice"], "none");
    assert_eq!(turn.json()["tool_choice"], "auto");
    server.finish().await.unwrap();
}

/// The output of the only call in a request.
fn output(request: &ReceivedRequest) -> String {
    let sent = request.json();
    let items = sent["input"].as_array().unwrap();
    let is_output = |item: &&Value| item["type"] == "function_call_output";
    let output = items.iter().find(is_output).unwrap();
    output["output"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn outputs_stay_as_they_were_sent_under_another_model() {
    let (model, home, mut server) = started("sandbox_mode = \"danger-full-access\"").await;
    let thread = server.start_thread().await;
    let long = json!({ "command": "seq 1 6000" });
    let called = sse::items(&[sse::function_call("c", "shell_command", &long)]);
    model.push(HttpReply::stream(&numbered(called)));
    // Its outputs may be four times as long as those of a model that nobody knows.
    turn(&mut server, &thread, &json!({ "model": "gpt-5.5" })).await;
    server.finish().await.unwrap();
    let sent = output(model.requests().last().unwrap());
    assert!(sent.len() > 20_000, "{}", sent.len());
    let mut server = experimental_server(&home).await;
    let resumed = json!({ "threadId": thread, "model": "scripted" });
    server.result("thread/resume", resumed).await;
    turn(&mut server, &thread, &json!({ "model": "scripted" })).await;
    assert_eq!(output(model.requests().last().unwrap()), sent);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn forks_and_agents_have_the_cache_of_their_root() {
    let (model, home, mut server) = started("sandbox_mode = \"danger-full-access\"").await;
    let thread = server.start_thread().await;
    turn(&mut server, &thread, &json!({})).await;
    let fork = json!({ "threadId": thread });
    let forked = server.result("thread/fork", fork).await;
    let forked = forked["thread"]["id"].as_str().unwrap().to_owned();
    turn(&mut server, &forked, &json!({})).await;
    server.finish().await.unwrap();
    // Also after a restart, and of a fork of the fork.
    let mut server = experimental_server(&home).await;
    let fork = json!({ "threadId": forked });
    let again = server.result("thread/fork", fork).await;
    let again = again["thread"]["id"].as_str().unwrap().to_owned();
    model.push(call("spawn_agent", &json!({ "message": "make it" })));
    let start = json!({ "threadId": again, "input": [{ "type": "text", "text": "go" }] });
    server.result("turn/start", start).await;
    until_both_ended(&mut server).await;
    let requests = model.requests();
    assert!(
        requests
            .iter()
            .any(|request| request.header("x-openai-subagent").is_some())
    );
    for request in &requests {
        assert_eq!(request.json()["prompt_cache_key"], json!(thread));
    }
    let threads = requests.iter().map(|request| request.header("session_id"));
    let threads: std::collections::BTreeSet<_> = threads.collect();
    assert_eq!(threads.len(), 4);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn changed_instructions_come_at_the_end() {
    let (model, home, mut server) = started("sandbox_mode = \"read-only\"").await;
    let work = tempfile::tempdir().unwrap();
    std::fs::create_dir(work.path().join(".git")).unwrap();
    let file = work.path().join("AGENTS.md");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write("be kind");
    let params = json!({ "cwd": work.path() });
    let thread = server.start_thread_with(params).await;
    turn(&mut server, &thread, &json!({})).await;
    turn(&mut server, &thread, &json!({})).await;
    write("be quick");
    turn(&mut server, &thread, &json!({})).await;
    turn(&mut server, &thread, &json!({})).await;
    server.finish().await.unwrap();
    // Also while no server runs.
    write("be both");
    let mut server = experimental_server(&home).await;
    let resumed = json!({ "threadId": thread });
    server.result("thread/resume", resumed.clone()).await;
    turn(&mut server, &thread, &json!({})).await;
    std::fs::remove_file(&file).unwrap();
    turn(&mut server, &thread, &json!({})).await;
    turn(&mut server, &thread, &json!({})).await;
    server.finish().await.unwrap();
    let requests = model.requests();
    for pair in requests.windows(2) {
        assert!(input(&pair[1]).starts_with(&input(&pair[0])));
    }
    let told = |text: &str| -> Vec<usize> {
        let counted = requests
            .iter()
            .map(|request| input(request).matches(text).count());
        counted.collect()
    };
    assert_eq!(told("be kind"), [1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(told("be quick"), [0, 0, 1, 1, 1, 1, 1]);
    assert_eq!(told("be both"), [0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(told("There are none any more."), [0, 0, 0, 0, 0, 1, 1]);
    // Messages of people are shown, and these are none.
    let mut server = experimental_server(&home).await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    assert!(!read.to_string().contains("be quick"), "{read}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn instruction_changes_are_not_reported_if_switched_off() {
    let (model, home, mut server) = started("project_doc_follow_changes = false").await;
    let file = home.path().join("AGENTS.md");
    std::fs::write(&file, "be kind").unwrap();
    let thread = server.start_thread().await;
    turn(&mut server, &thread, &json!({})).await;
    std::fs::write(&file, "be quick").unwrap();
    turn(&mut server, &thread, &json!({})).await;
    assert!(!input(&model.requests()[1]).contains("be quick"));
    server.finish().await.unwrap();
}

#[tokio::test]
async fn instructions_of_entered_folders_come_at_the_end() {
    let (model, home, mut server) = started("sandbox_mode = \"read-only\"").await;
    let work = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let file = work.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    std::fs::create_dir(work.path().join(".git")).unwrap();
    write("AGENTS.md", "be kind");
    write("a/AGENTS.md", "be brief");
    write("a/b/AGENTS.md", "be exact");
    write("c/AGENTS.md", "be elsewhere");
    write("node_modules/p/AGENTS.md", "be a package");
    write("other/AGENTS.md", "be another project");
    std::fs::create_dir(work.path().join("other/.git")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("AGENTS.md"), "be outside").unwrap();
    std::os::unix::fs::symlink(outside.path(), work.path().join("link")).unwrap();
    let reads = || {
        let script = "cat a/b/x node_modules/p/x other/x link/x ../x";
        call("exec_command", &json!({ "cmd": script }))
    };
    let params = json!({ "cwd": work.path() });
    let thread = server.start_thread_with(params).await;
    turn(&mut server, &thread, &json!({})).await;
    for _ in 0..2 {
        model.push(reads());
        turn(&mut server, &thread, &json!({})).await;
    }
    write("a/AGENTS.md", "be quick");
    server.finish().await.unwrap();
    let mut server = experimental_server(&home).await;
    let resumed = json!({ "threadId": thread });
    server.result("thread/resume", resumed).await;
    model.push(reads());
    turn(&mut server, &thread, &json!({})).await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = server.result("thread/read", read).await;
    assert!(!read.to_string().contains("be quick"), "{read}");
    server.finish().await.unwrap();
    let requests = model.requests();
    for pair in requests.windows(2) {
        assert!(input(&pair[1]).starts_with(&input(&pair[0])));
    }
    let told = |text: &str| -> Vec<usize> {
        let counted = requests
            .iter()
            .map(|request| input(request).matches(text).count());
        counted.collect()
    };
    assert_eq!(told("be kind"), [1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(told("be brief"), [0, 0, 1, 1, 1, 1, 1]);
    assert_eq!(told("be exact"), [0, 0, 1, 1, 1, 1, 1]);
    assert_eq!(told("be quick"), [0, 0, 0, 0, 0, 0, 1]);
    for left_out in ["elsewhere", "a package", "another project", "outside"] {
        assert_eq!(told(&format!("be {left_out}")), [0; 7]);
    }
}
