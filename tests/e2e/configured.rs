//! Settings that are acted on, and those that are not, which the documentation names.

use std::fs;
use std::time::Duration;

use codex_config::WITHOUT_EFFECT;
use codex_test_support::{AppServer, ModelServer, write_executable};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::repository;
use crate::setup::{experimental_server, home_with, scripted_home, server};
use crate::threads::message_reply;

/// Runs a turn in a new thread and answers the ids of both.
async fn turn(server: &mut AppServer) -> (String, String) {
    turn_with(server, json!({})).await
}

/// The same with settings of the thread.
async fn turn_with(server: &mut AppServer, config: Value) -> (String, String) {
    let thread = server.start_thread_with(json!({ "config": config })).await;
    let params = json!({ "threadId": thread, "input": [{ "type": "text", "text": "go" }] });
    server.call("turn/start", params).await.unwrap();
    let ended = server.completed_turn().await;
    let turn = ended["id"].as_str().unwrap().to_owned();
    (thread, turn)
}

#[test]
fn settings_without_effect_are_named_where_users_look() {
    let status = fs::read_to_string(repository().join("docs/status/parts.md")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Settings that are accepted without effect: "))
        .unwrap();
    let named: Vec<&str> = line
        .trim_end_matches('.')
        .split(", ")
        .map(|name| name.trim_matches('`'))
        .collect();
    assert_eq!(named, WITHOUT_EFFECT);
}

#[tokio::test]
async fn a_warning_names_settings_without_effect() {
    let settings =
        "zsh_path = \"/bin/zsh\"\n[otel]\nlog_user_prompt = true\n[desktop]\nopen = true\n";
    let home = home_with(settings);
    let mut server = server(&home).await;
    let warning = server.wait_for("configWarning").await.unwrap();
    assert_eq!(
        warning["params"]["summary"],
        "Settings that have no effect here: `otel`, `zsh_path`"
    );
    let path = warning["params"]["path"].as_str().unwrap();
    assert!(path.ends_with("config.toml"), "{warning}");
    server.finish().await.unwrap();
}

#[tokio::test]
async fn notify_program_runs_after_each_turn() {
    let model = ModelServer::start([message_reply("m", "done")])
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (script, notice) = (
        folder.path().join("notify.sh"),
        folder.path().join("notice"),
    );
    let made = std::process::Command::new("mkfifo").arg(&notice).status();
    assert!(made.unwrap().success());
    let text = format!(
        "#!/bin/sh\nprintf '%s %s' \"$1\" \"$2\" > {}\n",
        notice.display()
    );
    write_executable(&script, text).unwrap();
    let notify = format!("notify = ['{}', 'first']", script.display());
    let home = scripted_home(&model, &notify);
    let mut server = experimental_server(&home).await;
    let (thread, turn) = turn(&mut server).await;
    let read = async {
        let mut text = String::new();
        let mut pipe = tokio::fs::File::open(&notice).await.unwrap();
        pipe.read_to_string(&mut text).await.unwrap();
        text
    };
    let notice = tokio::time::timeout(Duration::from_secs(20), read)
        .await
        .unwrap();
    let notice = notice.strip_prefix("first ").unwrap();
    let expected = json!({
        "type": "agent-turn-complete", "thread-id": thread, "turn-id": turn,
        "cwd": home.path().canonicalize().unwrap(), "client": "tests",
        "input-messages": ["go"], "last-assistant-message": "done",
    });
    assert_eq!(serde_json::from_str::<Value>(notice).unwrap(), expected);
    server.finish().await.unwrap();
}

#[tokio::test]
async fn index_and_log_folders_are_configurable() {
    let model = ModelServer::start([message_reply("m", "done")])
        .await
        .unwrap();
    let home = scripted_home(&model, "sqlite_home = 'elsewhere'\nlog_dir = 'logs'");
    let mut server = experimental_server(&home).await;
    turn(&mut server).await;
    server.call("thread/list", json!({})).await.unwrap();
    server.finish().await.unwrap();
    let files = |folder: &str| {
        let found = fs::read_dir(home.path().join(folder)).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    let is_index = |name: &String| name.ends_with(".sqlite");
    assert!(files("elsewhere").iter().any(is_index));
    assert!(!files(".").iter().any(is_index));
    assert_eq!(files("logs"), ["codex.log"]);
}

#[tokio::test]
async fn plan_mode_has_configured_effort() {
    for (settings, expected) in [
        ("", "medium"),
        ("plan_mode_reasoning_effort = 'high'", "high"),
    ] {
        let model = ModelServer::start([]).await.unwrap();
        let home = scripted_home(&model, settings);
        let mut server = experimental_server(&home).await;
        let listed = server
            .call("collaborationMode/list", json!({}))
            .await
            .unwrap();
        assert_eq!(listed["result"]["data"][0]["reasoning_effort"], expected);
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn commit_trailer_is_in_the_model_instructions() {
    let feature = "[features]\ncodex_git_commit = true\n";
    for (settings, expected) in [
        (String::new(), None),
        (feature.to_owned(), Some("Co-authored-by: Codex <")),
        (
            format!("commit_attribution = 'Me <me@example.org>'\n{feature}"),
            Some("Co-authored-by: Me <me@example.org>"),
        ),
        (format!("commit_attribution = ''\n{feature}"), None),
    ] {
        let model = ModelServer::start([message_reply("m", "done")])
            .await
            .unwrap();
        let home = scripted_home(&model, &settings);
        let mut server = experimental_server(&home).await;
        turn(&mut server).await;
        let input = model.requests()[0].json()["input"].to_string();
        match expected {
            Some(text) => assert!(input.contains(text), "{settings}"),
            None => assert!(!input.contains("Co-authored-by"), "{settings}"),
        }
        server.finish().await.unwrap();
    }
}

#[tokio::test]
async fn request_sets_skills_and_tools_of_thread() {
    let replies = (0..3).map(|number| message_reply(&format!("message-{number}"), "done"));
    let model = ModelServer::start(replies).await.unwrap();
    let home = scripted_home(&model, "");
    let mut server = experimental_server(&home).await;
    let own = json!({ "skills.bundled.enabled": false, "features.image_generation": true });
    for (config, is_own) in [(json!({}), false), (own, true), (json!({}), false)] {
        turn_with(&mut server, config).await;
        let request = model.requests().pop().unwrap().json();
        let has_skill = request["input"].to_string().contains("skill-creator");
        assert_eq!(has_skill, !is_own);
        let images = json!({ "type": "image_generation", "output_format": "png" });
        let has_tool = request["tools"].as_array().unwrap().contains(&images);
        assert_eq!(has_tool, is_own);
    }
    server.finish().await.unwrap();
}
