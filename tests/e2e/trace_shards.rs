//! Sessions that are recorded in schema 3, the default: every command reads their shards.

use std::fs;
use std::path::{Path, PathBuf};

use codex_test_support::{HttpReply, ModelServer, sse};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hooks::answer_with;
use crate::setup::{home_with, scripted_config, server_in};
use crate::trace_record::bundles;
use crate::{codex, stdout_of};

const SECRET: &str = "sk-abcdefghijklmnopqrstuvwx12345678";

/// The bundle of a session with a command, and its home.
async fn recorded(settings: &str) -> (PathBuf, TempDir) {
    let command = format!("echo found; seq 1 500; echo {SECRET}");
    let call = sse::function_call("c1", "shell_command", &json!({ "command": command }));
    let replies = [
        HttpReply::stream(&sse::items(&[call])),
        answer_with("one"),
        answer_with("two"),
    ];
    let model = ModelServer::start(replies).await.unwrap();
    let home = home_with(&scripted_config(&model, settings));
    let root = home.path().join("deep/traces");
    let variables = [
        ("CODEX_ROLLOUT_TRACE_ROOT", root.to_str().unwrap()),
        ("CODEX_ROLLOUT_TRACE_SCHEMA", "3"),
    ];
    let mut server = server_in(&home, &variables).await;
    let params = json!({ "approvalPolicy": "never", "sandbox": "danger-full-access" });
    let thread = server.start_thread_with(params).await;
    server.run_turn(&thread, "go").await;
    server.run_turn(&thread, "again").await;
    server.finish().await.unwrap();
    let bundle = bundles(home.path()).remove(&thread).unwrap();
    (bundle.0, home)
}

fn debug(arguments: &[&str]) -> String {
    stdout_of(&codex(&[&["debug"], arguments].concat()))
}

fn state(bundle: &Path) -> Value {
    let bundle = bundle.to_str().unwrap();
    debug(&["trace-reduce", bundle, "--strict"]);
    serde_json::from_slice(&fs::read(format!("{bundle}/state.json")).unwrap()).unwrap()
}

#[tokio::test]
async fn all_commands_read_bundles_of_the_newest_schema() {
    let (folder, home) = recorded("").await;
    let bundle = folder.to_str().unwrap();
    let names: Vec<_> = fs::read_dir(folder.join("payloads"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["000001.zst"]);
    let reduced = state(&folder);
    assert_eq!(reduced["schema_version"], 3);
    assert_eq!(reduced["recording_status"], "complete");
    assert_eq!(reduced["inference_calls"].as_object().unwrap().len(), 3);

    assert!(debug(&["trace-replay", bundle]).contains("same, 3 requests"));
    let page = home.path().join("view.html");
    debug(&["trace-view", bundle, "-o", page.to_str().unwrap()]);
    assert!(fs::read_to_string(&page).unwrap().contains("499"));
    let spans = home.path().join("spans.json");
    let out = spans.to_str().unwrap();
    let format = ["--format", "otlp-json", "--contents", "-o", out];
    debug(&[&["trace-export", bundle], &format[..]].concat());
    assert!(fs::read_to_string(&spans).unwrap().contains("echo found"));
    let scenario = home.path().join("session.toml");
    debug(&[
        "trace-to-scenario",
        bundle,
        "-o",
        scenario.to_str().unwrap(),
    ]);
    assert!(
        fs::read_to_string(&scenario)
            .unwrap()
            .contains("echo found")
    );
    assert!(debug(&["trace", "list", bundle]).contains("2 turns"));
    assert!(debug(&["trace", "search", "echo FOUND", bundle]).contains("call c1"));
}

#[tokio::test]
async fn converted_bundles_give_the_same_reports() {
    let (folder, home) = recorded("").await;
    let bundle = folder.to_str().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    for schema in ["1", "2"] {
        let (copy, back) = (path(&format!("to-{schema}")), path(&format!("of-{schema}")));
        debug(&["trace-convert", bundle, &copy, "--to", schema]);
        assert_eq!(
            state(Path::new(&copy))["schema_version"].to_string(),
            schema
        );
        debug(&["trace-convert", &copy, &back]);
        assert_eq!(state(Path::new(&back))["schema_version"], 3);
        for copy in [&copy, &back] {
            let differs = codex(&["debug", "trace-diff", bundle, copy]);
            assert_eq!(differs.status.code(), Some(0), "{differs:?}");
            assert!(debug(&["trace-replay", copy]).contains("same, 3 requests"));
        }
    }
    let clean = path("clean");
    debug(&["trace-redact", bundle, &clean]);
    let shard = fs::read(format!("{clean}/payloads/000001.zst")).unwrap();
    let plain = zstd::decode_all(shard.as_slice()).unwrap();
    let plain = String::from_utf8_lossy(&plain);
    assert!(!plain.contains(SECRET) && plain.contains("[secret 1]"));
    let original = state(&folder);
    let cleaned = state(Path::new(&clean));
    let items = |state: &Value| state["conversation_items"].as_object().unwrap().len();
    assert_eq!(items(&original), items(&cleaned));
    debug(&["trace", "pack", bundle]);
    let packed = format!("{bundle}.tar.zst");
    assert!(debug(&["trace-replay", &packed]).contains("same, 3 requests"));
}

#[tokio::test]
async fn payloads_beyond_the_limits_are_left_out_and_reported() {
    let limits = "[rollout_trace]\nmax_payload_bytes = 1500\n";
    let (folder, _home) = recorded(limits).await;
    let bundle = folder.to_str().unwrap();
    let reduced = codex(&["debug", "trace-reduce", bundle]);
    let told = String::from_utf8(reduced.stderr).unwrap();
    assert!(
        told.contains("was not recorded because of a limit"),
        "{told}"
    );
    let state = fs::read(folder.join("state.json")).unwrap();
    let state: Value = serde_json::from_slice(&state).unwrap();
    assert_eq!(state["recording_status"], "closed_with_partial_payloads");
    let payloads = state["raw_payloads"].as_object().unwrap();
    let omitted = payloads
        .values()
        .filter(|payload| payload["capture"]["status"] == "omitted");
    for payload in omitted {
        assert!(payload["capture"]["original_bytes"].as_u64().unwrap() > 1500);
    }
    let shard = fs::read(folder.join("payloads/000001.zst")).unwrap();
    let plain = zstd::decode_all(shard.as_slice()).unwrap();
    assert!(!String::from_utf8_lossy(&plain).contains("499\\n500"));
}
