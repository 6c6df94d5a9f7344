//! Methods that need no thread and have no larger family: watching files, diffs, another agent's
//! settings, the Windows sandbox.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::serving::Serving;

const INVALID: i64 = -32600;
const INTERNAL: i64 = -32603;

#[tokio::test]
async fn a_watch_tells_of_changes_until_it_ends() {
    let mut serving = Serving::start().await;
    let folder = serving.path("watched");
    let told = serving.result("fs/watch", json!({ "path": format!("{folder}/./x/..") }));
    let told = told.await;
    assert_eq!(told["path"], folder);
    let id = told["watchId"].clone();
    assert_eq!(id.as_str().unwrap().len(), 36);
    // It appears, and is a folder from then on.
    fs::create_dir(&folder).unwrap();
    let changed = serving.server.wait_for("fs/changed").await.unwrap();
    let expected = json!({ "watchId": id, "changedPaths": [folder] });
    assert_eq!(changed["params"], expected);
    let child = serving.path("watched/child");
    fs::write(&child, "x").unwrap();
    let changed = serving.server.wait_for("fs/changed").await.unwrap();
    let expected = json!({ "watchId": id, "changedPaths": [child] });
    assert_eq!(changed["params"], expected);
    for id in [&id, &id, &json!("unknown")] {
        let done = serving.result("fs/unwatch", json!({ "watchId": id })).await;
        assert_eq!(done, json!({}));
    }
    let relative = "AbsolutePathBuf deserialized without a base path";
    serving
        .refused("fs/watch", json!({ "path": "x" }), INVALID, relative)
        .await;
    serving.finish().await;
}

fn git(folder: &str, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output();
    assert!(done.unwrap().status.success(), "{arguments:?}");
}

#[tokio::test]
async fn a_diff_to_the_remote_has_everything_local() {
    let mut serving = Serving::start().await;
    let (work, remote) = (serving.path("work"), serving.path("remote"));
    fs::create_dir(&work).unwrap();
    let message = format!("failed to compute git diff to remote for cwd: {work:?}");
    let params = json!({ "cwd": work });
    serving
        .refused("gitDiffToRemote", params.clone(), INVALID, &message)
        .await;
    git(&work, &["init", "-q", "--bare", &remote]);
    git(&work, &["init", "-q"]);
    fs::write(serving.path("work/a"), "one\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "first"]);
    serving
        .refused("gitDiffToRemote", params.clone(), INVALID, &message)
        .await;
    git(&work, &["remote", "add", "origin", &remote]);
    git(&work, &["push", "-q", "origin", "HEAD"]);
    fs::write(serving.path("work/b"), "new\n").unwrap();
    let told = serving.result("gitDiffToRemote", params).await;
    assert_eq!(told["sha"].as_str().unwrap().len(), 40);
    assert!(
        told["diff"].as_str().unwrap().contains("\n+new\n"),
        "{told}"
    );
    serving.finish().await;
}

#[tokio::test]
async fn settings_of_another_agent_are_offered_and_taken_over() {
    let mut serving = Serving::start().await;
    let repo = serving.path("repo");
    fs::create_dir_all(serving.path("repo/.git")).unwrap();
    fs::create_dir_all(serving.path("repo/.claude/skills/one")).unwrap();
    fs::write(serving.path("repo/.claude/skills/one/SKILL.md"), "Claude").unwrap();
    fs::write(
        serving.path("repo/.claude/settings.json"),
        r#"{"sandbox":{"enabled":true}}"#,
    )
    .unwrap();
    fs::write(serving.path("repo/CLAUDE.md"), "Be kind.").unwrap();
    let params = json!({ "cwds": [repo, "/no/such/folder"] });
    let told = serving
        .result("externalAgentConfig/detect", params.clone())
        .await;
    let kinds: Vec<_> = told["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["itemType"])
        .collect();
    assert_eq!(kinds, ["CONFIG", "SKILLS", "AGENTS_MD"]);
    assert_eq!(told["items"][0]["cwd"], repo);
    let mut items = told["items"].as_array().unwrap().clone();
    items.push(json!({ "itemType": "MCP_SERVER_CONFIG", "description": "", "cwd": repo }));
    let import = json!({ "migrationItems": items });
    for _ in 0..2 {
        let done = serving
            .result("externalAgentConfig/import", import.clone())
            .await;
        assert_eq!(done, json!({}));
    }
    let settings = fs::read_to_string(serving.path("repo/.codex/config.toml")).unwrap();
    assert_eq!(settings.trim(), "sandbox_mode = \"workspace-write\"");
    let skill = fs::read_to_string(serving.path("repo/.agents/skills/one/SKILL.md")).unwrap();
    assert_eq!(skill, "Codex");
    assert_eq!(
        fs::read_to_string(serving.path("repo/AGENTS.md")).unwrap(),
        "Be kind."
    );
    let told = serving
        .result("externalAgentConfig/detect", params.clone())
        .await;
    assert_eq!(told, json!({ "items": [] }));
    let told = serving
        .result("externalAgentConfig/detect", json!({}))
        .await;
    assert_eq!(told, json!({ "items": [] }));
    fs::write(serving.path("repo/.claude/settings.json"), "[]").unwrap();
    let no_table = "external agent settings root must be an object";
    serving
        .refused("externalAgentConfig/detect", params, INTERNAL, no_table)
        .await;
    serving
        .refused("externalAgentConfig/import", import, INTERNAL, no_table)
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn there_is_no_windows_sandbox_here() {
    let mut serving = Serving::start().await;
    for (mode, kind) in [("elevated", "elevated"), ("unelevated", "legacy")] {
        let params = json!({ "mode": mode });
        let told = serving.result("windowsSandbox/setupStart", params).await;
        assert_eq!(told, json!({ "started": true }));
        let told = serving
            .server
            .wait_for("windowsSandbox/setupCompleted")
            .await;
        let error = format!("{kind} Windows sandbox setup is only supported on Windows");
        let expected: Value = json!({ "mode": mode, "success": false, "error": error });
        assert_eq!(told.unwrap()["params"], expected);
    }
    serving.finish().await;
}
