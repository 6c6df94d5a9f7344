//! Pipes in place of files: opening or reading one can wait for ever, which no request may.

use std::fs;
use std::path::Path;
use std::process::Command;

use codex_test_support::{AppServer, ModelServer};
use serde_json::{Value, json};

use crate::setup::{experimental_server, scripted_home};
use crate::threads::message_reply;

fn make_pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

async fn model() -> ModelServer {
    ModelServer::start([message_reply("m", "done")])
        .await
        .unwrap()
}

/// A new thread has a turn that completes.
async fn works(server: &mut AppServer, cwd: &str, mut input: Vec<Value>) {
    let thread = server.start_thread_with(json!({ "cwd": cwd })).await;
    input.push(json!({ "type": "text", "text": "go" }));
    let params = json!({ "threadId": thread, "input": input });
    server.call("turn/start", params).await.unwrap();
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed");
}

#[tokio::test]
async fn pipes_in_a_project_hold_nobody_up() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let work = home.path().join("work");
    for pipe in [
        ".codex/config.toml",
        ".git",
        ".gitignore",
        "AGENTS.md",
        "CLAUDE.md",
        ".claude/settings.json",
        ".agents/skills/one/agents/openai.yaml",
        ".agents/skills/two/data",
        "image.png",
    ] {
        make_pipe(&work.join(pipe));
    }
    for skill in ["one", "two"] {
        let text = format!("---\nname: {skill}\ndescription: None.\n---\n");
        fs::write(work.join(format!(".agents/skills/{skill}/SKILL.md")), text).unwrap();
    }
    let mut server = experimental_server(&home).await;
    for (method, params) in [
        ("skills/list", json!({ "cwds": [&work] })),
        ("externalAgentConfig/detect", json!({ "cwds": [&work] })),
        ("fuzzyFileSearch", json!({ "query": "x", "roots": [&work] })),
        ("gitDiffToRemote", json!({ "cwd": &work })),
    ] {
        server.call(method, params).await.unwrap();
    }
    let image = json!({ "type": "localImage", "path": work.join("image.png") });
    works(&mut server, "work", vec![image]).await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn pipes_in_the_home_folder_hold_nobody_up() {
    let model = model().await;
    let home = scripted_home(&model, "");
    for pipe in [
        ".env",
        "AGENTS.md",
        "auth.json",
        "history.jsonl",
        "models_cache.json",
        "session_index.jsonl",
        "skills/.system/.codex-system-skills.marker",
        "person/.gitconfig",
    ] {
        make_pipe(&home.path().join(pipe));
    }
    let mut server = experimental_server(&home).await;
    let params = json!({ "query": "x", "roots": [home.path()] });
    server.call("fuzzyFileSearch", params).await.unwrap();
    works(&mut server, ".", Vec::new()).await;
    server.finish().await.unwrap();
}

#[tokio::test]
async fn named_pipes_are_refused() {
    let model = model().await;
    let home = scripted_home(&model, "");
    let thread = "00000000-0000-7000-8000-000000000001";
    let rollout = format!("rollout-2026-01-01T00-00-00-{thread}.jsonl");
    let (pipe, rollout) = (home.path().join("pipe"), home.path().join(rollout));
    for pipe in [&pipe, &rollout] {
        make_pipe(pipe);
    }
    let mut server = experimental_server(&home).await;
    let with = |key: &str| json!({ "config": { key: &pipe } });
    let stored = json!({ "threadId": thread, "path": &rollout });
    for (method, params) in [
        ("thread/start", with("model_instructions_file")),
        ("thread/start", with("experimental_compact_prompt_file")),
        ("thread/start", with("model_catalog_json")),
        ("thread/resume", stored.clone()),
        ("thread/fork", stored),
    ] {
        let reply = server.call(method, params.clone()).await.unwrap();
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("not a regular file"), "{params}: {reply}");
    }
    server.finish().await.unwrap();
}
