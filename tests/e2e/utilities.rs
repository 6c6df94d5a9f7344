//! Methods that need no thread and have no larger family: watching files, diffs, another agent's
//! settings, the Windows sandbox.

use std::fs;

use codex_test_support::{HttpReply, ModelServer};
use serde_json::{Value, json};

use crate::git::git;
use crate::serving::Serving;

const INVALID_REQUEST: i64 = -32600;
const INTERNAL_ERROR: i64 = -32603;

#[tokio::test]
async fn watch_reports_changes_until_it_ends() {
    let mut serving = Serving::start().await;
    let folder = serving.path("watched");
    let result = serving.result("fs/watch", json!({ "path": format!("{folder}/./x/..") }));
    let result = result.await;
    assert_eq!(result["path"], folder);
    let id = result["watchId"].clone();
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
        .refused(
            "fs/watch",
            json!({ "path": "x" }),
            INVALID_REQUEST,
            relative,
        )
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn a_diff_to_the_remote_has_everything_local() {
    let mut serving = Serving::start().await;
    let (work, remote) = (serving.path("work"), serving.path("remote"));
    fs::create_dir(&work).unwrap();
    let message = format!("failed to compute git diff to remote for cwd: {work:?}");
    let params = json!({ "cwd": work });
    serving
        .refused("gitDiffToRemote", params.clone(), INVALID_REQUEST, &message)
        .await;
    git(&work, &["init", "-q", "--bare", &remote]);
    git(&work, &["init", "-q"]);
    fs::write(serving.path("work/a"), "one\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "first"]);
    serving
        .refused("gitDiffToRemote", params.clone(), INVALID_REQUEST, &message)
        .await;
    git(&work, &["remote", "add", "origin", &remote]);
    git(&work, &["push", "-q", "origin", "HEAD"]);
    fs::write(serving.path("work/b"), "new\n").unwrap();
    let result = serving.result("gitDiffToRemote", params).await;
    assert_eq!(result["sha"].as_str().unwrap().len(), 40);
    assert!(
        result["diff"].as_str().unwrap().contains("\n+new\n"),
        "{result}"
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
    let result = serving
        .result("externalAgentConfig/detect", params.clone())
        .await;
    let kinds: Vec<_> = result["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["itemType"])
        .collect();
    assert_eq!(kinds, ["CONFIG", "SKILLS", "AGENTS_MD"]);
    assert_eq!(result["items"][0]["cwd"], repo);
    let mut items = result["items"].as_array().unwrap().clone();
    items.push(json!({ "itemType": "MCP_SERVER_CONFIG", "description": "", "cwd": repo }));
    let import = json!({ "migrationItems": items });
    for imported in [1, 0] {
        let done = serving
            .result("externalAgentConfig/import", import.clone())
            .await;
        assert!(done["importId"].is_string(), "{done}");
        let told = serving
            .server
            .wait_for("externalAgentConfig/import/completed");
        let told = told.await.unwrap()["params"].take();
        assert_eq!(told["importId"], done["importId"]);
        let skills = &told["itemTypeResults"][1];
        assert_eq!(skills["itemType"], "SKILLS", "{told}");
        assert_eq!(skills["successes"].as_array().unwrap().len(), imported);
        if imported == 1 {
            assert_eq!(skills["successes"][0]["source"], "one", "{told}");
        }
    }
    let settings = fs::read_to_string(serving.path("repo/.codex/config.toml")).unwrap();
    assert_eq!(settings.trim(), "sandbox_mode = \"workspace-write\"");
    let skill = fs::read_to_string(serving.path("repo/.agents/skills/one/SKILL.md")).unwrap();
    assert_eq!(skill, "Codex");
    assert_eq!(
        fs::read_to_string(serving.path("repo/AGENTS.md")).unwrap(),
        "Be kind."
    );
    let result = serving
        .result("externalAgentConfig/detect", params.clone())
        .await;
    assert_eq!(result, json!({ "items": [], "connectors": [] }));
    let result = serving
        .result("externalAgentConfig/detect", json!({}))
        .await;
    assert_eq!(result, json!({ "items": [], "connectors": [] }));
    fs::write(serving.path("repo/.claude/settings.json"), "[]").unwrap();
    let no_table = "external agent settings root must be an object";
    serving
        .refused(
            "externalAgentConfig/detect",
            params,
            INTERNAL_ERROR,
            no_table,
        )
        .await;
    serving
        .refused(
            "externalAgentConfig/import",
            import,
            INTERNAL_ERROR,
            no_table,
        )
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn there_is_no_windows_sandbox_here() {
    let mut serving = Serving::start().await;
    for (mode, kind) in [("elevated", "elevated"), ("unelevated", "legacy")] {
        let params = json!({ "mode": mode });
        let result = serving.result("windowsSandbox/setupStart", params).await;
        assert_eq!(result, json!({ "started": true }));
        let result = serving
            .server
            .wait_for("windowsSandbox/setupCompleted")
            .await;
        let error = format!("{kind} Windows sandbox setup is only supported on Windows");
        let expected: Value = json!({ "mode": mode, "success": false, "error": error });
        assert_eq!(result.unwrap()["params"], expected);
    }
    serving.finish().await;
}

/// The reports that were kept.
fn reports(serving: &Serving) -> Vec<Value> {
    let folders = fs::read_dir(serving.path("feedback")).unwrap();
    let read = |folder: fs::DirEntry| fs::read_to_string(folder.path().join("report.json"));
    let texts = folders.map(|folder| read(folder.unwrap()).unwrap());
    texts
        .map(|text| serde_json::from_str(&text).unwrap())
        .collect()
}

#[tokio::test]
async fn a_report_is_kept_and_sent_nowhere() {
    let mut serving = Serving::start().await;
    let extra = serving.path("extra.txt");
    fs::write(&extra, "more").unwrap();
    let params = json!({
        "classification": "bug", "reason": "why", "includeLogs": true,
        "extraLogFiles": [extra, "/no/such/file"],
    });
    let result = serving.result("feedback/upload", params).await;
    let id = result["threadId"].as_str().unwrap();
    assert!(id.starts_with("no-active-thread-"), "{id}");
    let kept = reports(&serving);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["title"], format!("[Bug]: Codex session {id}"));
    let folder = fs::read_dir(serving.path("feedback"))
        .unwrap()
        .next()
        .unwrap();
    let folder = folder.unwrap().path();
    assert_eq!(
        fs::read_to_string(folder.join("extra.txt")).unwrap(),
        "more"
    );
    assert!(folder.join("codex-logs.log").exists());
    let params = json!({ "classification": "bug", "includeLogs": false, "threadId": "nope" });
    serving
        .refused(
            "feedback/upload",
            params,
            INVALID_REQUEST,
            "invalid thread id",
        )
        .await;
    serving.finish().await;
}

#[tokio::test]
async fn report_is_sent_to_the_configured_address() {
    let accepts = HttpReply::json(200, &json!({}));
    let refuses = HttpReply::status(500);
    let model = ModelServer::start([accepts, refuses]).await.unwrap();
    let config = format!("[feedback]\nendpoint = \"{}/reports\"\n", model.base_url());
    let mut serving = Serving::with_config(&config).await;
    let thread = "0195f0a0-7b1c-7000-8000-0000000000ab";
    let tags = json!({ "channel": "beta" });
    let params = json!({ "classification": "good_result", "threadId": thread, "tags": tags });
    let result = serving.result("feedback/upload", params.clone()).await;
    assert_eq!(result["threadId"], thread);
    let body = model.requests()[0].json();
    assert_eq!(body["report"]["thread_id"], thread);
    assert_eq!(body["report"]["level"], "info");
    assert_eq!(body["report"]["tags"], tags);
    let failed = "failed to upload feedback: the answer is 500";
    serving
        .refused("feedback/upload", params, INTERNAL_ERROR, failed)
        .await;
    // It is not lost.
    assert_eq!(reports(&serving).len(), 2);
    serving.finish().await;
}

#[tokio::test]
async fn feedback_can_be_switched_off() {
    let mut serving = Serving::with_config("[feedback]\nenabled = false\n").await;
    let params = json!({ "classification": "bug", "includeLogs": false });
    let disabled = "sending feedback is disabled by configuration";
    serving
        .refused("feedback/upload", params, INVALID_REQUEST, disabled)
        .await;
    assert!(!fs::exists(serving.path("feedback")).unwrap());
    serving.finish().await;
}

#[tokio::test]
async fn unsupported_features_are_empty_or_refused() {
    let mut serving = Serving::start().await;
    let none = json!({ "data": [], "nextCursor": null });
    let apps = serving.result("app/list", json!({})).await;
    assert_eq!(apps, none);
    let login = json!({ "name": "nobody" });
    let refused = serving.refused("mcpServer/oauth/login", login, INVALID_REQUEST, "nobody");
    refused.await;
    let thread = serving.result("thread/start", json!({})).await;
    let thread = thread["thread"]["id"].clone();
    let stop = json!({ "threadId": thread });
    let refused = serving.refused("thread/realtime/stop", stop, INVALID_REQUEST, "realtime");
    refused.await;
    let back = json!({ "threadId": thread, "numTurns": 1 });
    let refused = serving.refused("thread/rollback", back, INVALID_REQUEST, "nothing was said");
    refused.await;
    serving.finish().await;
}
